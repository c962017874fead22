package answers

import (
	"net/http"
	"testing"
	"time"
)

func TestAccepts(t *testing.T) {
	for _, tt := range []struct {
		lines        []string
		fresh, stale time.Duration
		noStore      bool
	}{
		{nil, 0, 0, false},
		{[]string{""}, 0, 0, false},
		{[]string{"max-age=60"}, time.Minute, time.Minute, false},
		{[]string{"max-age=60, max-stale=3600"}, time.Minute, 61 * time.Minute, false},
		{[]string{"max-age=60", "max-stale=3600, no-store"}, time.Minute, 61 * time.Minute, true}, // lines are one list
		{[]string{"max-stale=60"}, 0, time.Minute, false},                                         // only rather than a refusal
		{[]string{"max-stale"}, 0, longest, false},                                                // however old
		{[]string{"max-age=5,max-stale"}, 5 * time.Second, longest, false},
		{[]string{"max-stale, max-stale=9"}, 0, 9 * time.Second, false},
		{[]string{"max-age=0"}, 0, 0, false},
		{[]string{"no-store"}, 0, 0, true},
		{[]string{"no-cache, max-age=60, max-stale"}, 0, 0, false},
		{[]string{"max-age=60", "no-cache"}, 0, 0, false},
		{[]string{"Max-Age=60 ,NO-STORE"}, time.Minute, time.Minute, true},
		{[]string{` max-age = "60" `}, time.Minute, time.Minute, false},
		{[]string{"max-age=90, max-age=60"}, time.Minute, time.Minute, false}, // the smaller
		{[]string{"max-age=86401"}, longest, longest, false},
		{[]string{"max-age=99999999999999999999, max-stale=1"}, longest, longest, false},
		{[]string{"max-age"}, 0, 0, false},
		{[]string{"max-age="}, 0, 0, false},
		{[]string{"max-age=-1, max-stale=x"}, 0, 0, false},
		{[]string{"max-age=1.5"}, 0, 0, false},
		{[]string{"max-age=1e3"}, 0, 0, false},
		{[]string{"max-age=x, max-age=60"}, time.Minute, time.Minute, false},
		{[]string{"max-stale="}, 0, 0, false},
		{[]string{`private="a, max-age=60"`}, 0, 0, false}, // within a string
		{[]string{`private="a\", max-age=60, b"`}, 0, 0, false},
		{[]string{`private="a\\", max-age=60`}, time.Minute, time.Minute, false},
		{[]string{`private="never closed, max-age=60`}, 0, 0, false},
		{[]string{"only-if-cached, min-fresh=3, ,;=,max-age=60"}, time.Minute, time.Minute, false},
	} {
		fresh, stale, noStore := Accepts(http.Header{"Cache-Control": tt.lines})
		if fresh != tt.fresh || stale != tt.stale || noStore != tt.noStore {
			t.Errorf("%q: %v, %v, %v; want %v, %v, %v", tt.lines, fresh, stale, noStore, tt.fresh, tt.stale, tt.noStore)
		}
	}
}

func FuzzAccepts(f *testing.F) {
	f.Add("max-age=60, max-stale")
	f.Add(`private="a\", max-age=60", no-store`)
	f.Fuzz(func(t *testing.T, line string) {
		fresh, stale, _ := Accepts(http.Header{"Cache-Control": {line}})
		if fresh < 0 || stale < fresh || stale > longest {
			t.Errorf("%q: %v, %v", line, fresh, stale)
		}
	})
}
