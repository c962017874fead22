package sim

import (
	"fmt"
	"strings"

	"github.com/guptarohit/asciigraph"
)

// Table is what every group experienced, as text.
func (r *Result) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %-11s %8s %8s %7s %7s %7s %8s %6s %8s %8s\n",
		"caller", "class", "offered", "on time", "late", "expired", "refused", "attempts", "slots", "p95 wait", "refusal")
	row := func(name, class string, f *Figures) {
		fmt.Fprintf(&b, "%-14s %-11s %8d %7.2f%% %6.2f%% %6.2f%% %6.2f%% %8.2f %6.2f %7.2fs %7.2fs\n", name, class, f.Offered,
			percent(f.GoodputCount), percent(f.ServedLate), percent(f.ExpiredInQueue), percent(f.Refused), f.AttemptsPerOffered,
			f.SlotSeconds/r.Duration, f.WaitP95, f.RefusalMean)
	}
	for i := range r.Groups {
		row(r.Groups[i].Name, r.Groups[i].Class.String(), &r.Groups[i].Figures)
	}
	if len(r.Groups) > 1 {
		row("all", "", &r.Figures)
	}
	fmt.Fprintf(&b, "slot time on answers in time %.1f %%, on others %.1f %%, offered %.1f %%; Jain %.3f",
		percent(r.GoodputWork), percent(r.WastedWork), percent(r.OfferedWork), r.JainSlotSeconds)
	if r.Recovery != nil {
		fmt.Fprintf(&b, "; recovered after %.0f s", *r.Recovery)
	}
	b.WriteByte('\n')
	if rows := r.deploymentRows(); rows != nil {
		writeRows(&b, rows)
	}
	if len(r.Ladders)+len(r.Spending) > 0 {
		fmt.Fprintf(&b, "answers in time stood for %.1f %% of all slot time, as they were asked; %.1f %% of all answers were degraded\n", percent(r.StoodFor), percent(r.Degraded))
		b.WriteString(r.stageText())
		b.WriteString(r.ladderText())
		b.WriteString(r.spendText())
	}
	return b.String()
}

const plotWidth, plotHeight = 60, 8

// Plot is the number of requests waiting over time, as text, the levels of
// ladders, and the calls to each deployment that has an upstream of its own.
func (r *Result) Plot() string {
	return drawn("requests waiting", r.Course, plotHeight, func(second int) float64 {
		n := 0
		for _, w := range r.Course[second].Waiting {
			n += int(w)
		}
		return float64(n)
	}) + r.levelPlots() + r.callPlots()
}

func drawn(caption string, course []Second, height int, f func(second int) float64) string {
	values := make([]float64, len(course))
	for i := range course {
		values[i] = f(i)
	}
	if len(values) == 0 {
		return ""
	}
	text := asciigraph.Plot(values, asciigraph.Height(height), asciigraph.Width(plotWidth), asciigraph.Precision(0),
		asciigraph.Caption(fmt.Sprintf("%s, over %d s", caption, len(values))))
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
