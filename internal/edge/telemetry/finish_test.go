package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestFinishWords(t *testing.T) {
	for word, want := range map[string]string{
		"stop": "stop", "end_turn": "stop", "completed": "stop", "length": "length", "max_output_tokens": "length", "tool_use": "tool_calls",
		"content_filter": "content_filter", "refusal": "refusal", "pause_turn": "other", "Stop": "other", "made up\n": "other", "": "",
	} {
		if got := ParseFinish(word).String(); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
	for f := range Finish(numFinishes) { // our own words are read as themselves
		if got := ParseFinish(f.String()); got != f {
			t.Errorf("%s is read as %s", f, got)
		}
	}
	if got := Finish(200).String(); got != "other" {
		t.Errorf("a value beyond the set is %q", got)
	}
}

// A request that went down two rungs is told apart by the lower one, so that the
// times of the model as asked for do not look better than they are.
func TestDegradedTrafficIsToldApart(t *testing.T) {
	m, reg := setup(t)
	r := newRecord()
	m.Decided(r, &runIt)
	answer(r)
	m.Finished(r) // as asked

	r = newRecord()
	m.Decided(r, &runIt)
	answer(r)
	r.Rungs, r.Lowest = []string{"no-tools", "half-context"}, admit.RungCompute
	r.TTFT, r.Total, r.Finish = 200*time.Millisecond, time.Second, FinishLength
	m.Finished(r)
	expect(t, reg, `
		spillway_degraded_requests_total{model="chat",rung="no-tools"} 1
		spillway_degraded_requests_total{model="chat",rung="half-context"} 1
		spillway_degraded_duration_seconds_count{kind="compute",model="chat"} 1
		spillway_degraded_duration_seconds_sum{kind="compute",model="chat"} 1
		spillway_degraded_ttft_seconds_sum{kind="compute",model="chat"} 0.2
		spillway_request_duration_seconds_count{model="chat",outcome="answered"} 1
		spillway_request_duration_seconds_sum{model="chat",outcome="answered"} 3.3
		spillway_time_to_first_token_seconds_count{model="chat"} 1
		spillway_time_per_output_token_seconds_count{model="chat"} 1
		spillway_finish_reasons_total{degraded="none",model="chat",reason="stop"} 1
		spillway_finish_reasons_total{degraded="compute",model="chat",reason="length"} 1
		spillway_requests_total{model="chat",outcome="answered",tenant="bank"} 2
		spillway_cost_dollars_total{model="chat",tenant="bank"} 0.01
	`)
}

func TestWhatCountsAsDegraded(t *testing.T) {
	rungs := func(r *Record) { r.Rungs, r.Lowest = []string{"small"}, admit.RungModel }
	tests := []struct {
		name   string
		tell   func(m *Metrics, r *Record)
		want   string
		absent string // a prefix that no series may have
	}{
		{"degraded and failed: its time is that of no answer", func(m *Metrics, r *Record) {
			m.Decided(r, &runIt)
			rungs(r)
			r.Outcome = Failed
			m.Finished(r)
		}, `spillway_degraded_requests_total{model="chat",rung="small"} 1
			spillway_requests_total{model="chat",outcome="failed",tenant="bank"} 1`, "spillway_degraded_duration"},
		{"looked at degraded, and too late in the end: it was refused as any other", func(m *Metrics, r *Record) {
			m.Decided(r, &queueIt)
			m.Decided(r, &late)
			rungs(r)
			r.Outcome, r.Total = Refused, 8*time.Second
			m.Finished(r)
		}, `spillway_request_duration_seconds_sum{model="chat",outcome="refused"} 8`, "spillway_degraded"},
		{"a fresh answer from the cache: not degraded, and not the model's time", func(m *Metrics, r *Record) {
			answer(r)
			r.Recalled, r.TTFT, r.Total = true, time.Microsecond, time.Millisecond
			m.Finished(r)
		}, `spillway_recalled_total{model="chat",why="fresh"} 1
			spillway_finish_reasons_total{degraded="none",model="chat",reason="stop"} 1`, "spillway_request_duration"},
		{"an answer from before in place of a refusal", func(m *Metrics, r *Record) {
			m.Decided(r, &recall)
			answer(r)
			r.Recalled, r.Rungs, r.Lowest, r.Total, r.Cost = true, []string{"recent"}, admit.RungRecent, 2*time.Second, 0
			m.Finished(r)
		}, `spillway_recalled_total{model="chat",why="stale"} 1
			spillway_decisions_total{class="interactive",stage="ladder",tenant="bank",verdict="recall"} 1
			spillway_degraded_requests_total{model="chat",rung="recent"} 1
			spillway_degraded_duration_seconds_sum{kind="recent",model="chat"} 2
			spillway_finish_reasons_total{degraded="recent",model="chat",reason="stop"} 1`, "spillway_tokens_total"},
		{"the same, where nobody said by which rung", func(m *Metrics, r *Record) {
			m.Decided(r, &recall)
			r.Recalled, r.Total = true, 2*time.Second
			m.Finished(r)
		}, `spillway_degraded_duration_seconds_sum{kind="recent",model="chat"} 2`, "spillway_request_duration"},
		{"no answer: no reason for its end", func(m *Metrics, r *Record) {
			m.Decided(r, &runIt)
			r.Outcome = Failed
			m.Finished(r)
		}, "", "spillway_finish_reasons_total"},
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

func TestTokensWithoutAPrice(t *testing.T) {
	m, reg := setup(t)
	end := func(tell func(r *Record)) {
		r := newRecord()
		m.Decided(r, &runIt)
		m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true})
		answer(r)
		tell(r)
		m.Finished(r)
	}
	end(func(r *Record) {})                                      // all at a price
	end(func(r *Record) { r.Priced, r.Cost = false, 0 })         // none
	end(func(r *Record) { r.Priced, r.Cost = false, 1_000_000 }) // the first of two attempts
	end(func(r *Record) { r.Priced, r.Cost, r.Input, r.Output = false, 0, 0, 0 })
	end(func(r *Record) { r.Cost = -7 }) // a counter cannot go back
	expect(t, reg, `
		spillway_unpriced_requests_total{model="chat",tenant="bank"} 2
		spillway_cost_dollars_total{model="chat",tenant="bank"} 1.005
	`)
	r := newRecord() // refused: what it was estimated at was not spent
	m.Decided(r, &refuseIt)
	r.Outcome, r.Input = Refused, 900
	m.Finished(r)
	expect(t, reg, `spillway_unpriced_requests_total{model="chat",tenant="bank"} 2`)
}

// Names of rungs that are not configured are one label, and those that are gone
// are exported no more. A request in flight over a reload counts where it began.
func TestRungsOverAReload(t *testing.T) {
	m, reg := setup(t)
	end := func(r *Record, rungs ...string) {
		r.Rungs, r.Lowest = rungs, admit.RungFeatures
		m.Finished(r)
	}
	begin := func() *Record {
		r := newRecord()
		m.Decided(r, &runIt)
		return r
	}
	end(begin(), "no-tools", "small")
	for i := range 1000 {
		end(begin(), fmt.Sprintf("made-up-%d", i))
	}
	expect(t, reg, `
		spillway_degraded_requests_total{model="chat",rung="no-tools"} 1
		spillway_degraded_requests_total{model="chat",rung="small"} 1
		spillway_degraded_requests_total{model="chat",rung="other"} 1000
	`)
	inFlight := begin()
	m.Configure(Names{Tenants: names.Tenants, Models: names.Models, Rungs: []string{"a", "b", "c", "d", "e", "small"}})
	end(inFlight, "small")
	end(begin(), "small")
	expect(t, reg, `spillway_degraded_requests_total{model="chat",rung="small"} 3`)
	for s := range gather(t, reg) {
		if strings.Contains(s, "no-tools") || strings.Contains(s, "made-up") {
			t.Errorf("%s", s)
		}
	}
}

// Whatever was told of a tenant or a model that is gone is exported no more.
func TestWhatIsForgotten(t *testing.T) {
	for gone, next := range map[string]Names{
		`"bank"`: {Tenants: []string{"shop"}, Models: names.Models, Rungs: names.Rungs},
		`"chat"`: {Tenants: names.Tenants, Models: []string{"embed"}, Rungs: names.Rungs},
	} {
		m, reg := setup(t)
		r := newRecord()
		m.Decided(r, &runIt)
		m.Attempted(r, &Attempt{Deployment: "gpu/big", Kind: "ok", Status: 200, OK: true})
		answer(r)
		r.Rungs, r.Lowest, r.Priced, r.Recalled = []string{"small"}, admit.RungModel, false, true
		m.Finished(r)
		m.Configure(next)
		for s := range gather(t, reg) {
			if strings.Contains(s, gone) {
				t.Errorf("%s", s)
			}
		}
	}
}

// TestAnswersInTime: goodput is what was complete before its deadline, for a
// stream its first token.
func TestAnswersInTime(t *testing.T) {
	m, reg := setup(t)
	for _, r := range []Record{
		{Total: 3 * time.Second, Deadline: 4 * time.Second},
		{Total: 5 * time.Second, Deadline: 4 * time.Second},
		{Total: 5 * time.Second, Deadline: 4 * time.Second, TTFT: time.Second},
		{Total: 3 * time.Second}, // none is known
		{Total: 3 * time.Second, Deadline: 4 * time.Second, Outcome: Cut},
	} {
		r.Tenant, r.Model, r.Class = "bank", "chat", admit.Batch
		m.Finished(&r)
	}
	expect(t, reg, `
		spillway_answers_total{class="batch",in_time="true",model="chat"} 3
		spillway_answers_total{class="batch",in_time="false",model="chat"} 1`)
}
