package sim

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-analyze/charts"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// series is one line, area or row of bars of a chart.
type series struct {
	name   string
	colour charts.Color
	values []float64
}

// Middle tones, which read on light and on dark ground.
var (
	blue   = charts.Color{R: 66, G: 133, B: 200, A: 255}
	green  = charts.Color{R: 52, G: 160, B: 100, A: 255}
	orange = charts.Color{R: 224, G: 134, B: 40, A: 255}
	red    = charts.Color{R: 208, G: 80, B: 80, A: 255}
	violet = charts.Color{R: 140, G: 105, B: 205, A: 255}
	teal   = charts.Color{R: 42, G: 160, B: 165, A: 255}
	brown  = charts.Color{R: 165, G: 115, B: 75, A: 255}
	grey   = charts.Color{R: 140, G: 145, B: 155, A: 255}

	palette = []charts.Color{blue, orange, red, violet, teal, brown, green, grey}
)

// The colours of text and rules are the page's: these stand for them until
// the picture is drawn, and are no colours of a series.
var (
	ink  = charts.Color{R: 1, G: 2, B: 3, A: 255}
	rule = charts.Color{R: 3, G: 2, B: 1, A: 255}

	paged = strings.NewReplacer(ink.String(), "var(--ink)", rule.String(), "var(--rule)")
)

const chartWidth, chartHeight = 860, 300

// mostPoints bounds the points of a line.
const mostPoints = 300

// axis is time in equal steps, with labels at round minutes.
type axis struct {
	step   int // seconds of a point
	points int
	labels int // shown, the first and the last included
	every  int // seconds between them
}

// labelSteps are seconds between labels that read well in minutes.
var labelSteps = []int{6, 12, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400}

const mostLabels = 8

// axisOf makes an axis for so many seconds.
func axisOf(seconds int) axis {
	seconds = max(seconds, 1)
	every := labelSteps[len(labelSteps)-1]
	for _, s := range labelSteps {
		if (seconds+s-1)/s < mostLabels {
			every = s
			break
		}
	}
	spans := (seconds + every - 1) / every
	for spans >= mostLabels { // weeks
		every *= 2
		spans = (seconds + every - 1) / every
	}
	a := axis{step: 1, labels: spans + 1, every: every}
	for every%a.step != 0 || spans*every/a.step >= mostPoints {
		a.step++
	}
	a.points = spans*every/a.step + 1
	return a
}

// texts are the labels in minutes of all points.
func (a axis) texts() []string {
	out := make([]string, a.points)
	for i := range out {
		out[i] = strconv.FormatFloat(math.Round(float64(i*a.step)/0.6)/100, 'f', -1, 64)
	}
	return out
}

// within are the seconds of a point; none beyond the end.
func (a axis) within(course []Second, point int) []Second {
	from := min(point*a.step, len(course))
	return course[from:min(from+a.step, len(course))]
}

// rate is the mean of a count over the seconds of each point.
func (a axis) rate(course []Second, count func(*Second) int32) []float64 {
	return a.mean(course, func(s *Second) (float64, int32) { return float64(count(s)), 1 })
}

// mean is sum by number over each point; a gap where there is none.
func (a axis) mean(course []Second, f func(*Second) (sum float64, n int32)) []float64 {
	out := make([]float64, a.points)
	for i := range out {
		sum, n := 0.0, int32(0)
		span := a.within(course, i)
		for j := range span {
			s, k := f(&span[j])
			sum, n = sum+s, n+k
		}
		out[i] = charts.GetNullValue()
		if n > 0 {
			out[i] = sum / float64(n)
		}
	}
	return out
}

// fullest is what waits by class, at the second of each point in which most does.
func (a axis) fullest(course []Second) (out [admit.NumClasses][]float64) {
	for class := range out {
		out[class] = make([]float64, a.points)
	}
	for i := range a.points {
		most := int32(-1)
		span := a.within(course, i)
		for j := range span {
			total := int32(0)
			for _, n := range span[j].Waiting {
				total += n
			}
			if total <= most {
				continue
			}
			most = total
			for class, n := range span[j].Waiting {
				out[class][i] = float64(n)
			}
		}
	}
	return out
}

