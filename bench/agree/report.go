package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spillway-llm/spillway/bench/table"
)

// figures are what is compared. Times are in seconds.
type figures struct {
	goodput  float64 // slot time of answers in time, of all slot time there was
	waitP95  float64 // of answers in time
	waitP99  float64
	attempts float64 // by request
	refused  float64 // share of the requests
	onTime   float64 // share of the requests
	service  float64 // slot time of an answer in time, as far as it lies in the run
}

// comparison is one load, live and simulated.
type comparison struct {
	load      float64
	live      []figures
	simulated [][]figures // of each live run
	notes     []string    // of the load generator
}

// measures are what is compared, in the order of the table.
var measures = []struct {
	name     string
	of       func(*figures) float64
	unit     string
	relative bool    // the difference is a share of the live figure, not absolute
	bar      float64 // the most that the difference may be; 0 is told and not judged
}{
	{"goodput", func(f *figures) float64 { return 100 * f.goodput }, "%", false, 2},
	{"p99 wait", func(f *figures) float64 { return f.waitP99 }, "s", true, 0.15},
	{"p95 wait", func(f *figures) float64 { return f.waitP95 }, "s", true, 0},
	{"attempts by request", func(f *figures) float64 { return f.attempts }, "", true, 0},
	{"refused", func(f *figures) float64 { return 100 * f.refused }, "%", false, 0},
	{"on time", func(f *figures) float64 { return 100 * f.onTime }, "%", false, 0},
	{"slot time by answer", func(f *figures) float64 { return f.service }, "s", true, 0},
}

// agreed is one measure of a comparison.
type agreed struct {
	live      float64 // mean of the live runs
	simulated float64 // mean of all simulated runs
	// chance is how far chance in the service times moves the mean of the live
	// runs: the standard deviation of simulated runs with the same arrivals, over
	// the root of the number of live runs.
	chance float64
	apart  float64 // simulated over live: as a share of live, or absolute
}

func (c *comparison) agreed(of func(*figures) float64, relative bool) (a agreed) {
	var squares, runs float64
	for i := range c.live {
		a.live += of(&c.live[i]) / float64(len(c.live))
		mean := 0.0
		for j := range c.simulated[i] {
			mean += of(&c.simulated[i][j]) / float64(len(c.simulated[i]))
		}
		for j := range c.simulated[i] {
			d := of(&c.simulated[i][j]) - mean
			squares += d * d
		}
		runs += float64(len(c.simulated[i]) - 1)
		a.simulated += mean / float64(len(c.live))
	}
	a.chance = math.Sqrt(squares / runs / float64(len(c.live)))
	a.apart = a.simulated - a.live
	if relative && a.apart != 0 {
		a.apart /= a.live
	}
	return a
}

// report writes a Markdown table and returns whether all bars were kept.
func report(w io.Writer, comparisons []*comparison) (passed bool) {
	passed = true
	rows := [][]string{{"load", "what", "live", "simulated", "chance", "apart", "bar", ""}}
	for _, c := range comparisons {
		for _, m := range measures {
			a := c.agreed(m.of, m.relative)
			row := []string{
				fmt.Sprintf("%gx", c.load), m.name, quantity(a.live, m.unit), quantity(a.simulated, m.unit), "±" + quantity(a.chance, m.unit),
				difference(a.apart, m.relative), "", "",
			}
			if m.bar > 0 {
				row[6], row[7] = strings.TrimPrefix(difference(m.bar, m.relative), "+"), "PASS"
				if !(math.Abs(a.apart) <= m.bar) { // also what is no number
					row[7], passed = "**FAIL**", false
				}
			}
			rows = append(rows, row)
		}
	}
	table.Write(w, rows)
	fmt.Fprintf(w, "\nchance: how far the service times that happened to be drawn move the mean of the live runs, as a standard deviation.\n")
	for _, c := range comparisons {
		for _, n := range c.notes {
			fmt.Fprintf(w, "note (%gx): %s\n", c.load, n)
		}
	}
	return passed
}

func quantity(v float64, unit string) string {
	switch unit {
	case "%":
		return fmt.Sprintf("%.1f %%", v)
	case "s":
		return fmt.Sprintf("%.3f s", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func difference(v float64, relative bool) string {
	if relative {
		return fmt.Sprintf("%+.1f %%", 100*v)
	}
	return fmt.Sprintf("%+.1f points", v)
}
