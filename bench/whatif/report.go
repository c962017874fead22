package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spillway-llm/spillway/bench/table"
	"github.com/spillway-llm/spillway/internal/ops"
)

// result is all runs of one case.
type result struct {
	trial *trial
	runs  []pair
}

// measures are what is compared, and the most that the means may be apart.
var measures = []struct {
	name string
	of   func(*ops.Outcome) float64
	unit string
	bar  float64 // points for per cent, a share for seconds and dollars; 0 is told and not judged
}{
	{"on time", func(o *ops.Outcome) float64 { return share(o.OnTime, o) }, "%", 3},
	{"refused", func(o *ops.Outcome) float64 { return share(o.Refused, o) }, "%", 3},
	{"goodput", func(o *ops.Outcome) float64 { return o.Goodput }, "/s", 0.05},
	{"p50 wait", func(o *ops.Outcome) float64 { return o.WaitP50 }, "s", 0.3},
	{"p99 wait", func(o *ops.Outcome) float64 { return o.WaitP99 }, "s", 0},
	{"p50 to first token", func(o *ops.Outcome) float64 { return o.FirstP50 }, "s", 0},
	{"cost", func(o *ops.Outcome) float64 { return o.Cost }, "$", 0},
}

// leastSeconds is how far times may always be apart.
const leastSeconds = 0.05

func share(n int64, o *ops.Outcome) float64 { return 100 * float64(n) / float64(max(o.Offered, 1)) }

// mean is that of a figure over the runs.
func (r *result) mean(of func(*pair) float64) (sum float64) {
	for i := range r.runs {
		sum += of(&r.runs[i]) / float64(len(r.runs))
	}
	return sum
}

// report writes a Markdown table and returns whether all bars were kept.
func report(w io.Writer, results []result) (passed bool) {
	passed = true
	rows := [][]string{{"change", "what", "today", "simulated", "foretold", "came", "apart", "bar", ""}}
	for i := range results {
		r := &results[i]
		for _, m := range measures {
			was := r.mean(func(p *pair) float64 { return m.of(&p.foretold.Measured) })
			now := r.mean(func(p *pair) float64 { return m.of(&p.foretold.Now) })
			then := r.mean(func(p *pair) float64 { return m.of(&p.foretold.Then) })
			came := r.mean(func(p *pair) float64 { return m.of(&p.came.Measured) })
			apart, bar := then-came, m.bar
			if m.unit != "%" {
				bar *= came
			}
			if m.unit == "s" && bar > 0 {
				bar = max(bar, leastSeconds)
			}
			row := []string{r.trial.name, m.name, quantity(was, m.unit), quantity(now, m.unit), quantity(then, m.unit), quantity(came, m.unit), difference(apart, m.unit), "", ""}
			if bar > 0 {
				row[7], row[8] = strings.TrimPrefix(difference(bar, m.unit), "+"), "PASS"
				if !(math.Abs(apart) <= bar) { // also what is no number
					row[8], passed = "**FAIL**", false
				}
			}
			rows = append(rows, row)
		}
	}
	table.Write(w, rows)
	fmt.Fprintln(w, "\ntoday: measured before the change; simulated: the same by the simulator; foretold: what it says of the change; came: measured after it.")
	took := 0.0
	for i := range results {
		took = max(took, results[i].mean(func(p *pair) float64 { return float64(p.foretold.Took) }))
	}
	fmt.Fprintf(w, "An answer took %.0f ms on average in the slowest case.\n", took)
	return passed
}

func quantity(v float64, unit string) string {
	switch unit {
	case "%":
		return fmt.Sprintf("%.1f %%", v)
	case "s":
		return fmt.Sprintf("%.3f s", v)
	case "$":
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("%.2f%s", v, unit)
}

func difference(v float64, unit string) string {
	switch unit {
	case "%":
		return fmt.Sprintf("%+.1f points", v)
	case "$":
		return fmt.Sprintf("%+.4f", v)
	case "s":
		return fmt.Sprintf("%+.3f s", v)
	}
	return fmt.Sprintf("%+.2f%s", v, unit)
}
