package wire

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

const (
	someTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	someSpan  = "00f067aa0ba902b7"
)

func TestReadTrace(t *testing.T) {
	whole := "00-" + someTrace + "-" + someSpan
	for _, c := range []struct {
		name    string
		header  http.Header
		ok      bool
		sampled bool
		state   string
	}{
		{"sampled", headers("Traceparent", whole+"-01"), true, true, ""},
		{"not sampled, another flag", headers("Traceparent", whole+"-02"), true, false, ""},
		{"state of several lines", headers("Traceparent", whole+"-03", "Tracestate", "a=1", "Tracestate", "b=2"), true, true, "a=1,b=2"},
		{"a later version with more", headers("Traceparent", "cc"+whole[2:]+"-01-what-else"), true, true, ""},
		{"a state that is too long", headers("Traceparent", whole+"-00", "Tracestate", "a="+strings.Repeat("x", 512)), true, false, ""},
		{"a state that is no text", headers("Traceparent", whole+"-00", "Tracestate", "a=\x80"), true, false, ""},
		{"none", headers("Tracestate", "a=1"), false, false, ""},
		{"twice", headers("Traceparent", whole+"-01", "Traceparent", whole+"-01"), false, false, ""},
		{"a later version with more, not set apart", headers("Traceparent", "cc"+whole[2:]+"-01x"), false, false, ""},
		{"this version with more", headers("Traceparent", whole+"-01-x"), false, false, ""},
		{"the version that is none", headers("Traceparent", "ff"+whole[2:]+"-01"), false, false, ""},
		{"no trace", headers("Traceparent", "00-00000000000000000000000000000000-"+someSpan+"-01"), false, false, ""},
		{"no span", headers("Traceparent", "00-"+someTrace+"-0000000000000000-01"), false, false, ""},
		{"capitals", headers("Traceparent", strings.ToUpper(whole)+"-01"), false, false, ""},
		{"no flags", headers("Traceparent", whole), false, false, ""},
		{"flags that are none", headers("Traceparent", whole+"-0g"), false, false, ""},
		{"short", headers("Traceparent", "00-1"), false, false, ""},
	} {
		got, ok := ReadTrace(c.header)
		if ok != c.ok {
			t.Errorf("%s: %v", c.name, ok)
		}
		if want := (Trace{someTrace, 0x00f067aa0ba902b7, c.sampled, c.state}); ok && got != want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestWriteTrace(t *testing.T) {
	h := headers("Traceparent", "theirs", "Tracestate", "theirs", "X-Foo", "1")
	Trace{ID: someTrace, Parent: 0x00f067aa0ba902b7, Sampled: true, State: "a=1"}.Write(h)
	if want := headers("Traceparent", "00-"+someTrace+"-"+someSpan+"-01", "Tracestate", "a=1", "X-Foo", "1"); !reflect.DeepEqual(h, want) {
		t.Errorf("%v", h)
	}
	Trace{ID: someTrace, Parent: 1}.Write(h) // the state of another caller does not stay
	if want := headers("Traceparent", "00-"+someTrace+"-0000000000000001-00", "X-Foo", "1"); !reflect.DeepEqual(h, want) {
		t.Errorf("%v", h)
	}
	if DropTrace(h); len(h) != 1 {
		t.Errorf("%v", h)
	}
}

// Whatever is read is written the same, in the version that we know.
func FuzzTrace(f *testing.F) {
	f.Add("00-"+someTrace+"-"+someSpan+"-01", "a=1")
	f.Add("01-"+someTrace+"-"+someSpan+"-ff-more", "a=1,b=2")
	f.Add("00-"+someTrace+"-"+someSpan+"-00", "\x80")
	f.Fuzz(func(t *testing.T, parent, state string) {
		read, ok := ReadTrace(http.Header{"Traceparent": {parent}, "Tracestate": {state}})
		if !ok {
			return
		}
		h := http.Header{}
		read.Write(h)
		if again, ok := ReadTrace(h); !ok || again != read {
			t.Errorf("%q: %+v, written %v, read %+v", parent, read, h, again)
		}
		if got := h.Get("Traceparent"); got[2:53] != parent[2:53] {
			t.Errorf("%q became %q", parent, got)
		}
	})
}

func BenchmarkTrace(b *testing.B) {
	h := headers("Traceparent", "00-"+someTrace+"-"+someSpan+"-01", "Tracestate", "a=1")
	out := http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		t, _ := ReadTrace(h)
		t.Write(out)
	}
}
