package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// column is one figure of a comparison: a word for its head, what it means,
// and its text. In a row for one tenant, result is nil.
type column struct {
	head, means string
	text        func(f *Figures, result *Result) string
}

// columns are those of the table and of the report.
var columns = []column{
	{"on time", "requests answered in time, of those offered", func(f *Figures, _ *Result) string { return inPercent(f.GoodputCount) }},
	{"work", "slot time of those answers, of all there was", func(f *Figures, _ *Result) string { return inPercent(f.GoodputWork) }},
	{"late", "answered or abandoned after the deadline, of those admitted", func(f *Figures, _ *Result) string { return inPercent(f.ServedLate) }},
	{"expired", "dropped after they had been queued, of those admitted", func(f *Figures, _ *Result) string { return inPercent(f.ExpiredInQueue) }},
	{"refused", "ended in a refusal, of those offered", func(f *Figures, _ *Result) string { return inPercent(f.Refused) }},
	{"feasible", "refused although they would have made it, of those offered", func(f *Figures, _ *Result) string { return inPercent(f.RejectedFeasible) }},
	{"over-shed", "refused or dropped beyond what the clairvoyant refuses, of those offered", func(f *Figures, _ *Result) string { return ifKnown(f.Overshed, inPercent) }},
	{"refusal", "mean time from an attempt to its refusal", func(f *Figures, _ *Result) string { return inSeconds(f.RefusalMean) }},
	{"wait MAE", "mean error of the predicted wait", func(f *Figures, _ *Result) string { return inSeconds(f.WaitMAE) }},
	{"Jain", "Jain's index over slot time by fair share: 1 is fair", func(_ *Figures, r *Result) string {
		if r == nil {
			return unknown
		}
		return fmt.Sprintf("%.3f", r.JainSlotSeconds)
	}},
	{"attempts", "attempts by request", func(f *Figures, _ *Result) string { return fmt.Sprintf("%.2f", f.AttemptsPerOffered) }},
	{"recovery", "from the end of the last disturbance to 95 % on time", func(_ *Figures, r *Result) string {
		if r == nil {
			return unknown
		}
		return ifKnown(r.Recovery, inSeconds)
	}},
}

const unknown = "-"

func inPercent(share float64) string { return fmt.Sprintf("%.2f%%", percent(share)) }
func inSeconds(s float64) string     { return fmt.Sprintf("%.2fs", s) }

func ifKnown(f *float64, text func(float64) string) string {
	if f == nil {
		return unknown
	}
	return text(*f)
}

// fewTenants is from how many tenants on the table leaves them out.
const fewTenants = 20

// Table puts the policies side by side as text, in their order, and below them
// the tenants under the first policy if there are several but not many.
func (c *Comparison) Table() string {
	var b strings.Builder
	b.WriteString(c.Policies())
	first := c.first()
	if first == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "%d requests in %.0f s; offered work %.1f %% of the capacity\n", first.Offered, first.Duration, percent(first.OfferedWork))
	if rows := first.deploymentRows(); rows != nil {
		b.WriteByte('\n')
		writeRows(&b, rows)
		fmt.Fprintf(&b, "deployments as under %s\n", c.Order[0])
	}
	if n := len(first.Tenants); n < 2 || n >= fewTenants {
		return b.String()
	}
	b.WriteByte('\n')
	rows := [][]string{heads("tenant")}
	for _, name := range slices.Sorted(maps.Keys(first.Tenants)) {
		f := first.Tenants[name]
		rows = append(rows, row(name, &f, nil))
	}
	writeRows(&b, rows)
	fmt.Fprintf(&b, "tenants as under %s\n", c.Order[0])
	return b.String()
}

// Policies is the table of the policies alone.
func (c *Comparison) Policies() string {
	var b strings.Builder
	writeRows(&b, c.policyRows())
	return b.String()
}

// first is the result of the first policy; nil if there is none.
func (c *Comparison) first() *Result {
	if len(c.Order) == 0 {
		return nil
	}
	return c.Results[c.Order[0]]
}

func (c *Comparison) policyRows() [][]string {
	rows := [][]string{heads("policy")}
	for _, name := range c.Order {
		rows = append(rows, row(name, &c.Results[name].Figures, c.Results[name]))
	}
	return rows
}

// heads are those of the columns, after the one of the names.
func heads(of string) []string {
	cells := []string{of}
	for _, col := range columns {
		cells = append(cells, col.head)
	}
	return cells
}

func row(name string, f *Figures, r *Result) []string {
	cells := []string{name}
	for _, col := range columns {
		cells = append(cells, col.text(f, r))
	}
	return cells
}

// writeRows aligns the first column left and the others right.
func writeRows(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, r := range rows {
		fmt.Fprintf(b, "%-*s", widths[0], r[0])
		for i, cell := range r[1:] {
			fmt.Fprintf(b, "  %*s", widths[i+1], cell)
		}
		b.WriteByte('\n')
	}
}
