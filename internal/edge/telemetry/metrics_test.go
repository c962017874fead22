package telemetry

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func setup(t testing.TB) (*Metrics, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	m.Configure(names)
	return m, reg
}

// expect compares the series of the named metrics with text in the exposition
// format, without its comments.
func expect(t *testing.T, reg *prometheus.Registry, want string) {
	t.Helper()
	families := gather(t, reg)
	for l := range strings.Lines(want) {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		i := strings.LastIndexByte(l, ' ')
		if got, ok := families[l[:i]]; !ok {
			t.Errorf("no series %s", l[:i])
		} else if got != l[i+1:] {
			t.Errorf("%s is %s, want %s", l[:i], got, l[i+1:])
		}
	}
}

// gather gives every spillway_ series: a histogram as its _count and _sum.
func gather(t *testing.T, reg *prometheus.Registry) map[string]string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "spillway_") {
			continue
		}
		for _, s := range f.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			in := "{" + strings.Join(labels, ",") + "}"
			switch {
			case s.GetHistogram() != nil:
				out[f.GetName()+"_count"+in] = fmt.Sprint(s.GetHistogram().GetSampleCount())
				out[f.GetName()+"_sum"+in] = fmt.Sprintf("%.6g", s.GetHistogram().GetSampleSum())
			case s.GetCounter() != nil:
				out[f.GetName()+in] = fmt.Sprint(s.GetCounter().GetValue())
			default:
				out[f.GetName()+in] = fmt.Sprint(s.GetGauge().GetValue())
			}
		}
	}
	return out
}

func TestARequestThatWaits(t *testing.T) {
	m, reg := setup(t)
	r := newRecord()
	m.Arrived(r)
	m.Arrived(r) // told twice, it is still one request
	expect(t, reg, `spillway_requests_in_flight{} 1`)
	m.Decided(r, &queueIt)
	m.Decided(r, &dispatch)
	m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true, Service: 2300 * time.Millisecond})
	answer(r)
	m.Finished(r)
	expect(t, reg, `
		spillway_requests_in_flight{} 0
		spillway_decisions_total{class="interactive",stage="queue",tenant="bank",verdict="queue"} 1
		spillway_decisions_total{class="interactive",stage="dispatch",tenant="bank",verdict="run"} 1
		spillway_queue_depth_sum{class="interactive",model="chat"} 3
		spillway_queue_depth_count{class="interactive",model="chat"} 1
		spillway_wait_predicted_seconds_sum{class="interactive",model="chat"} 0.8
		spillway_wait_seconds_sum{class="interactive",model="chat"} 1
		spillway_wait_error_seconds_sum{model="chat"} 0.2
		spillway_wait_error_ratio_sum{model="chat"} 1.25
		spillway_upstream_attempts_total{deployment="gpu/big",kind="ok",status="200"} 1
		spillway_upstream_service_seconds_sum{deployment="gpu/big",ok="true"} 2.3
		spillway_requests_total{model="chat",outcome="answered",tenant="bank"} 1
		spillway_request_duration_seconds_sum{model="chat",outcome="answered"} 3.3
		spillway_time_to_first_token_seconds_sum{model="chat"} 1.3
		spillway_time_per_output_token_seconds_sum{model="chat"} 0.02
		spillway_tokens_total{direction="input",model="chat",tenant="bank"} 900
		spillway_tokens_total{direction="output",model="chat",tenant="bank"} 101
		spillway_tokens_total{direction="cached",model="chat",tenant="bank"} 600
		spillway_tokens_total{direction="cache_write",model="chat",tenant="bank"} 200
		spillway_tokens_total{direction="reasoning",model="chat",tenant="bank"} 40
		spillway_cost_dollars_total{model="chat",tenant="bank"} 0.005
		spillway_finish_reasons_total{degraded="none",model="chat",reason="stop"} 1
	`)
}

