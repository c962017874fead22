package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-llm/spillway/internal/load"
)

// overload offers, level by level, more than the upstream can do. A light tenant
// offers 5 % of it, another the rest.
func (b *bench) overload(ctx context.Context) error {
	b.report.head("Overload")
	systems := []system{direct, haproxy, spillway}
	if _, err := haproxyBinary(); err != nil {
		b.report.say("%v: its rows are missing.\n", err)
		systems = []system{direct, spillway}
	}
	var rows [][]string
	var runs []run
	for _, times := range b.loads {
		rate := times * capacity
		var scenes []scene
		for _, s := range systems {
			scenes = append(scenes, scene{experiment: "overload", system: s, length: b.phase,
				tenants: []load.Tenant{tenant("light", 0.05*rate), tenant("big", 0.95*rate)}})
		}
		level, err := b.offer(ctx, scenes...)
		if err != nil {
			return err
		}
		runs = append(runs, level...)
		for i := range level {
			rows = append(rows, overloadRow(&level[i]))
		}
		b.overloadBars(level)
	}
	b.report.table([]string{"load", "system", "goodput", "of possible", "light on time", "big on time", "attempts", "refused after", "late", "unfinished"}, rows)
	b.report.say(`
goodput: slot time that went into answers in time, over all slot time. of possible: over what any queue could have made of these arrivals.
attempts: sent per request. refused after: mean time from an attempt to its refusal. late: requests whose deadline passed first.
unfinished: slot seconds of calls that were broken off because their caller's time was over; what an upstream works on after its
caller left is in the experiment "cancel".`)
	b.report.notes(runs)
	return nil
}

func overloadRow(r *run) []string {
	s := &r.Summary
	return []string{
		fmt.Sprintf("%gx", r.Load), r.System, percent(value(s.GoodputRatio)), percent(r.vsPossible()), percent(share(s.Tenants["light"])), percent(share(s.Tenants["big"])),
		fmt.Sprintf("%.2f", s.AttemptsPerOffered), seconds(s.RefusalMean), fmt.Sprintf("%.1f %%", 100*float64(s.Late)/float64(max(1, s.Offered))),
		fmt.Sprintf("%.1f s", value(s.WastedSlotSeconds)),
	}
}

// overloadBars judges one load level.
func (b *bench) overloadBars(level []run) {
	var ours, theirs *run
	for i := range level {
		switch system(level[i].System) {
		case spillway:
			ours = &level[i]
		case haproxy:
			theirs = &level[i]
		}
	}
	at := fmt.Sprintf(" at %gx", ours.Load)
	s := &ours.Summary
	if ours.Load >= 2 {
		b.report.atLeast("overload", "goodput"+at, value(s.GoodputRatio), 0.97, "%")
		b.report.atMost("overload", "mean time to a refusal"+at, value(s.RefusalMean), 0.2, "s")
		if theirs != nil {
			b.report.atMost("overload", "attempts, against HAProxy's"+at, s.AttemptsPerOffered, theirs.Summary.AttemptsPerOffered, "")
		}
	}
	b.report.atLeast("overload", "light tenant on time"+at, share(s.Tenants["light"]), 0.99, "%")
}

// brownout slows the upstream by three in the middle third of a run at
// capacity.
func (b *bench) brownout(ctx context.Context) error {
	b.report.head("Brownout")
	third := 2 * b.phase / 3
	s := scene{experiment: "brownout", system: spillway, length: 3 * third, tenants: []load.Tenant{tenant("a", capacity/2), tenant("b", capacity/2)},
		schedule: fmt.Sprintf("%v-%v brownout=3", third, 2*third), slow: slowed(3, third, 2*third)}
	runs, err := b.offer(ctx, s)
	if err != nil {
		return err
	}
	r := &runs[0]
	f := r.Summary.Figures
	b.report.table([]string{"load", "slower", "goodput", "possible", "of possible", "on time", "refused after", "late", "unfinished"}, [][]string{{
		fmt.Sprintf("%gx", r.Load), fmt.Sprintf("3x from %v to %v", third, 2*third), percent(value(f.GoodputRatio)), percent(r.Possible), percent(r.vsPossible()),
		percent(share(f)), seconds(f.RefusalMean), percent(float64(f.Late) / float64(max(1, f.Offered))), fmt.Sprintf("%.1f s", value(f.WastedSlotSeconds)),
	}})
	b.report.atLeast("brownout", "goodput of what was possible", r.vsPossible(), 0.95, "%")
	b.report.notes(runs)
	return nil
}

