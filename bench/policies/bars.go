package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/spillway-llm/spillway/bench/table"
	"github.com/spillway-llm/spillway/internal/sim"
)

// bar is a figure and the limit that it must keep.
type bar struct {
	item     string // where the bar comes from; they are printed in this order
	workload string
	what     string
	sense    sense
	limit    float64
	unit     unit
	of       func(*sim.Result) float64
	figure   float64
}

type sense string

const (
	atLeast sense = ">="
	atMost  sense = "<="
)

// unit says how a figure is written.
type unit uint8

const (
	number   unit = iota
	share100      // from 0 to 1, in per cent
	seconds
)

func (u unit) String(v float64) string {
	switch u {
	case share100:
		return fmt.Sprintf("%.2f %%", 100*v)
	case seconds:
		return fmt.Sprintf("%.2f s", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func (b *bar) passed() bool {
	if b.sense == atLeast {
		return b.figure >= b.limit
	}
	return b.figure <= b.limit
}

// bar adds one to a play, of our result.
func (p *play) bar(item, what string, s sense, limit float64, u unit, of func(*sim.Result) float64) {
	p.bars = append(p.bars, bar{item: item, what: what, sense: s, limit: limit, unit: u, of: of})
}

// ofOracle wants a part of the clairvoyant's goodput.
func (p *play) ofOracle(part float64) {
	p.bar("1", "goodput by count, of the clairvoyant's", atLeast, part, share100, countOfOracle)
	p.bar("1", "goodput by work, of the clairvoyant's", atLeast, part, share100, workOfOracle)
}

// The figures that bars are about.
func countOfOracle(r *sim.Result) float64 { return r.GoodputCount / *r.OracleCount }
func workOfOracle(r *sim.Result) float64  { return r.GoodputWork / *r.OracleWork }
func feasible(r *sim.Result) float64      { return r.RejectedFeasible }
func overshed(r *sim.Result) float64      { return *r.Overshed }
func late(r *sim.Result) float64          { return r.ServedLate }
func expired(r *sim.Result) float64       { return r.ExpiredInQueue }
func refusal(r *sim.Result) float64       { return r.RefusalMean }
func waitError(r *sim.Result) float64     { return r.WaitMAE }
func sends(r *sim.Result) float64         { return r.RunsPerOffered }

// allBars measures the bars of all plays, in the order of their items.
func allBars(plays []*play) (all []bar) {
	for _, p := range plays {
		for _, x := range p.bars {
			x.workload, x.figure = p.title, x.of(p.ours())
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b bar) int {
		return cmp.Or(cmp.Compare(len(a.item), len(b.item)), cmp.Compare(a.item, b.item))
	})
	return all
}

// verdict prints the bars and says whether all were kept.
func verdict(bars []bar) bool {
	failed := 0
	rows := [][]string{{"bar", "workload", "what", "figure", "limit", "verdict"}}
	for _, b := range bars {
		word := "PASS"
		if !b.passed() {
			word = "**FAIL**"
			failed++
		}
		rows = append(rows, []string{b.item, b.workload, b.what, b.unit.String(b.figure), string(b.sense) + " " + b.unit.String(b.limit), word})
	}
	fmt.Print("\n## Bars\n\n")
	table.Write(os.Stdout, rows)
	fmt.Printf("\n%d of %d passed\n", len(bars)-failed, len(bars))
	return failed == 0
}