func TestWhatDidNotHappenIsNotCounted(t *testing.T) {
	tests := []struct {
		name   string
		tell   func(m *Metrics, r *Record)
		want   string
		absent string // a prefix that no series may have
	}{
		{"run at once: no prediction to judge", func(m *Metrics, r *Record) {
			m.Decided(r, &runIt)
			m.Finished(r)
		}, `spillway_wait_seconds_count{class="interactive",model="chat"} 1`, "spillway_wait_error"},
		{"refused: estimated tokens were not used", func(m *Metrics, r *Record) {
			m.Decided(r, &refuseIt)
			r.Outcome, r.Input, r.Output = Refused, 900, 200
			m.Finished(r)
		}, `spillway_wait_predicted_seconds_sum{class="interactive",model="chat"} 9
			spillway_requests_total{model="chat",outcome="refused",tenant="bank"} 1`, "spillway_tokens_total"},
		{"not streamed: no first token", func(m *Metrics, r *Record) {
			m.Decided(r, &runIt)
			r.Total, r.Output = time.Second, 50
			m.Finished(r)
		}, `spillway_request_duration_seconds_sum{model="chat",outcome="answered"} 1`, "spillway_time_"},
		{"wrong before the core saw it", func(m *Metrics, r *Record) {
			r.Outcome, r.Status = Invalid, 400
			m.Finished(r)
		}, `spillway_requests_in_flight{} 0
			spillway_requests_total{model="chat",outcome="invalid",tenant="bank"} 1`, "spillway_decisions_total"},
		{"depth unknown", func(m *Metrics, r *Record) {
			r.Depth = -1
			m.Decided(r, &runIt)
		}, "", "spillway_queue_depth"},
		{"an upstream that counts backwards", func(m *Metrics, r *Record) {
			m.Decided(r, &runIt)
			r.Input, r.Output = -5, -1
			m.Finished(r)
		}, "", "spillway_tokens_total"},
		{"a wait too short to speak of a ratio", func(m *Metrics, r *Record) {
			q := queueIt
			q.Wait = 10 * time.Microsecond
			m.Decided(r, &q)
			m.Decided(r, &dispatch)
		}, `spillway_wait_error_seconds_count{model="chat"} 1`, "spillway_wait_error_ratio"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, reg := setup(t)
			tt.tell(m, newRecord())
			expect(t, reg, tt.want)
			for s := range gather(t, reg) {
				if strings.HasPrefix(s, tt.absent) {
					t.Errorf("unexpected %s", s)
				}
			}
		})
	}
}

func TestDeadRequestsAreCountedByReason(t *testing.T) {
	m, reg := setup(t)
	r := newRecord() // waits, and is too late in the end
	m.Decided(r, &queueIt)
	m.Decided(r, &late)
	r.Outcome = Refused
	m.Finished(r)
	r = newRecord() // waits, and its caller leaves
	m.Decided(r, &queueIt)
	r.Outcome = Left
	m.Finished(r)
	r = newRecord() // leaves while it runs: not dropped from the queue
	m.Decided(r, &queueIt)
	m.Decided(r, &dispatch)
	m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "reset", Service: time.Second, Wasted: 50 * time.Millisecond})
	r.Outcome = Left
	m.Finished(r)
	expect(t, reg, `
		spillway_dropped_total{model="chat",reason="late"} 1
		spillway_dropped_total{model="chat",reason="cancelled"} 1
		spillway_upstream_wasted_seconds_total{deployment="gpu/big"} 0.05
	`)
}

func TestRetriesAndObservedRefusals(t *testing.T) {
	m, reg := setup(t)
	again := admit.Decision{Verdict: admit.Run, Stage: admit.StageAgain}
	over := admit.Decision{Verdict: admit.Reject, Stage: admit.StageRetry}
	r := newRecord() // the caller's retry runs, fails, and we try once more
	r.Attempt = 1
	m.Decided(r, &runIt)
	m.Decided(r, &again)
	r = newRecord() // the caller's retry is one too many
	r.Attempt = 2
	m.Decided(r, &over)
	r = newRecord() // the dark mode lets it through
	seen := queueIt
	seen.Observed = true
	m.Decided(r, &seen)
	m.Decided(r, &dispatch)
	expect(t, reg, `
		spillway_retries_total{by="caller",result="allowed",tenant="bank"} 1
		spillway_retries_total{by="caller",result="refused",tenant="bank"} 1
		spillway_retries_total{by="gateway",result="allowed",tenant="bank"} 1
		spillway_would_refuse_total{class="interactive",tenant="bank"} 1
	`)
	if !r.WouldRefuse {
		t.Error("the record forgot that it would have been refused")
	}
}

