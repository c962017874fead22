package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// figure is one column of the report.
type figure struct {
	name, unit string
	target     float64 // of the gateway, as a ratio to the bare proxy; 0 for none
	of         func(sample) float64
}

var figures = []figure{
	{"request", "µs", 1.2, func(m sample) float64 { return float64(m.request) / 1e3 }},
	{"request, p50", "ms", 0, func(m sample) float64 { return float64(m.p50) / 1e6 }},
	{"request, p99", "ms", 0, func(m sample) float64 { return float64(m.p99) / 1e6 }},
	{"event", "µs", 1.0, func(m sample) float64 { return float64(m.event) / 1e3 }},
	{"open stream", "KiB", 1.0, func(m sample) float64 { return m.stream / 1024 }},
}

// mostWatched is the most that a request may cost with everything on, as a ratio
// to everything off.
const mostWatched = 1.25

// report prints the median and range of every figure, and the median and range
// of its ratio in the same round to what it is compared with.
func report(w io.Writer, proxies []proxy, results [][]sample) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "\ncost of one\tproxy\tmedian\tmin..max\tratio\tmin..max\tto\ttarget")
	for _, f := range figures {
		for i, p := range proxies {
			var value, ratio []float64
			base := results[slices.IndexFunc(proxies, func(o proxy) bool { return o.name == p.base })]
			for round, m := range results[i] {
				value = append(value, f.of(m))
				ratio = append(ratio, f.of(m)/f.of(base[round]))
			}
			slices.Sort(value)
			slices.Sort(ratio)
			target := ""
			switch {
			case p.name == "spillway" && f.target > 0:
				target = fmt.Sprintf("<= %.1f", f.target)
			case p.scrape && f.name == "request":
				target = fmt.Sprintf("<= %.2f", mostWatched)
			}
			fmt.Fprintf(t, "%s\t%s\t%.2f %s\t%.2f..%.2f\t%.2fx\t%.2f..%.2f\t%s\t%s\n", f.name, p.name,
				median(value), f.unit, value[0], value[len(value)-1],
				median(ratio), ratio[0], ratio[len(ratio)-1], p.base, target)
		}
	}
	t.Flush()
}

// median of sorted values.
func median(v []float64) float64 {
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
