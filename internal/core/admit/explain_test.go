package admit

import (
	"reflect"
	"testing"
	"time"
)

// TestExplainLooksOnly: a dry run, however often, leaves the numbers and the
// next decision as they were. TestRandomStreams does the same at random.
func TestExplainLooksOnly(t *testing.T) {
	const s = time.Second
	run := func(looks int) (Decision, Snapshot) {
		d := newDesk(t, exact(onePool(2, Tenant{Name: "a", Limits: map[string]Limits{"": {Requests: 100, Tokens: 1e6}}})))
		d.fill(0, 6, Request{Deadline: after(60 * s)})
		for i := range looks { // at a time when the running calls are overdue
			d.c.Explain(after(5*s+time.Duration(i)*time.Millisecond), withDefaults(Request{Tenant: "a", Model: "m", Deadline: after(30 * s)}))
		}
		return d.offer(6*s, Request{Class: Batch, Deadline: after(40 * s)}), d.c.Snapshot(after(6 * s))
	}
	plain, state := run(0)
	looked, after := run(100)
	if plain != looked {
		t.Errorf("decided %+v, after looking %+v", plain, looked)
	}
	if !reflect.DeepEqual(state, after) {
		t.Errorf("state %+v, after looking %+v", state, after)
	}
}

// TestExplainSteps: every stage is asked in order, with what it measured.
func TestExplainSteps(t *testing.T) {
	d := newDesk(t, exact(onePool(1, Tenant{Name: "a", Concurrency: 9, Limits: map[string]Limits{"": {Requests: 5, Tokens: 1000}}})))
	d.fill(0, 2, Request{})
	trace := d.c.Explain(t0, withDefaults(Request{}))
	want := []Step{
		{Stage: StageUnknown},
		{Stage: StageDeadline, Limit: "the caller's deadline", Figure: 0, Bound: 8000},
		{Stage: StageCapacity, Limit: "usable slots of the model", Figure: 1, Bound: 1},
		{Stage: StageConcurrency, Limit: "the tenant's requests at once", Figure: 2, Bound: 9},
		{Stage: StageRequests, Limit: "the tenant's requests a minute", Figure: 2, Bound: 5},
		{Stage: StageTokens, Limit: "the tenant's tokens a minute", Figure: 200, Bound: 1000},
		{Stage: StageSpend},
		{Stage: StagePace},
		{Stage: StageFree, Limit: "usable slots of the model", Figure: 1, Bound: 1},
		{Stage: StageRetry},
		{Stage: StageShed, Limit: "the predicted wait"},
		{Stage: StageWait, Limit: "the predicted wait"},
		{Stage: StageBound},
		{Stage: StageQueue, Decides: true, Limit: "the predicted wait"},
	}
	if len(trace.Steps) != len(want) {
		t.Fatalf("%d steps, want %d: %+v", len(trace.Steps), len(want), trace.Steps)
	}
	for i, s := range trace.Steps {
		if s.Stage >= StageShed {
			s.Figure, s.Bound = 0, 0 // predictions
		}
		if s != want[i] {
			t.Errorf("step %d: %+v, want %+v", i, s, want[i])
		}
	}
}
