package main

import (
	"fmt"
	"os"

	"github.com/spillway-llm/spillway/bench/table"
	"github.com/spillway-llm/spillway/internal/sim"
)

// columns are those of the table of a workload.
var columns = []struct {
	head string
	unit unit
	of   func(*sim.Result) float64
}{
	{"on time", share100, func(r *sim.Result) float64 { return r.GoodputCount }},
	{"work", share100, func(r *sim.Result) float64 { return r.GoodputWork }},
	{"of oracle, count", share100, countOfOracle},
	{"of oracle, work", share100, workOfOracle},
	{"late", share100, late},
	{"expired", share100, expired},
	{"feasible", share100, feasible},
	{"over-shed", share100, overshed},
	{"refusal", seconds, refusal},
	{"wait", seconds, func(r *sim.Result) float64 { return r.WaitMean }},
	{predicts, seconds, waitError},
	{"Jain", number, func(r *sim.Result) float64 { return r.JainSlotSeconds }},
	{"attempts", number, func(r *sim.Result) float64 { return r.AttemptsPerOffered }},
	{"sends", number, sends},
}

// predicts is the head of a column that means something only for ours: the
// others predict nothing.
const predicts = "wait MAE"

// print writes the table of a play.
func (p *play) print() {
	rows := [][]string{{"policy"}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.head)
	}
	rows[0] = append(rows[0], "recovery")
	for _, name := range p.result.Order {
		r := p.result.Results[name]
		cells := []string{name}
		for _, c := range columns {
			cell := c.unit.String(c.of(r))
			if c.head == predicts && name != "ours" {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		recovery := "-"
		if r.Recovery != nil {
			recovery = fmt.Sprintf("%.0f s", *r.Recovery)
		}
		rows = append(rows, append(cells, recovery))
	}
	ours := p.ours()
	fmt.Printf("\n## %s\n\n%d requests in %.0f s, offered work %.3g of the capacity\n\n", p.title, ours.Offered, ours.Duration, ours.OfferedWork)
	table.Write(os.Stdout, rows)
}
