package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spillway-llm/spillway/internal/load"
)

func TestDemoLeavesNothingRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := demoCmd{Times: 2, Duration: 2 * time.Second}
	r, err := c.run(t.Context(), "test", true)
	if err != nil {
		t.Fatal(err)
	}
	if r.Errors > 0 || r.OnTime == 0 || r.Offered != r.OnTime+r.Late+r.Refused {
		t.Errorf("through the gateway: %+v %v", r.Figures, r.FirstErrors)
	}
	if len(r.onTime) < 3 {
		t.Error("nothing to plot")
	}
}

func TestDemoStopsWhenInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, interrupt := context.WithCancel(t.Context())
	defer time.AfterFunc(300*time.Millisecond, interrupt).Stop()
	c := demoCmd{Times: 4, Duration: time.Minute}
	start := time.Now()
	if _, err := c.run(ctx, "test", true); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted, it says %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

func TestDemoRefusesWrongFlags(t *testing.T) {
	for _, c := range []demoCmd{{Times: 0, Duration: 12 * time.Second}, {Times: 4, Duration: time.Second}, {Times: 4, Duration: time.Hour}} {
		var u usageError
		if err := c.Run(t.Context()); !errors.As(err, &u) {
			t.Errorf("%+v: %v, want a usage error", c, err)
		}
	}
}

// Figures that could not be measured are shown as such, and a run of no
// second can be plotted.
func TestDemoShowsEmptyRuns(t *testing.T) {
	if out := compare(load.Summary{}, load.Summary{}); !strings.Contains(out, "answered in time") || strings.Contains(out, "NaN") {
		t.Errorf("%s", out)
	}
	for _, colours := range []bool{false, true} {
		for _, with := range [][]float64{{0}, {0, 64, 64}} {
			if out := plot([]float64{0}, with, colours); !strings.Contains(out, "with Spillway") {
				t.Errorf("%s", out)
			}
		}
	}
}
