package main

import (
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops"
	"github.com/spillway-llm/spillway/internal/sim"
)

// forecast joins the gateway's memory of its traffic and the simulator, which do
// not know each other.
func forecast(q *ops.Question) (*ops.WhatIf, error) {
	seen := make([]sim.Seen, 0, len(q.Traffic))
	first := q.Traffic[0].At
	for i := range q.Traffic {
		first = min(first, q.Traffic[i].At) // they are in order of their offers
	}
	for i := range q.Traffic {
		seen = append(seen, seenOf(&q.Traffic[i], first))
	}
	end := time.Duration(q.End.UnixNano() - first)
	w := sim.WhatIf{Now: q.Now, Then: q.Then, Each: q.Each, Seen: seen, End: end, Asked: q.Span, Seed: 1, Interrupt: q.Pause}
	f, err := w.Run()
	if err != nil {
		return nil, err
	}
	at := func(d time.Duration) time.Time { return q.End.Add(d - end).Round(0) }
	out := &ops.WhatIf{
		From: at(f.From), To: at(f.To), Requests: f.Measured.Offered, Now: ops.Outcome(f.Now), Then: ops.Outcome(f.Then), Measured: ops.Outcome(f.Measured),
		Classes: []ops.ClassOutcomes{}, Tenants: []ops.TenantOutcomes{}, Warnings: []string{},
	}
	for _, x := range f.Classes {
		out.Classes = append(out.Classes, ops.ClassOutcomes{Class: x.Class.String(), Now: ops.Outcome(x.Now), Then: ops.Outcome(x.Then)})
	}
	for _, x := range f.Tenants {
		out.Tenants = append(out.Tenants, ops.TenantOutcomes{Tenant: x.Tenant, Now: ops.Outcome(x.Now), Then: ops.Outcome(x.Then)})
	}
	out.Warnings = append(out.Warnings, f.Warnings...)
	return out, nil
}

// seenOf is a request in the words of the simulator.
func seenOf(p *gateway.Passed, first int64) sim.Seen {
	s := sim.Seen{
		At: time.Duration(p.At - first), Tenant: p.Tenant, Model: p.Model, Key: p.Key, User: numbered(p.User), Session: numbered(p.Session),
		Class: p.Class, May: p.May, Attempt: int(p.Attempt), Counts: p.Marks.Has(gateway.MarkCounts), Input: int64(p.Input), MaxOutput: int64(p.MaxOutput),
		Deadline: ofSeconds(p.Deadline), Told: p.Marks.Has(gateway.MarkTold), Stream: p.Marks.Has(gateway.MarkStream), Turn: p.Marks.Has(gateway.MarkTurn),
	}
	if !p.Marks.Has(gateway.MarkEnded) {
		return s
	}
	s.NoRetry, s.RetryAfter, s.Degraded = p.Marks.Has(gateway.MarkNoRetry), ofSeconds(p.RetryAfter), p.Rungs != 0
	s.Sent, s.Deployment, s.Output, s.Cost = int(p.Sent), p.Deployment, int64(p.Output), p.Cost
	s.Waited, s.First, s.Total = ofSeconds(p.Waited), ofSeconds(p.First), ofSeconds(p.Total)
	s.Came, s.Down = came[p.Outcome], p.Stage == admit.StageCapacity
	return s
}

var came = map[telemetry.Outcome]sim.Came{
	telemetry.Answered: sim.CameAnswer, telemetry.Refused: sim.CameRefusal, telemetry.Invalid: sim.CameFailure, telemetry.Failed: sim.CameFailure,
	telemetry.Cut: sim.CameFailure, telemetry.TimedOut: sim.CameDeadline, telemetry.Left: sim.CameLeave,
}

func ofSeconds(s float32) time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// numbered is a user or a session by its hash; none has no name.
func numbered(hash uint64) string {
	if hash == 0 {
		return ""
	}
	return strconv.FormatUint(hash, 36)
}
