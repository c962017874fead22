package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// listed is a source of given arrivals, that may end in an error.
type listed struct {
	list []Arrival
	err  error
}

func (l *listed) Next() (Arrival, bool, error) {
	if len(l.list) == 0 {
		return Arrival{}, false, l.err
	}
	a := l.list[0]
	l.list = l.list[1:]
	return a, true, nil
}

func at(tenant string, seconds ...float64) *listed {
	l := &listed{}
	for _, s := range seconds {
		l.list = append(l.list, Arrival{At: time.Duration(s * 1e9), Tenant: tenant})
	}
	return l
}

func plot(all []Arrival) string {
	var b strings.Builder
	for _, a := range all {
		b.WriteString(a.Tenant + a.At.String() + " ")
	}
	return strings.TrimSpace(b.String())
}

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		want    string
		sources []Source
	}{
		{"", nil},
		{"a1s a2s", []Source{at("a", 1, 2)}},
		{"a1s b1s a2s b3s c4s", []Source{at("a", 1, 2), at("b", 1, 3), at("c", 4)}},
		{"b1s a1s", []Source{at("b", 1), at("a", 1)}}, // ties go by the order of the sources
	} {
		all, err := drain(Merge(c.sources...))
		if got := plot(all); err != nil || got != c.want {
			t.Errorf("got %q, %v; want %q", got, err, c.want)
		}
	}
}

func TestMergeError(t *testing.T) {
	broken := errors.New("broken")
	b := at("b", 2)
	b.err = broken
	all, err := drain(Merge(at("a", 1, 3), b))
	if !errors.Is(err, broken) || plot(all) != "a1s b2s" {
		t.Errorf("got %q, %v; want what comes before the error, then it", plot(all), err)
	}
}

func TestSectionAndStretch(t *testing.T) {
	for _, c := range []struct {
		name, want string
		source     Source
	}{
		{"section", "a0s a1.5s", Section(at("a", 1, 2, 3.5, 4, 5), 2*time.Second, 2*time.Second)}, // the end is outside
		{"section to the end", "a1s a2s", Section(at("a", 1, 4, 5), 3*time.Second, 0)},
		{"section beyond the end", "", Section(at("a", 1), 3*time.Second, time.Second)},
		{"stretch", "a2s a4s", Stretch(at("a", 1, 2), 2)},
		{"squeeze", "a500ms a1s", Stretch(at("a", 1, 2), 0.5)},
	} {
		all, err := drain(c.source)
		if got := plot(all); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	for _, factor := range []float64{0, -1, 1e30} {
		if _, err := drain(Stretch(at("a", 1), factor)); err == nil {
			t.Errorf("a stretch by %v gives no error", factor)
		}
	}
}

// Sections of traces with times of day keep their distance as well.
func TestMergeSections(t *testing.T) {
	cut := func(name string) Source {
		s, err := Trace(name, strings.NewReader(openExtract(t, name)), TraceOptions{From: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	alone, err := drain(cut("azure_code.csv"))
	if err != nil {
		t.Fatal(err)
	}
	both, err := drain(Merge(cut("azure_code.csv"), cut("azure_conv.csv")))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(both, func(a Arrival) bool { return a.Tenant == "code" })
	if got, want := both[i].At-alone[0].At, 77*time.Second+299370*time.Microsecond; got != want {
		t.Errorf("code is %v later, want %v", got, want)
	}
}