// B057: a request that is tried on two deployments, twice each, counts four
// times. B087: overloaded, unavailable and broken are told apart.
func TestEveryAttemptIsCounted(t *testing.T) {
	m, reg := setup(t)
	r := newRecord()
	for _, a := range []Attempt{
		{Deployment: "gpu/big", Kind: "status", Status: 529},
		{Deployment: "gpu/big", Kind: "status", Status: 503},
		{Deployment: "hosted/big", Kind: "status", Status: 500},
		{Deployment: "hosted/big", Kind: "dial"},
	} {
		m.Attempted(r, &a)
	}
	expect(t, reg, `
		spillway_upstream_attempts_total{deployment="gpu/big",kind="status",status="529"} 1
		spillway_upstream_attempts_total{deployment="gpu/big",kind="status",status="503"} 1
		spillway_upstream_attempts_total{deployment="hosted/big",kind="status",status="500"} 1
		spillway_upstream_attempts_total{deployment="hosted/big",kind="dial",status="none"} 1
	`)
	if r.Attempts != 4 || r.Deployment != "hosted/big" || r.Kind != "dial" {
		t.Errorf("the record says %d attempts, last %s %s", r.Attempts, r.Deployment, r.Kind)
	}
}

func TestStatusLabels(t *testing.T) {
	for status, want := range map[int]string{
		200: "200", 529: "529", 400: "400", 204: "2xx", 418: "4xx", 599: "5xx", 100: "1xx", 301: "3xx",
		0: "none", -1: "none", 99: "none", 600: "none", 1 << 30: "none",
	} {
		if got := statusLabel(statusNr(status)); got != want {
			t.Errorf("status %d has the label %s, want %s", status, got, want)
		}
	}
}

// B186: whatever names callers and upstreams think of, the series stay few, no
// label value is long, and what was counted up is counted down.
func TestLabelsAreBounded(t *testing.T) {
	m, reg := setup(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		name := fmt.Sprintf("made-up-%d-%d", i, rng.Uint64())
		switch i % 3 {
		case 1:
			name = strings.Repeat(name, 40)
		case 2:
			name = "bad \xff\xfe\x00\n" + name
		}
		r := newRecord()
		r.Tenant, r.Model = name, name
		r.Rungs, r.Lowest, r.Finish = []string{name}, admit.RungKind(i%admit.NumRungKinds), Finish(i)
		r.Cost, r.Attempts, r.Output = 1, 1, 1
		r.Class = admit.Class(i % admit.NumClasses)
		r.Outcome = Outcome(i % int(numOutcomes))
		m.Arrived(r)
		m.Decided(r, &queueIt)
		m.Decided(r, &dispatch)
		m.Attempted(r, &Attempt{Deployment: name, Kind: name, Status: rng.IntN(2000) - 500})
		m.Finished(r)
	}
	series := gather(t, reg)
	if len(series) > 120 {
		t.Errorf("%d series after 100,000 names", len(series))
	}
	for s := range series {
		if strings.Contains(s, "made-up") {
			t.Errorf("a caller's name became a label: %.100s", s)
		}
	}
	expect(t, reg, `spillway_requests_in_flight{} 0`)
}

func TestConfiguredNamesAreCapped(t *testing.T) {
	m, reg := setup(t)
	long := strings.Repeat("ä", 100) // 200 bytes
	m.Configure(Names{Tenants: []string{long, "bad\xff", "twice", "twice"}, Models: names.Models})
	for _, tenant := range []string{long, "bad\xff", long + "x"} {
		r := newRecord()
		r.Tenant = tenant
		m.Finished(r)
	}
	expect(t, reg, `
		spillway_requests_total{model="chat",outcome="answered",tenant="`+strings.Repeat("ä", 64)+`"} 1
		spillway_requests_total{model="chat",outcome="answered",tenant="bad`+"\uFFFD"+`"} 1
		spillway_requests_total{model="chat",outcome="answered",tenant="other"} 1
	`)
}

func TestReload(t *testing.T) {
	m, reg := setup(t)
	told := func(tenant string) {
		r := newRecord()
		r.Tenant = tenant
		m.Decided(r, &runIt)
		m.Finished(r)
	}
	told("bank")
	told("shop")
	r := newRecord() // in flight over the reload
	r.Tenant = "shop"
	m.Arrived(r)
	m.Configure(Names{Tenants: []string{"bank", "new"}, Models: []string{"chat"}})
	m.Finished(r)
	told("bank")
	told("new")
	expect(t, reg, `
		spillway_requests_in_flight{} 0
		spillway_requests_total{model="chat",outcome="answered",tenant="bank"} 2
		spillway_requests_total{model="chat",outcome="answered",tenant="new"} 1
	`)
	for s := range gather(t, reg) {
		if strings.Contains(s, `"shop"`) {
			t.Errorf("a tenant that is gone is still exported: %s", s)
		}
	}
	m.Reloaded(t0.Add(1500*time.Millisecond), nil)
	m.Reloaded(t0.Add(time.Hour), errors.New("line 3: no such key"))
	expect(t, reg, `
		spillway_config_reloads_total{result="applied"} 1
		spillway_config_reloads_total{result="refused"} 1
		spillway_config_last_success_timestamp_seconds{} `+fmt.Sprint(float64(t0.Unix())+1.5))
}

