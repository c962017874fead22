package admit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"
)

// measures are the words that a scenario may expect something of. who is the
// callers meant; from is where the part of the run that counts begins, for
// measures by request. Shares are in per cent, times in seconds.
var measures = map[string]func(w *world, who []*caller, from time.Time) float64{
	"goodput": func(w *world, who []*caller, _ time.Time) float64 { return percent(sum(who, onTimeWork), w.able()) },
	"slots":   func(w *world, who []*caller, _ time.Time) float64 { return percent(sum(who, onTimeWork), w.capacity()) },
	"wasted":  func(w *world, who []*caller, _ time.Time) float64 { return percent(sum(who, wastedWork), w.capacity()) },
	"ontime":  (*world).onTimeShare,
	"late": func(_ *world, who []*caller, _ time.Time) float64 {
		return sum(who, func(a *caller) float64 { return float64(a.late) })
	},
	"refusals": func(_ *world, who []*caller, _ time.Time) float64 { return sum(who, refusals) },
	"attempts": func(_ *world, who []*caller, _ time.Time) float64 { return sum(who, attempts) / sum(who, offered) },
	"upstream": func(_ *world, who []*caller, _ time.Time) float64 {
		return sum(who, func(a *caller) float64 { return float64(a.runs) }) / sum(who, offered)
	},
	"refusal-mean": func(_ *world, who []*caller, _ time.Time) float64 { return meanRefusal(who) },
	"wait-p95":     func(_ *world, who []*caller, _ time.Time) float64 { return waitQuantile(who, 95).Seconds() },
	"wait-p99":     func(_ *world, who []*caller, _ time.Time) float64 { return waitQuantile(who, 99).Seconds() },
	"jain":         func(w *world, who []*caller, _ time.Time) float64 { return w.jain(who) },
}

func onTimeWork(a *caller) float64 { return a.work }
func wastedWork(a *caller) float64 { return a.wasted }
func refusals(a *caller) float64   { return float64(a.refusals) }
func attempts(a *caller) float64   { return float64(a.attempts) }
func offered(a *caller) float64    { return float64(a.offered) }

func sum(who []*caller, f func(*caller) float64) (s float64) {
	for _, a := range who {
		s += f(a)
	}
	return s
}

func percent(part, whole float64) float64 { return 100 * part / max(whole, 1e-9) }

// capacity is the slot-seconds there were.
func (w *world) capacity() (s float64) {
	for _, x := range w.seconds {
		s += float64(x.slots)
	}
	return s
}

// able is the slot-seconds that an upstream which never idles while anything
// fresh is wanted could have spent: what was asked, carried over for as long
// as the most patient caller can wait for a start.
func (w *world) able() (s float64) {
	var patience time.Duration
	for _, a := range w.callers {
		patience = max(patience, a.deadline-w.mean) // the latest start
	}
	backlog := 0.0
	for _, x := range w.seconds {
		backlog += x.asked
		served := min(backlog, float64(x.slots))
		s += served
		backlog = min(backlog-served, float64(x.slots)*patience.Seconds())
	}
	return s
}

// onTimeShare leaves those out who left before their deadline.
func (w *world) onTimeShare(who []*caller, from time.Time) float64 {
	asked, got := 0.0, 0.0
	for _, o := range w.history {
		if slices.Contains(who, o.caller) && !o.intended.Before(from) {
			asked++
			if o.onTime {
				got++
			}
		}
	}
	return percent(got, asked-sum(who, func(a *caller) float64 { return float64(a.gone) }))
}

func meanRefusal(who []*caller) float64 {
	total := 0.0
	for _, a := range who {
		total += a.toRefusal.Seconds()
	}
	return total / max(sum(who, refusals), 1)
}

func waitQuantile(who []*caller, percent int) time.Duration {
	var all []time.Duration
	for _, a := range who {
		all = append(all, a.waits...)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*percent/100]
}

// jain is Jain's index over slot time by weighted max-min share.
func (w *world) jain(who []*caller) float64 {
	type demand struct{ weight, slots float64 }
	demands := make([]demand, len(who))
	for i, a := range who {
		demands[i] = demand{1, float64(a.offered) * w.mean.Seconds()}
		for _, t := range w.policy.Tenants {
			if t.Name == a.tenant {
				demands[i].weight = float64(t.Weight)
			}
		}
	}
	byNeed := slices.Clone(demands)
	slices.SortFunc(byNeed, func(a, b demand) int { return int((a.slots/a.weight - b.slots/b.weight) * 1e6) })
	left, weight, level := w.capacity(), 0.0, 0.0
	for _, d := range byNeed {
		weight += d.weight
	}
	for _, d := range byNeed {
		level = left / weight
		if d.slots >= d.weight*level {
			break
		}
		left, weight = left-d.slots, weight-d.weight
	}
	total, squares := 0.0, 0.0
	for i, a := range who {
		x := a.work / min(demands[i].slots, demands[i].weight*level)
		total, squares = total+x, squares+x*x
	}
	return total * total / (float64(len(who)) * squares)
}

// report is the story's outcome as text: a table and a plot.
func (w *world) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %-11s %7s %7s %5s %8s %8s %8s %6s %8s %8s\n",
		"caller", "class", "offered", "on time", "late", "refusals", "attempts", "upstream", "slots", "p95 wait", "refusal")
	for _, a := range w.callers {
		who := []*caller{a}
		n := float64(max(a.offered, 1))
		fmt.Fprintf(&b, "%-12s %-11s %7d %7d %5d %8d %8.2f %8.2f %6.2f %7.2fs %7.2fs\n", a.name, a.class, a.offered, a.onTime, a.late, a.refusals,
			float64(a.attempts)/n, float64(a.runs)/n, a.work/w.end.Sub(t0).Seconds(), waitQuantile(who, 95).Seconds(), meanRefusal(who))
	}
	fmt.Fprintf(&b, "slot time on answers in time: %.1f %%, of what could be done: %.1f %%, on others: %.1f %%\n\n",
		measures["slots"](w, w.callers, t0), measures["goodput"](w, w.callers, t0), measures["wasted"](w, w.callers, t0))
	waiting := make([]float64, len(w.seconds))
	for i, s := range w.seconds {
		waiting[i] = float64(s.waiting)
	}
	plot := asciigraph.Plot(waiting, asciigraph.Height(8), asciigraph.Width(60), asciigraph.Precision(0), asciigraph.Caption("requests waiting, by second"))
	for line := range strings.Lines(plot) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
