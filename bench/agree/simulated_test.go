package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/sim"
)

// Both gateways have one configuration: what the simulator reads of it must be
// what the live run is made of.
func TestConfigurationSaysWhatIsLive(t *testing.T) {
	c, err := config.Parse("test", []byte(configuration("http://127.0.0.1:9/v1")), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	ups, kinds := sim.FromConfig(c)
	if u := ups["chat"]; u.Slots != slots || u.Mean != serviceMean || u.Noise != 0.25 {
		t.Errorf("upstream %+v", u)
	}
	if len(kinds) != 1 || kinds[0].Deadline != deadline || kinds[0].Manners.Retries != retries || kinds[0].Manners.Patient {
		t.Errorf("callers %+v", kinds)
	}
	p := c.Policy()
	if len(p.Models) != 1 || p.Models[0].Deployments[0].Concurrency != slots || len(p.Tenants) != 1 {
		t.Errorf("policy %+v", p)
	}
}

// record writes a recording of constant arrivals, as the gateway does, with the
// retry that a refused caller made.
func record(t *testing.T, dir string, n int, gap time.Duration) {
	t.Helper()
	var b strings.Builder
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		at = at.Add(gap)
		for attempt := range 1 + i%2 {
			fmt.Fprintf(&b, `{"at":%q,"kind":"offer","request":{"ID":%d,"Tenant":"app","Model":"chat","Class":"interactive","Attempt":%d,"Input":16,"Arrived":%[1]q,"Deadline":%[4]q}}`+"\n",
				at.Format(time.RFC3339Nano), 2*i+attempt+1, attempt, at.Add(deadline).Format(time.RFC3339Nano))
		}
	}
	for name, text := range map[string]string{eventsFile: b.String(), configFile: configuration("http://127.0.0.1:9/v1")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSimulated(t *testing.T) {
	const length = 30 * time.Second
	for _, tt := range []struct {
		load float64
		ok   func(f figures) bool
	}{
		{0.5, func(f figures) bool {
			return f.onTime == 1 && f.refused == 0 && f.attempts == 1 && f.goodput > 0.45 && f.goodput < 0.51
		}},
		{2, func(f figures) bool {
			return f.goodput > 0.93 && f.goodput <= 1 && f.attempts > 1 && f.onTime+f.refused < 1.001 && f.onTime > 0.45 && f.waitP99 >= f.waitP95 && f.waitP95 > 1 && f.waitP99 < 8
		}},
	} {
		dir := t.TempDir()
		gap := time.Duration(float64(time.Second) / (capacity * tt.load))
		record(t, dir, int(length/gap), gap)
		b := &bench{length: length, seeds: 3}
		runs, err := b.simulated(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range runs {
			if !tt.ok(f) {
				t.Errorf("load %g: %+v", tt.load, f)
			}
		}
		if len(runs) != 3 || runs[0] == runs[1] {
			t.Errorf("load %g: %d runs; other service times change nothing: %+v", tt.load, len(runs), runs)
		}
		again, err := b.simulated(dir)
		if err != nil || again[2] != runs[2] {
			t.Errorf("load %g: the same seed gives %+v and %+v, %v", tt.load, runs[2], again[2], err)
		}
	}
}