// peak is the greatest value; gaps do not count.
func peak(values []float64) (most float64) {
	for _, v := range values {
		if v != charts.GetNullValue() {
			most = max(most, v)
		}
	}
	return most
}

// lines draws series over time, stacked as areas if so wanted.
func (a axis) lines(list []series, stacked bool) (template.HTML, error) {
	o := charts.LineChartOption{
		Theme: themeOf(list), Padding: charts.NewBox(8, 8, 28, 8), LineStrokeWidth: 1.8, Symbol: charts.Symbol{Shape: charts.SymbolNone},
		XAxis:  charts.XAxisOption{Labels: a.texts(), LabelCount: a.labels, BoundaryGap: charts.Ptr(false), Title: "minutes"},
		YAxis:  []charts.YAxisOption{{Min: charts.Ptr(0.0), ValueFormatter: shortNumber}},
		Legend: legend(),
	}
	for _, s := range list {
		values := s.values
		if stacked { // gaps would lift what lies above
			values = withoutGaps(values)
		}
		o.SeriesList = append(o.SeriesList, charts.LineSeries{Name: s.name, Values: values})
	}
	if stacked {
		o.StackSeries, o.FillOpacity = charts.Ptr(true), 150
	}
	p := painter(chartHeight)
	if err := p.LineChart(o); err != nil {
		return "", err
	}
	return svg(p)
}

// bars draws one row for each name, from the top, with a bar for each series.
// Values are in per cent; the scale ends at most, or where the values do if
// that is 0.
func bars(names []string, list []series, most float64) (template.HTML, error) {
	o := charts.BarChartOption{
		Theme: themeOf(list), Padding: charts.NewBox(8, 8, 40, 8), Horizontal: true,
		CategoryAxis: charts.CategoryAxisOption{Labels: upwards(shortened(names))},
		ValueAxis:    []charts.ValueAxisOption{{Min: charts.Ptr(0.0), ValueFormatter: shortNumber}},
		Legend:       legend(),
	}
	if most > 0 {
		o.ValueAxis[0].Max, o.ValueAxis[0].LabelCount = charts.Ptr(most), 6
	}
	for _, s := range list {
		o.SeriesList = append(o.SeriesList, charts.BarSeries{
			Name: s.name, Values: upwards(s.values), Label: charts.SeriesLabel{Show: charts.Ptr(true), ValueFormatter: oneDigit, FontStyle: charts.NewFontStyleWithSize(9)},
		})
	}
	p := painter(80 + 38*len(names))
	if err := p.BarChart(o); err != nil {
		return "", err
	}
	return svg(p)
}

// upwards turns a list over: the library draws rows from the bottom.
func upwards[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

func painter(height int) *charts.Painter {
	return charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: height})
}

func themeOf(list []series) charts.ColorPalette {
	o := charts.ThemeOption{AxisStrokeColor: rule, AxisSplitLineColor: rule, BackgroundColor: charts.ColorTransparent, TextColor: ink}
	for _, s := range list {
		o.SeriesColors = append(o.SeriesColors, s.colour)
	}
	return charts.MakeTheme(o)
}

func legend() charts.LegendOption {
	return charts.LegendOption{Offset: charts.OffsetLeft, Symbol: charts.SymbolSquare}
}

// svg is the picture, in the page's colours. The library escapes texts.
func svg(p *charts.Painter) (template.HTML, error) {
	b, err := p.Bytes()
	if err != nil {
		return "", err
	}
	return template.HTML(paged.Replace(string(b))), nil
}

func withoutGaps(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if v != charts.GetNullValue() {
			out[i] = v
		}
	}
	return out
}

// longestName is what a label beside a bar has room for.
const longestName = 24

func shortened(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		if r := []rune(n); len(r) > longestName {
			n = string(r[:longestName-1]) + "…"
		}
		out[i] = n
	}
	return out
}

func shortNumber(f float64) string {
	if f >= 10_000 {
		return strconv.FormatFloat(math.Round(f/100)/10, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

func oneDigit(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
