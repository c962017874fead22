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

// report prints the median and range of every figure, and the median and range
// of its ratio to the bare proxy in the same round.
func report(w io.Writer, proxies []proxy, results [][]sample) {
	bare := results[slices.IndexFunc(proxies, func(p proxy) bool { return p.name == bareName })]
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "\ncost of one\tproxy\tmedian\tmin..max\tto "+bareName+"\tmin..max\ttarget")
	for _, f := range figures {
		for i, p := range proxies {
			var value, ratio []float64
			for round, m := range results[i] {
				value = append(value, f.of(m))
				ratio = append(ratio, f.of(m)/f.of(bare[round]))
			}
			slices.Sort(value)
			slices.Sort(ratio)
			target := ""
			if p.name == "spillway" && f.target > 0 {
				target = fmt.Sprintf("<= %.1f", f.target)
			}
			fmt.Fprintf(t, "%s\t%s\t%.2f %s\t%.2f..%.2f\t%.2fx\t%.2f..%.2f\t%s\n", f.name, p.name,
				median(value), f.unit, value[0], value[len(value)-1],
				median(ratio), ratio[0], ratio[len(ratio)-1], target)
		}
	}
	t.Flush()
}

// median of sorted values.
func median(v []float64) float64 {
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