func TestQueueState(t *testing.T) {
	m, reg := setup(t)
	pool := PoolState{Model: "chat", Capacity: 16}
	pool.Classes[admit.Batch] = ClassState{Waiting: 5, Running: 2, Work: 1500 * time.Millisecond, Bytes: 4096}
	m.WatchStates(func() States {
		return States{Pools: []PoolState{pool, {Model: "embed", Capacity: 4}, {Model: "chat", Capacity: 99}}} // a name twice must not spoil the scrape
	})
	expect(t, reg, `
		spillway_capacity{model="chat"} 16
		spillway_capacity{model="embed"} 4
		spillway_queue_waiting{class="batch",model="chat"} 5
		spillway_running{class="batch",model="chat"} 2
		spillway_queue_work_seconds{class="batch",model="chat"} 1.5
		spillway_queue_bytes{class="batch",model="chat"} 4096
		spillway_queue_waiting{class="interactive",model="chat"} 0
	`)
	pool.Classes[admit.Batch].Waiting = 7
	expect(t, reg, `spillway_queue_waiting{class="batch",model="chat"} 7`)
}

func TestHistogramsAreClassicAndNative(t *testing.T) {
	m, reg := setup(t)
	r := newRecord()
	m.Decided(r, &queueIt)
	m.Decided(r, &dispatch)
	r.First = time.Second
	m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true, Service: time.Second})
	answer(r)
	m.Finished(r)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range families {
		for _, s := range f.GetMetric() {
			h := s.GetHistogram()
			if h == nil || !strings.HasPrefix(f.GetName(), "spillway_") {
				continue
			}
			seen++
			if len(h.GetBucket()) == 0 || h.Schema == nil || h.GetSchema() != 3 { // 2^(1/8) is below 1.1
				t.Errorf("%s has %d classic buckets and native schema %v", f.GetName(), len(h.GetBucket()), h.Schema)
			}
		}
	}
	if seen != 10 {
		t.Errorf("%d histograms, want 10", seen)
	}
}

func TestNamesAndHelpFollowTheConventions(t *testing.T) {
	m, reg := setup(t)
	m.WatchStates(func() States { return States{Pools: []PoolState{{Model: "chat"}}} })
	r := newRecord()
	r.Attempt = 1
	m.Decided(r, &queueIt)
	m.Decided(r, &dispatch)
	m.Attempted(r, &Attempt{Deployment: "gpu/big", Wasted: 1})
	answer(r)
	m.Finished(r)
	m.Reloaded(t0, nil)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetricsFromManyGoroutines(t *testing.T) {
	m, reg := setup(t)
	m.WatchStates(func() States { return States{Pools: []PoolState{{Model: "chat"}}} })
	const workers, each = 8, 300
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range each {
				r := newRecord()
				r.Tenant = []string{"bank", "shop", "nobody"}[i%3]
				m.Arrived(r)
				m.Decided(r, &queueIt)
				m.Decided(r, &dispatch)
				m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200})
				answer(r)
				m.Finished(r)
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			m.Configure(names)
			if _, err := reg.Gather(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	expect(t, reg, fmt.Sprintf(`
		spillway_requests_in_flight{} 0
		spillway_request_duration_seconds_count{model="chat",outcome="answered"} %d
		spillway_requests_total{model="chat",outcome="answered",tenant="shop"} %d
	`, workers*each, workers*each/3))
}

func TestMetricsDoNotAllocate(t *testing.T) {
	m, _ := setup(t)
	a := Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true, Service: time.Second}
	r := newRecord()
	n := testing.AllocsPerRun(100, func() {
		r.series, r.decisions, r.queued, r.ran = series{}, 0, false, false
		m.Arrived(r)
		m.Decided(r, &queueIt)
		m.Decided(r, &dispatch)
		m.Attempted(r, &a)
		answer(r)
		m.Finished(r)
	})
	if n != 0 {
		t.Errorf("%v allocations for one request", n)
	}
	r.Rungs, r.Lowest = []string{"no-tools", "small"}, admit.RungModel
	n = testing.AllocsPerRun(100, func() {
		r.series = series{}
		m.Finished(r)
	})
	if n != 0 {
		t.Errorf("%v allocations for the end of one that was degraded", n)
	}
}
