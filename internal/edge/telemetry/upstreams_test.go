package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// upstream is a deployment that has seen everything.
func upstream() UpstreamState {
	return UpstreamState{
		Deployment: "gpu/big", Model: "chat", Provider: "gpu", Region: "eu", Precision: "int8", Tier: "1", Slots: 16, Usable: 6, Running: 5, State: "recovering", Share: 0.4, Step: 4, Ratio: 1.25,
		Sent: 100, Good: 90, Limited: 3, Faults: map[string]int64{"failed": 5, "throttled": 3, "silent": 0}, Input: 9000, Output: 1000, Cost: 1_250_000,
		Paused: 1500 * time.Millisecond, Refused: 1,
	}
}

func TestUpstreamState(t *testing.T) {
	m, reg := setup(t)
	u := upstream()
	m.WatchStates(func() States {
		return States{Upstreams: []UpstreamState{u, {Deployment: "hosted/big", State: "closed", Share: 1, Step: 10, Ratio: 1}}}
	})
	expect(t, reg, `
		spillway_upstream_info{deployment="gpu/big",model="chat",precision="int8",provider="gpu",region="eu",tier="1"} 1
		spillway_upstream_slots{deployment="gpu/big"} 16
		spillway_upstream_usable_slots{deployment="gpu/big"} 6
		spillway_upstream_running{deployment="gpu/big"} 5
		spillway_upstream_breaker_state{deployment="gpu/big",state="recovering"} 1
		spillway_upstream_breaker_state{deployment="gpu/big",state="closed"} 0
		spillway_upstream_breaker_state{deployment="gpu/big",state="open"} 0
		spillway_upstream_breaker_state{deployment="gpu/big",state="half_open"} 0
		spillway_upstream_breaker_share{deployment="gpu/big"} 0.4
		spillway_upstream_breaker_step{deployment="gpu/big"} 4
		spillway_upstream_time_ratio{deployment="gpu/big"} 1.25
		spillway_upstream_paused_seconds{deployment="gpu/big"} 1.5
		spillway_upstream_refused_keys{deployment="gpu/big"} 1
		spillway_upstream_sent_total{deployment="gpu/big"} 100
		spillway_upstream_good_total{deployment="gpu/big"} 90
		spillway_upstream_faults_total{deployment="gpu/big",fault="failed"} 5
		spillway_upstream_faults_total{deployment="gpu/big",fault="throttled"} 3
		spillway_upstream_faults_total{deployment="gpu/big",fault="silent"} 0
		spillway_upstream_tokens_total{deployment="gpu/big",direction="input"} 9000
		spillway_upstream_tokens_total{deployment="gpu/big",direction="output"} 1000
		spillway_upstream_cost_dollars_total{deployment="gpu/big"} 1.25
		spillway_upstream_breaker_state{deployment="hosted/big",state="closed"} 1
		spillway_upstream_breaker_step{deployment="hosted/big"} 10
		spillway_upstream_refused_keys{deployment="hosted/big"} 0
	`)
	u.State, u.Step = "open", 0 // asked anew at each scrape
	expect(t, reg, `
		spillway_upstream_breaker_state{deployment="gpu/big",state="open"} 1
		spillway_upstream_breaker_state{deployment="gpu/big",state="recovering"} 0
		spillway_upstream_breaker_step{deployment="gpu/big"} 0
	`)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Names that are not configured are one label, and spoil no scrape.
func TestUpstreamLabelsAreBounded(t *testing.T) {
	m, reg := setup(t)
	m.WatchStates(func() States {
		var list []UpstreamState
		for i := range 1000 {
			u := upstream()
			u.Deployment = fmt.Sprintf("made-up-%d", i)
			list = append(list, u)
		}
		return States{Upstreams: append(list, upstream(), upstream())}
	})
	for i := range 1000 {
		m.BreakerOpened(fmt.Sprintf("made-up-%d", i), "errors")
		m.ScaleUp(fmt.Sprintf("made-up-%d", i))
	}
	m.BreakerOpened("gpu/big", "errors")
	m.ScaleUp("gpu/big")
	expect(t, reg, `
		spillway_upstream_slots{deployment="gpu/big"} 16
		spillway_upstream_slots{deployment="other"} 16
		spillway_breaker_opened_total{deployment="gpu/big",reason="errors"} 1
		spillway_breaker_opened_total{deployment="other",reason="errors"} 1000
		spillway_scale_up_total{deployment="gpu/big"} 1
		spillway_scale_up_total{deployment="other"} 1000
	`)
	for s := range gather(t, reg) {
		if strings.Contains(s, "made-up") {
			t.Errorf("%s", s)
		}
	}
	m.Configure(Names{Deployments: []string{"hosted/big"}})
	for s := range gather(t, reg) {
		if strings.Contains(s, `"gpu/big"`) {
			t.Errorf("a deployment that is gone is still exported: %s", s)
		}
	}
}

// The time to the first token is told by deployment, from dispatch: the wait
// here is no fault of the provider.
func TestFirstTokenByDeployment(t *testing.T) {
	m, reg := setup(t)
	r := newRecord() // its first attempt fails before anything came
	m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "reset", Service: time.Second})
	r.TTFT, r.First = 5*time.Second, 250*time.Millisecond
	m.Attempted(r, &Attempt{Deployment: "hosted/big", Kind: "ok", Status: 200, OK: true, Service: 2 * time.Second})
	expect(t, reg, `
		spillway_upstream_first_token_seconds_count{deployment="hosted/big"} 1
		spillway_upstream_first_token_seconds_sum{deployment="hosted/big"} 0.25
		spillway_upstream_service_seconds_sum{deployment="hosted/big",ok="true"} 2
	`)
	for s := range gather(t, reg) {
		if strings.HasPrefix(s, "spillway_upstream_first_token_seconds") && strings.Contains(s, "gpu/big") {
			t.Errorf("%s, but nothing came from there", s)
		}
	}
}