// fair offers the load of eight tenants of equal weight, whose share is 2
// requests a second each: two ask for five times that, four for exactly that,
// two for a fifth.
func (b *bench) fair(ctx context.Context) error {
	b.report.head("Fairness")
	equal := capacity / 8
	var tenants []load.Tenant
	for i := range 2 {
		tenants = append(tenants, tenant(fmt.Sprintf("greedy-%d", i+1), 5*equal))
	}
	for i := range 4 {
		tenants = append(tenants, tenant(fmt.Sprintf("fair-%d", i+1), equal))
	}
	for i := range 2 {
		tenants = append(tenants, tenant(fmt.Sprintf("light-%d", i+1), equal/5))
	}
	runs, err := b.offer(ctx, scene{experiment: "fair", system: spillway, tenants: tenants, length: 2 * b.phase})
	if err != nil {
		return err
	}
	s := &runs[0].Summary
	var rows [][]string
	var worst float64 // p95 wait of a light tenant
	var refused int64
	for _, t := range tenants {
		f := s.Tenants[t.Name]
		rows = append(rows, []string{t.Name, fmt.Sprintf("%.1f", t.Rate), fmt.Sprint(f.Offered), percent(share(f)), fmt.Sprint(f.RefusedAttempts), seconds(f.QueueP95),
			percent(value(f.GoodputRatio))})
		if t.Rate < equal {
			worst = max(worst, value(f.QueueP95))
			refused += f.RefusedAttempts
		}
	}
	b.report.table([]string{"tenant", "requests/s", "offered", "on time", "refused attempts", "p95 wait", "share of slot time"}, rows)
	b.report.say("\nGoodput %s; Jain's index of slot seconds over the max-min share: %.4f.", percent(value(s.GoodputRatio)), value(s.JainSlotSeconds))
	b.report.atMost("fair", "light tenants' p95 wait", worst, 0.5, "s")
	b.report.atMost("fair", "refused attempts of light tenants", float64(refused), 0, "")
	b.report.atLeast("fair", "Jain's index", value(s.JainSlotSeconds), 0.99, "")
	b.report.notes(runs)
	return nil
}

// priority offers interactive work for 80 % of the capacity, and batch work
// that can wait for 300 %.
func (b *bench) priority(ctx context.Context) error {
	b.report.head("Priority")
	app, jobs := tenant("app", 0.8*capacity), tenant("jobs", 3*capacity)
	app.Class, jobs.Class, jobs.Deadline = "interactive", "batch", 30*time.Second
	runs, err := b.offer(ctx, scene{experiment: "priority", system: spillway, tenants: []load.Tenant{app, jobs}, length: 2 * b.phase})
	if err != nil {
		return err
	}
	s := &runs[0].Summary
	var rows [][]string
	for _, t := range []load.Tenant{app, jobs} {
		f := s.Tenants[t.Name]
		rows = append(rows, []string{t.Class, fmt.Sprintf("%.0f %%", 100*t.Rate/capacity), t.Deadline.String(), fmt.Sprint(f.Offered), percent(share(f)), seconds(f.QueueP95),
			percent(value(f.GoodputRatio))})
	}
	b.report.table([]string{"class", "load", "deadline", "offered", "on time", "p95 wait", "share of slot time"}, rows)
	b.report.atLeast("priority", "interactive on time", share(s.Tenants["app"]), 0.99, "%")
	b.report.atLeast("priority", "goodput", value(s.GoodputRatio), 0.97, "%")
	b.report.notes(runs)
	return nil
}
