package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/load"
)

// report collects the figures and prints them as Markdown while they come.
type report struct {
	Started      time.Time `json:"started"`
	Machine      string    `json:"machine"`
	PhaseSeconds float64   `json:"phase_s"` // of one load level
	Bars         []bar     `json:"bars"`
	Runs         []run     `json:"runs"`
}

// run is one load on one system.
type run struct {
	Experiment string  `json:"experiment"`
	System     string  `json:"system"`
	Load       float64 `json:"load"` // offered over capacity
	// Possible is the share of its slot time that the upstream could at best have spent on answers in time; see possible.
	Possible float64      `json:"possible"`
	Summary  load.Summary `json:"summary"`
}

// vsPossible is the goodput over what was possible.
func (r *run) vsPossible() float64 {
	if r.Possible == 0 {
		return 0
	}
	return value(r.Summary.GoodputRatio) / r.Possible
}

// bar is a figure and the limit that it must keep.
type bar struct {
	Experiment string  `json:"experiment"`
	What       string  `json:"what"`
	Figure     float64 `json:"figure"`
	Limit      float64 `json:"limit"`
	AtMost     bool    `json:"at_most"` // else at least
	Unit       string  `json:"unit"`
	Passed     bool    `json:"passed"`
}

func (r *report) atLeast(experiment, what string, figure, limit float64, unit string) {
	r.Bars = append(r.Bars, bar{experiment, what, figure, limit, false, unit, figure >= limit})
}

func (r *report) atMost(experiment, what string, figure, limit float64, unit string) {
	r.Bars = append(r.Bars, bar{experiment, what, figure, limit, true, unit, figure <= limit})
}

func (r *report) passed() bool {
	for _, b := range r.Bars {
		if !b.Passed {
			return false
		}
	}
	return true
}

// disturbed reports whether the load generator had something to say about its
// own figures.
func (r *report) disturbed() bool {
	return slices.ContainsFunc(r.Runs, func(x run) bool { return len(x.Summary.Notes) > 0 })
}

// verdict prints the bars.
func (r *report) verdict() {
	r.head("Bars")
	var rows [][]string
	for _, b := range r.Bars {
		verdict, sense := "PASS", ">="
		if !b.Passed {
			verdict = "**FAIL**"
		}
		if b.AtMost {
			sense = "<="
		}
		rows = append(rows, []string{b.Experiment, b.What, measure(b.Figure, b.Unit), sense + " " + measure(b.Limit, b.Unit), verdict})
	}
	r.table([]string{"experiment", "what", "figure", "bar", "verdict"}, rows)
	if r.disturbed() {
		r.say("\nThe notes above say which runs the machine itself disturbed: their figures do not count.")
	}
}

func (r *report) head(title string) { fmt.Printf("\n## %s\n\n", title) }

func (r *report) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// table prints rows under columns of equal width, so that it can be read without being rendered.
func (r *report) table(columns []string, rows [][]string) {
	width := make([]int, len(columns))
	for _, row := range append([][]string{columns}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	line := func(cells []string) {
		for i, cell := range cells {
			fmt.Printf("| %s%s ", cell, strings.Repeat(" ", width[i]-len([]rune(cell))))
		}
		fmt.Println("|")
	}
	line(columns)
	for _, w := range width {
		fmt.Print("|", strings.Repeat("-", w+2))
	}
	fmt.Println("|")
	for _, row := range rows {
		line(row)
	}
}

// notes prints what the load generator has to say about its own figures.
func (r *report) notes(runs []run) {
	for _, x := range runs {
		for _, n := range x.Summary.Notes {
			r.say("note (%s, %gx): %s", x.System, x.Load, n)
		}
		for _, e := range x.Summary.FirstErrors {
			r.say("error (%s, %gx): %s", x.System, x.Load, e)
		}
	}
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// share is the part of the callers that were answered in time.
func share(f load.Figures) float64 {
	if f.Offered == 0 {
		return 0
	}
	return float64(f.OnTime) / float64(f.Offered)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }

// seconds writes a time that may not have been measured.
func seconds(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f s", *v)
}

func measure(v float64, unit string) string {
	switch unit {
	case "%":
		return percent(v)
	case "":
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
