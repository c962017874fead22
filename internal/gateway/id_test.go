package gateway

import (
	"regexp"
	"testing"
	"time"
)

// Requests that arrive one after another have IDs in that order, also across
// the change of a byte; those of one moment have different ones.
func TestRequestIDsAreInOrderOfTime(t *testing.T) {
	form := regexp.MustCompile(`^req_[0-9a-f]{32}$`)
	t0 := time.UnixMicro(0x5f_ffff_ffff_fff0)
	last := ""
	for i := range 100 {
		id := requestID(t0.Add(time.Duration(i) * time.Microsecond))
		if !form.MatchString(id) || id <= last {
			t.Fatalf("after %s came %s", last, id)
		}
		last = id
	}
	if a, b := requestID(t0), requestID(t0); a == b || a[:18] != b[:18] {
		t.Fatalf("two requests of one moment are %s and %s, want the same beginning and different ends", a, b)
	}
	if got := requestID(time.UnixMicro(0x0102_0304_0506_07))[:18]; got != "req_01020304050607" {
		t.Fatalf("an ID begins with %s, want the micro-seconds", got)
	}
}

func BenchmarkRequestID(b *testing.B) {
	b.ReportAllocs()
	now := time.Now()
	for b.Loop() {
		requestID(now)
	}
}
