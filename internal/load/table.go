package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table returns the summary for people: a line for all callers, one a class and one a tenant where there are several,
// then statuses, errors and notes.
func (s Summary) Table() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "callers\toffered\ton time\tlate\trefused\terrors\tleft\tattempts\tp50\tp99\tttft p99\trefusal\tgoodput\t")
	line := func(name string, f Figures) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.2fx\t%s\t%s\t%s\t%s\t%s\t\n", name, f.Offered, f.OnTime, f.Late, f.Refused, f.Errors, f.Left,
			f.AttemptsPerOffered, inSeconds(f.LatencyP50), inSeconds(f.LatencyP99), inSeconds(f.TTFTP99), inSeconds(f.RefusalMean), inPercent(f.GoodputRatio))
	}
	line("all", s.Figures)
	for _, part := range []struct {
		kind string
		of   map[string]Figures
	}{{"class ", s.Classes}, {"tenant ", s.Tenants}} {
		if len(part.of) < 2 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(part.of)) {
			line(part.kind+name, part.of[name])
		}
	}
	w.Flush()

	fmt.Fprintf(&out, "\n%.1f on-time answers a second over %.1f s", s.GoodputRPS, s.Duration)
	if s.GoodputVsPossible != nil {
		fmt.Fprintf(&out, "; %s of the possible work", inPercent(s.GoodputVsPossible))
	}
	if s.WastedSlotSeconds != nil {
		fmt.Fprintf(&out, "; %.2f slot seconds for callers already gone", *s.WastedSlotSeconds)
	}
	if s.JainSlotSeconds != nil && len(s.Tenants) > 1 {
		fmt.Fprintf(&out, "; Jain's index %.3f", *s.JainSlotSeconds)
	}
	out.WriteString("\nanswers:")
	for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
		fmt.Fprintf(&out, " %s: %d", status, s.Statuses[status])
	}
	out.WriteByte('\n')
	for _, e := range s.FirstErrors {
		fmt.Fprintf(&out, "error: %s\n", e)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	return out.String()
}

func inSeconds(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3fs", *v)
}

func inPercent(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", *v*100)
}
