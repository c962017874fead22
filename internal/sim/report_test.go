package sim

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-analyze/charts"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// compared is a short overload of three tenants under three policies. The
// second tenant has a name that must not become part of the page.
func compared(t *testing.T) *Comparison {
	t.Helper()
	const evil = `<script>alert(1)</script>&"`
	p := &admit.Policy{
		Models:  []admit.Model{{Name: "m", Deployments: []admit.Deployment{{Name: "d", Concurrency: 4}}}},
		Tenants: []admit.Tenant{{Name: "bank"}, {Name: evil}, {Name: "shop"}},
	}
	p.Defaults()
	w := World{Policy: p, Upstreams: map[string]Upstream{"m": {Slots: 4, Mean: time.Second, Noise: 0.25}}, Seed: 1}
	callers := []Caller{
		{Name: "bank", Model: "m", Rate: 2, Deadline: 4 * time.Second},
		{Name: evil, Model: "m", Rate: 3, Class: admit.Batch, Deadline: 10 * time.Second},
		{Name: "shop", Model: "m", Rate: 1, Stream: true, Deadline: 2 * time.Second},
	}
	c, err := Compare(w, func() (Source, error) { return Poisson(callers, 5*time.Minute, 1), nil }, []string{"ours", "fifo", "oracle"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTable(t *testing.T) {
	c := compared(t)
	lines := strings.Split(strings.TrimRight(c.Table(), "\n"), "\n")
	if len(lines) != 11 { // head, three policies, a sum, a gap, head, three tenants, a note
		t.Fatalf("%d lines:\n%s", len(lines), c.Table())
	}
	for i, want := range map[int]string{0: "policy ", 1: "ours ", 2: "fifo ", 3: "oracle ", 4: "requests in 300 s; offered work ", 6: "tenant ", 8: "bank ", 9: "shop ", 10: "tenants as under ours"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	for _, row := range []int{1, 2, 3} {
		if len(lines[row]) != len(lines[0]) {
			t.Errorf("columns are not aligned:\n%s\n%s", lines[0], lines[row])
		}
	}
	for _, col := range []string{"on time", "work", "late", "expired", "refused", "feasible", "over-shed", "refusal", "wait MAE", "Jain", "attempts", "recovery"} {
		if !strings.Contains(lines[0], col) {
			t.Errorf("no column %q", col)
		}
	}
	if !strings.Contains(lines[1], inPercent(c.Results["ours"].GoodputCount)) || !strings.HasSuffix(lines[1], unknown) { // nothing to recover from
		t.Errorf("ours: %q", lines[1])
	}

	for range fewTenants {
		c.Results["ours"].Tenants[strings.Repeat("x", len(c.Results["ours"].Tenants))] = Figures{}
	}
	if strings.Contains(c.Table(), "bank") {
		t.Error("many tenants are listed")
	}
	if got := (&Comparison{}).Table(); !strings.HasPrefix(got, "policy ") {
		t.Errorf("of nothing: %q", got)
	}
}

func TestReport(t *testing.T) {
	c := compared(t)
	var first, second bytes.Buffer
	if err := errors.Join(c.Report(&first), c.Report(&second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same run gives different pages")
	}
	page := first.String()
	for _, want := range []string{
		"<h2>Requests</h2>", "<h2>Refusals by reason</h2>", "<h2>Waits</h2>", "<h2>Queue</h2>", "<h2>Tenants</h2>", "<h2>Policies</h2>",
		"<h2>Policies in figures</h2>", "prefers-color-scheme: dark", `name="viewport"`, `lang="en"`, "minutes", "batch", "interactive", "oracle", "var(--ink)", "var(--rule)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, not := range []string{"<script", "NaN", "Inf", "src=", "url(", "@import", ink.String(), rule.String()} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q", not)
		}
	}
	// Nothing is fetched: what looks like an address are the names of SVG itself.
	for _, u := range regexp.MustCompile(`https?://[^"<> ]*`).FindAllString(page, -1) {
		if !strings.HasPrefix(u, "http://www.w3.org/") {
			t.Errorf("the page names %s", u)
		}
	}
	pictures := regexp.MustCompile(`(?s)role="img" aria-label="([^"]*)" tabindex="0">(<svg.*?</svg>)`).FindAllStringSubmatch(page, -1)
	if len(pictures) != 6 {
		t.Fatalf("%d pictures, want 6", len(pictures))
	}
	for _, p := range pictures {
		if len(p[1]) < 20 {
			t.Errorf("a picture is described as %q", p[1])
		}
		wellFormed(t, p[2])
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("picture: %v in %.200s", err, text)
			return
		}
	}
}

// What has not happened has no picture, and no run is too short or too long.
func TestReportOfExtremes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		seconds int
	}{{"empty", 0}, {"a second", 1}, {"a week", 7 * 86_400}} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Result{Duration: float64(tt.seconds), Course: make([]Second, tt.seconds)}
			for i := range r.Course {
				r.Course[i].Offered = 1
			}
			var b bytes.Buffer
			if err := (&Comparison{Order: []string{"ours"}, Results: map[string]*Result{"ours": r}}).Report(&b); err != nil {
				t.Fatal(err)
			}
			if b.Len() > 200_000 {
				t.Errorf("%d bytes", b.Len())
			}
			for _, not := range []string{"NaN", "<h2>Queue</h2>", "<h2>Tenants</h2>", "Refusals by reason"} {
				if strings.Contains(b.String(), not) {
					t.Errorf("the page has %q", not)
				}
			}
		})
	}
	if err := (&Comparison{}).Report(io.Discard); err == nil {
		t.Error("a report of no policy")
	}
	broken := errors.New("disk full")
	if err := compared(t).Report(failing{broken}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// Every axis covers its seconds with few points, and labels round minutes.
func TestAxis(t *testing.T) {
	for _, seconds := range []int{0, 1, 5, 59, 60, 61, 299, 300, 301, 1183, 3600, 28_800, 86_400, 86_401, 604_800, 31_536_000} {
		a := axisOf(seconds)
		spans := a.labels - 1
		if a.points > mostPoints || a.labels > mostLabels || a.labels < 2 || (a.points-1)*a.step != spans*a.every || spans*a.every < seconds || spans > 1 && (spans-1)*a.every >= seconds {
			t.Errorf("%d seconds: %+v", seconds, a)
		}
		texts := a.texts()
		for i := range a.labels {
			if s := texts[i*a.every/a.step]; len(s) > 6 {
				t.Errorf("%d seconds: label %q", seconds, s)
			}
		}
	}
}

func TestPointsOfACourse(t *testing.T) {
	course := make([]Second, 601) // the axis has points of three seconds
	for i := range course {
		course[i] = Second{Offered: int32(i), Started: int32(i % 2), Real: float32(i % 2 * 4)}
	}
	course[7].Waiting[admit.Batch], course[8].Waiting[admit.Batch], course[8].Waiting[admit.Interactive] = 9, 4, 6
	a := axisOf(len(course))
	if a.step != 3 {
		t.Fatalf("%+v", a)
	}
	if got := a.rate(course, func(s *Second) int32 { return s.Offered }); got[1] != 4 || got[200] != 600 || got[201] != charts.GetNullValue() {
		t.Errorf("rates %v", got[:5])
	}
	if got := a.mean(course, func(s *Second) (float64, int32) { return float64(s.Real), s.Started }); got[1] != 4 || got[200] != charts.GetNullValue() {
		t.Errorf("means %v", got)
	}
	if w := a.fullest(course); w[admit.Batch][2] != 4 || w[admit.Interactive][2] != 6 { // ten wait then, nine before
		t.Errorf("waiting %v and %v", w[admit.Batch][:4], w[admit.Interactive][:4])
	}
	if got := withoutGaps([]float64{1, charts.GetNullValue()}); !slices.Equal(got, []float64{1, 0}) {
		t.Errorf("gaps: %v", got)
	}
	if got := shortened([]string{"a", strings.Repeat("é", 30)}); got[0] != "a" || len([]rune(got[1])) != longestName {
		t.Errorf("names: %q", got)
	}
}
