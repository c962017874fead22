package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// A run in summer sees the same midnight as one in winter.
func TestPolicyOfAnyDay(t *testing.T) {
	c, err := config.Parse("test.yaml", []byte(`
providers: {a: {base_url: http://h/v1, day_zone: America/Los_Angeles}}
models: {chat: {deployments: [{provider: a, tpd: 1000}]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // begins in January
		for _, want := range []time.Duration{8 * time.Hour, 7 * time.Hour} {
			if got := c.Policy().Models[0].Deployments[0].Keys[0].Midnight; got != want {
				t.Errorf("on %v the day begins at %v", time.Now(), got)
			}
			if got := PolicyOf(c).Models[0].Deployments[0].Keys[0].Midnight; got != 8*time.Hour {
				t.Errorf("in a run on %v it begins at %v", time.Now(), got)
			}
			time.Sleep(182 * 24 * time.Hour)
		}
	})
}
