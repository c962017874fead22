package top

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// seconds writes a time as short as a column of six: 40ms, 2.1s, 3m20s, 5h, 3d.
func seconds(s float64) string {
	d := time.Duration(min(s, math.MaxInt64/2e9) * float64(time.Second))
	switch {
	case s <= 0 || math.IsNaN(s):
		return "-"
	case d < time.Second:
		return fmt.Sprintf("%dms", max(1, d.Milliseconds()))
	case d < 9950*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < 100*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 100*time.Minute:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func rate(perSecond float64) string {
	switch {
	case perSecond <= 0 || math.IsNaN(perSecond):
		return "-"
	case perSecond < 9.95:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return strconv.FormatFloat(perSecond, 'f', 0, 64)
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 0, 64) + "%" }

func money(dollars float64) string {
	if dollars < 1000 {
		return "$" + strconv.FormatFloat(dollars, 'f', 2, 64)
	}
	return "$" + strconv.FormatFloat(dollars, 'f', 0, 64)
}

// of writes a figure with its bound, if it has one.
func of(n, bound int) string {
	if bound <= 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d/%d", n, bound)
}

func leveled(level int) string {
	if level == 0 {
		return "-"
	}
	return strconv.Itoa(level)
}

func levelInk(level int) ink {
	if level > 0 {
		return warn
	}
	return plain
}

var bars = []rune("▁▂▃▄▅▆▇█")

// curve draws figures over time, the last at the right, each against the
// highest. What is above nothing is never drawn as nothing.
func curve(figures []float64, width int) string {
	if extra := len(figures) - width; extra > 0 {
		figures = figures[extra:]
	}
	top := 0.0
	for _, f := range figures {
		top = max(top, f)
	}
	out := make([]rune, 0, width)
	for range width - len(figures) {
		out = append(out, ' ')
	}
	for _, f := range figures {
		bar := 0
		if f > 0 {
			bar = max(1, int(math.Round(f/top*float64(len(bars)-1))))
		}
		out = append(out, bars[bar])
	}
	return string(out)
}
