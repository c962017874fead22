package main

import (
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/internal/ops"
)

// told is a case of two runs whose forecasts are two requests about what is given.
func told(onTime, refused int64, wait float64) []result {
	came := ops.Outcome{Offered: 1000, OnTime: 700, Refused: 300, Goodput: 14, WaitP50: 1}
	then := ops.Outcome{Offered: 1000, OnTime: onTime, Refused: refused, Goodput: float64(onTime) / 50, WaitP50: wait}
	low, high := then, then
	low.OnTime, high.OnTime = onTime-2, onTime+2
	return []result{{&trials[0], []pair{{&ops.WhatIf{Then: low}, &ops.WhatIf{Measured: came}}, {&ops.WhatIf{Then: high}, &ops.WhatIf{Measured: came}}}}}
}

func TestBars(t *testing.T) {
	for _, tt := range []struct {
		name   string
		of     []result
		passes bool
		says   string
	}{
		{"the same", told(700, 300, 1), true, "+0.0 points"},
		{"within", told(720, 280, 1.25), true, "+2.0 points"},
		{"too many in time", told(735, 300, 1), false, "**FAIL**"},
		{"too few refused", told(700, 265, 1), false, "-3.5 points"},
		{"waits too long", told(700, 300, 1.35), false, "+0.350 s"},
	} {
		var b strings.Builder
		if passed := report(&b, tt.of); passed != tt.passes || !strings.Contains(b.String(), tt.says) {
			t.Errorf("%s: passed is %v, want %v with %q:\n%s", tt.name, passed, tt.passes, tt.says, b.String())
		}
	}
}
