package sim

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Report writes one HTML page with the course of the first policy's run, who
// got what, and all policies side by side. The page needs no network and no
// script.
func (c *Comparison) Report(w io.Writer) error {
	r := c.first()
	if r == nil {
		return fmt.Errorf("report: no policy was played")
	}
	p := page{
		Policy: c.Order[0], Offered: r.Offered, Span: (time.Duration(r.Duration) * time.Second).String(), Work: inPercent(r.OfferedWork),
		Tiles:     tiles(r),
		Policies:  c.policyRows(),
		Tenants:   r.tenantRows(),
		Upstreams: r.deploymentRows(),
		Columns:   explained(),
	}
	for _, draw := range []func() (figure, error){
		func() (figure, error) { return drawRequests(r) },
		func() (figure, error) { return drawReasons(r) },
		func() (figure, error) { return drawWaits(r) },
		func() (figure, error) { return drawQueues(r) },
		func() (figure, error) { return drawTenants(r) },
		func() (figure, error) { return drawCalls(r) },
		func() (figure, error) { return c.drawPolicies() },
	} {
		f, err := draw()
		if err != nil {
			return fmt.Errorf("report: draw %q: %w", f.Title, err)
		}
		if f.SVG != "" {
			p.Figures = append(p.Figures, f)
		}
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// page is what the template shows.
type page struct {
	Policy, Span, Work string
	Offered            int64
	Tiles              []tile
	Figures            []figure
	Policies, Tenants  [][]string // the first row is the head
	Upstreams          [][]string
	Columns            []explanation
}

type tile struct{ Name, Value string }

type explanation struct{ Head, Means string }

// figure is one picture. Without a picture there is nothing to show.
type figure struct {
	Title, Note, Alt string
	SVG              template.HTML
}

func tiles(r *Result) []tile {
	return []tile{
		{"answered in time", inPercent(r.GoodputCount)},
		{"slot time on those answers", inPercent(r.GoodputWork)},
		{"refused", inPercent(r.Refused)},
		{"late", inPercent(r.ServedLate)},
		{"mean time to a refusal", inSeconds(r.RefusalMean)},
		{"mean wait", inSeconds(r.WaitMean)},
	}
}

func explained() (out []explanation) {
	for _, c := range columns {
		out = append(out, explanation{c.head, c.means})
	}
	return out
}

// shownTenants bounds the tenants of the report.
const shownTenants = 20

// largest are the tenants with the most demand, at most shownTenants.
func (r *Result) largest() []string {
	names := slices.SortedFunc(maps.Keys(r.Tenants), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Tenants[b].OfferedWork, r.Tenants[a].OfferedWork), strings.Compare(a, b))
	})
	return names[:min(len(names), shownTenants)]
}

func (r *Result) tenantRows() [][]string {
	if len(r.Tenants) < 2 {
		return nil
	}
	rows := [][]string{heads("tenant")}
	for _, name := range r.largest() {
		f := r.Tenants[name]
		rows = append(rows, row(name, &f, nil))
	}
	return rows
}

func drawRequests(r *Result) (figure, error) {
	a := axisOf(len(r.Course))
	offered, onTime := a.rate(r.Course, func(s *Second) int32 { return s.Offered }), a.rate(r.Course, func(s *Second) int32 { return s.OnTime })
	refused := a.rate(r.Course, func(s *Second) int32 { return s.Refused })
	f := figure{
		Title: "Requests", Note: "Requests a second, by the time at which they were made. What is neither on time nor refused was late, left or failed.",
		Alt: fmt.Sprintf("Over time: offered at most %.1f a second, answered in time at most %.1f, refused at most %.1f", peak(offered), peak(onTime), peak(refused)),
	}
	var err error
	f.SVG, err = a.lines([]series{{"offered", grey, offered}, {"answered in time", green, onTime}, {"refused", red, refused}}, false)
	return f, err
}

