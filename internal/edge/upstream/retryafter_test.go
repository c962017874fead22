package upstream

import (
	"net/http"
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ms, s string
		want  time.Duration // 0: none
	}{
		{"", "", 0},
		{"", "2", 2 * time.Second},
		{"", " 2 ", 2 * time.Second},
		{"", "1.5", 1500 * time.Millisecond},        // B070
		{"", "299.997", 299997 * time.Millisecond},  // B071
		{"493", "1", 493 * time.Millisecond},        // milliseconds are exact, they win
		{"12.5", "1", 12500 * time.Microsecond},     //
		{"0", "3", 3 * time.Second},                 // no pause in one leaves the other
		{"garbage", "3", 3 * time.Second},           //
		{"-5", "", 0},                               //
		{"", "0", 0},                                //
		{"", "-1", 0},                               // B070
		{"", "inf", 0},                              // B070
		{"", "NaN", 0},                              // B070
		{"", "1e10000", 0},                          // B070
		{"", "1e3", 0},                              //
		{"", "0x10", 0},                             //
		{"", "1_0", 0},                              //
		{"", "1.2.3", 0},                            //
		{"", ".", 0},                                //
		{"", "soon", 0},                             //
		{"", "99999999999999999999", MaxRetryAfter}, // capped, not wrapped
		{"99999999999999999999", "", MaxRetryAfter}, //
		{"", "Sun, 01 Mar 2026 12:00:30 GMT", 30 * time.Second},
		{"", "Sunday, 01-Mar-26 12:00:30 GMT", 30 * time.Second},
		{"", "Sun Mar  1 12:00:30 2026", 30 * time.Second},
		{"", "Sun, 01 Mar 2026 11:59:30 GMT", 0}, // past
		{"", "Mon, 01 Mar 2027 12:00:00 GMT", MaxRetryAfter},
	} {
		h := http.Header{}
		if tt.ms != "" {
			h.Set("retry-after-ms", tt.ms)
		}
		h.Set("retry-after", tt.s)
		got, ok := ParseRetryAfter(h, t0)
		if got != tt.want || ok != (tt.want > 0) {
			t.Errorf("ms %q, s %q: got %v, %v; want %v", tt.ms, tt.s, got, ok, tt.want)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	f.Add("1.5", "Sun, 01 Mar 2026 12:00:30 GMT")
	f.Fuzz(func(t *testing.T, ms, s string) {
		h := http.Header{"Retry-After-Ms": {ms}, "Retry-After": {s}}
		got, ok := ParseRetryAfter(h, time.Unix(1_700_000_000, 0))
		if got < 0 || got > MaxRetryAfter || ok != (got > 0) {
			t.Errorf("%q, %q: %v, %v", ms, s, got, ok)
		}
	})
}
