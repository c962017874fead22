package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/internal/edge/store"
)

// usageFigures are the columns of figures: for the machine with its unit.
var usageFigures = []string{"requests", "input", "output", "cached", "cache_write", "reasoning", "cost_usd", "unpriced", "estimated"}

// figures are the columns of a line; a cost that is not known at all is
// unknown.
func figures(l store.Line, unknown string) []string {
	cost := dollars(l.Cost)
	if l.Unpriced == l.Requests {
		cost = unknown
	}
	var words []string
	for _, n := range []int64{l.Requests, l.Input, l.Output, l.Cached, l.CacheWrite, l.Reasoning} {
		words = append(words, strconv.FormatInt(n, 10))
	}
	return append(words, cost, strconv.FormatInt(l.Unpriced, 10), strconv.FormatInt(l.Estimated, 10))
}

// dollars writes micro-dollars exactly.
func dollars(micro int64) string {
	const dollar = 1_000_000
	sign, abs := "", uint64(micro)
	if micro < 0 {
		sign, abs = "-", -abs
	}
	return fmt.Sprintf("%s%d.%06d", sign, abs/dollar, abs%dollar)
}

func usageHeader(by []store.Dimension) (header []string) {
	for _, d := range by {
		header = append(header, d.String())
	}
	return append(header, usageFigures...)
}

// usageTable is for people: words to the left, figures to the right, and what
// all lines add up to.
func usageTable(by []store.Dimension, lines []store.Line) string {
	rows := [][]string{usageHeader(by)}
	var all store.Line
	for _, l := range lines {
		var row []string
		for _, word := range l.Group {
			row = append(row, printable(word))
		}
		rows = append(rows, append(row, figures(l, "-")...))
		all = sum(all, l)
	}
	if len(lines) > 1 {
		total := make([]string, len(by))
		if len(by) > 0 {
			total[0] = "total"
		}
		rows = append(rows, append(total, figures(all, "-")...))
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i < len(by):
				b.WriteString(cell + space)
			default:
				b.WriteString(space + cell)
			}
			if i < len(row)-1 {
				b.WriteString("  ")
			}
		}
		b.WriteByte('\n')
	}
	if all.Unpriced > 0 {
		fmt.Fprintf(&b, "\n%d of %d requests have no known price and are not in the cost.\n", all.Unpriced, all.Requests)
	}
	return b.String()
}

func sum(a, b store.Line) store.Line {
	return store.Line{Requests: a.Requests + b.Requests, Unpriced: a.Unpriced + b.Unpriced, Estimated: a.Estimated + b.Estimated, Input: a.Input + b.Input, Output: a.Output + b.Output,
		Cached: a.Cached + b.Cached, CacheWrite: a.CacheWrite + b.CacheWrite, Reasoning: a.Reasoning + b.Reasoning, Cost: a.Cost + b.Cost}
}

// printable keeps what callers wrote from moving the cursor. A word that is
// empty is written as a dash.
func printable(word string) string {
	if word == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, word)
}

func usageCSV(w io.Writer, by []store.Dimension, lines []store.Line) error {
	out := csv.NewWriter(w)
	out.Write(usageHeader(by))
	for _, l := range lines {
		out.Write(append(slices.Clone(l.Group), figures(l, "")...))
	}
	out.Flush()
	return out.Error()
}

// usageLine is a line in JSON. Words of dimensions that were not asked for are
// left out; a cost that is not known at all is null.
type usageLine struct {
	Tenant           *string `json:"tenant,omitempty"`
	Model            *string `json:"model,omitempty"`
	Day              *string `json:"day,omitempty"`
	Deployment       *string `json:"deployment,omitempty"`
	Key              *string `json:"key,omitempty"`
	User             *string `json:"user,omitempty"`
	Class            *string `json:"class,omitempty"`
	Rung             *string `json:"rung,omitempty"`
	Requests         int64   `json:"requests"`
	Input            int64   `json:"input"`
	Output           int64   `json:"output"`
	Cached           int64   `json:"cached"`
	CacheWrite       int64   `json:"cache_write"`
	Reasoning        int64   `json:"reasoning"`
	CostMicroDollars *int64  `json:"cost_micro_dollars"`
	Unpriced         int64   `json:"unpriced"`
	Estimated        int64   `json:"estimated"`
}

func usageJSON(w io.Writer, by []store.Dimension, lines []store.Line) error {
	out := []usageLine{}
	for _, l := range lines {
		u := usageLine{Requests: l.Requests, Input: l.Input, Output: l.Output, Cached: l.Cached, CacheWrite: l.CacheWrite, Reasoning: l.Reasoning, Unpriced: l.Unpriced, Estimated: l.Estimated}
		if l.Unpriced < l.Requests {
			u.CostMicroDollars = &l.Cost
		}
		words := map[store.Dimension]**string{store.ByTenant: &u.Tenant, store.ByModel: &u.Model, store.ByDay: &u.Day, store.ByDeployment: &u.Deployment,
			store.ByKey: &u.Key, store.ByUser: &u.User, store.ByClass: &u.Class, store.ByRung: &u.Rung}
		for i, d := range by {
			*words[d] = &l.Group[i]
		}
		out = append(out, u)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