func drawReasons(r *Result) (figure, error) {
	a := axisOf(len(r.Course))
	f := figure{Title: "Refusals by reason", Note: "Refused requests a second, by the stage that decided last. Dropped from the queue: late, evicted."}
	var list []series
	var names []string
	for stage := range admit.Stage(admit.NumStages) {
		values := a.rate(r.Course, func(s *Second) int32 { return s.Stages[stage] })
		if peak(values) == 0 {
			continue
		}
		list = append(list, series{stage.String(), palette[len(list)%len(palette)], values})
		names = append(names, stage.String())
	}
	if len(list) == 0 {
		return f, nil
	}
	f.Alt = "Refusals a second over time, by reason: " + strings.Join(names, ", ")
	var err error
	f.SVG, err = a.lines(list, true)
	return f, err
}

func drawWaits(r *Result) (figure, error) {
	a := axisOf(len(r.Course))
	predicted := a.mean(r.Course, func(s *Second) (float64, int32) { return float64(s.Predicted), s.Started })
	actual := a.mean(r.Course, func(s *Second) (float64, int32) { return float64(s.Real), s.Started })
	f := figure{
		Title: "Waits", Note: "Seconds in the queue, of the attempts that started, by the time at which they were made.",
		Alt: fmt.Sprintf("Mean waits over time: predicted at most %.1f seconds, real at most %.1f; mean error %.2f", peak(predicted), peak(actual), r.WaitMAE),
	}
	var err error
	f.SVG, err = a.lines([]series{{"predicted", orange, predicted}, {"real", blue, actual}}, false)
	return f, err
}

func drawQueues(r *Result) (figure, error) {
	a := axisOf(len(r.Course))
	f := figure{Title: "Queue", Note: "Requests waiting, by class, at the fullest second of each point."}
	var list []series
	most := 0.0
	for class, values := range a.fullest(r.Course) {
		if peak(values) == 0 {
			continue
		}
		most = max(most, peak(values))
		list = append(list, series{admit.Class(class).String(), palette[class%len(palette)], values})
	}
	if len(list) == 0 {
		return f, nil
	}
	f.Alt = fmt.Sprintf("Waiting requests over time by class; at most %.0f of one class", most)
	var err error
	f.SVG, err = a.lines(list, true)
	return f, err
}

func drawTenants(r *Result) (figure, error) {
	f := figure{
		Title: "Tenants", Note: fmt.Sprintf("Slot time in per cent of the capacity: what a tenant asked for, and what it got in answers in time. Jain's index over shares is %.3f.", r.JainSlotSeconds),
	}
	names := r.largest()
	if len(names) < 2 {
		return f, nil
	}
	if len(r.Tenants) > len(names) {
		f.Note += fmt.Sprintf(" The %d with the most demand, of %d.", len(names), len(r.Tenants))
	}
	var demand, got []float64
	for _, n := range names {
		demand, got = append(demand, percent(r.Tenants[n].OfferedWork)), append(got, percent(r.Tenants[n].GoodputWork))
	}
	f.Alt = fmt.Sprintf("Demand and service of %d tenants; the largest asked for %.1f %% of the capacity and got %.1f %%", len(names), demand[0], got[0])
	var err error
	f.SVG, err = bars(names, []series{{"asked for", grey, demand}, {"got in time", green, got}}, 0)
	return f, err
}

func (c *Comparison) drawPolicies() (figure, error) {
	f := figure{Title: "Policies", Note: "The same requests under each policy: per cent of requests answered in time, and of slot time that went into those answers."}
	var count, work []float64
	var said []string
	for _, name := range c.Order {
		r := c.Results[name]
		count, work = append(count, percent(r.GoodputCount)), append(work, percent(r.GoodputWork))
		said = append(said, fmt.Sprintf("%s %s", name, inPercent(r.GoodputCount)))
	}
	f.Alt = "Answered in time: " + strings.Join(said, ", ")
	var err error
	f.SVG, err = bars(c.Order, []series{{"on time", green, count}, {"work", blue, work}}, 100)
	return f, err
}
