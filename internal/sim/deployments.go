package sim

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"
)

// DeploymentFigures are what came of one deployment in a run whose deployments have
// upstreams of their own. Shares are from 0 to 1.
type DeploymentFigures struct {
	Name    string  `json:"name"`
	Model   string  `json:"model"`
	Calls   int64   `json:"calls"`
	Share   float64 `json:"share"`   // of all calls
	Limited float64 `json:"limited"` // calls that met a limit of the upstream, of its calls
	Failed  float64 `json:"failed"`  // calls that it failed or had no place for, of its calls
	Slots   float64 `json:"slots"`   // calls at once, on average
	// Used is what it accepted of what its limit allowed: requests or tokens,
	// whichever is nearer to it. nil without a limit.
	Used *float64 `json:"limit_used"`
	Cost float64  `json:"cost_usd"`
}

func (r *Result) deployment(x *record) DeploymentFigures {
	calls := float64(max(x.calls, 1))
	d := DeploymentFigures{
		Name: x.name, Model: x.model, Calls: x.calls, Share: float64(x.calls) / float64(max(callsOf(r.sites, 0), 1)),
		Limited: float64(x.limited) / calls, Failed: float64(x.broken+x.full) / calls, Slots: x.busy / r.Duration, Cost: float64(x.cost) / 1e6,
	}
	if used := r.used(x, 0); !math.IsNaN(used) {
		d.Used = &used
	}
	return d
}

// named are the sites that a pattern names; "" names all.
func (r *Result) named(pattern string) (xs []*record, err error) {
	var names []string
	for _, x := range r.sites {
		ok, err := path.Match(pattern, x.name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		if ok || pattern == "" {
			xs = append(xs, x)
		}
		names = append(names, x.name)
	}
	if len(xs) == 0 {
		return nil, unknownWord("deployment", pattern, names)
	}
	return xs, nil
}

func (x *record) from(after time.Duration) []siteSecond {
	return x.course[min(int(after/time.Second), len(x.course)):]
}

func callsOf(xs []*record, after time.Duration) (n int64) {
	for _, x := range xs {
		for _, s := range x.from(after) {
			n += int64(s.calls)
		}
	}
	return n
}

// used is the share of what the limit of a deployment's server allowed that it accepted from a
// time on, while it had a limit; NaN if it never had.
func (r *Result) used(of *record, after time.Duration) float64 {
	accepted, allowed := r.accepted(of, after, time.Duration(r.Duration*float64(time.Second)))
	best := math.NaN()
	for i := range accepted {
		if share := accepted[i] / allowed[i]; allowed[i] > 0 && !(share <= best) {
			best = share
		}
	}
	return best
}

// accepted is what the server of a deployment took and what its limit allowed between two times:
// requests and tokens. Seconds without a limit do not count.
func (r *Result) accepted(of *record, from, to time.Duration) (took, allowed [2]float64) {
	keys := 0
	for _, x := range r.sites {
		if x.server == of.server {
			keys = max(keys, x.keys)
		}
	}
	next, limit := 0, Limit{}
	for i := int(from / time.Second); time.Duration(i)*time.Second < to; i++ {
		for next < len(of.allowed) && !of.allowed[next].from.After(epoch.Add(time.Duration(i)*time.Second)) {
			limit = of.allowed[next].limit
			next++
		}
		requests, tokens := limit.second()
		allowed[0] += requests * float64(keys)
		allowed[1] += tokens * float64(keys)
		for _, x := range r.sites {
			if x.server != of.server || i >= len(x.course) {
				continue
			}
			if requests > 0 {
				took[0] += float64(x.course[i].accepted)
			}
			if tokens > 0 {
				took[1] += float64(x.course[i].tokens)
			}
		}
	}
	return took, allowed
}

// deploymentRows are a line for each deployment below a head; nil if they have
// no upstreams of their own.
func (r *Result) deploymentRows() [][]string {
	if len(r.Deployments) == 0 {
		return nil
	}
	rows := [][]string{{"deployment", "calls", "share", "limited", "failed", "slots", "used", "cost"}}
	for i := range r.Deployments {
		d := &r.Deployments[i]
		rows = append(rows, []string{
			d.Name, fmt.Sprint(d.Calls), inPercent(d.Share), inPercent(d.Limited), inPercent(d.Failed), fmt.Sprintf("%.2f", d.Slots), ifKnown(d.Used, inPercent), fmt.Sprintf("%.4f$", d.Cost),
		})
	}
	return rows
}

// drawCalls is the calls to each deployment over time.
func drawCalls(r *Result) (figure, error) {
	f := figure{Title: "Deployments", Note: "Calls a second to each deployment, by their start."}
	if len(r.Deployments) == 0 {
		return f, nil
	}
	a := axisOf(len(r.Course))
	var list []series
	var said []string
	for i, x := range r.sites {
		values := make([]float64, a.points)
		for j := range values {
			from := min(j*a.step, len(x.course))
			for _, s := range x.course[from:min(from+a.step, len(x.course))] {
				values[j] += float64(s.calls) / float64(a.step)
			}
		}
		list = append(list, series{x.name, palette[i%len(palette)], values})
		said = append(said, fmt.Sprintf("%s at most %.1f", x.name, peak(values)))
	}
	f.Alt = "Calls a second over time: " + strings.Join(said, ", ")
	var err error
	f.SVG, err = a.lines(list, false)
	return f, err
}

// callPlots are the calls to each deployment over time.
func (r *Result) callPlots() string {
	var b strings.Builder
	for i := range r.Deployments {
		x := r.sites[i]
		b.WriteByte('\n')
		b.WriteString(drawn("calls a second to "+x.name, r.Course, plotHeight/2, func(second int) float64 {
			if second < len(x.course) {
				return float64(x.course[second].calls)
			}
			return 0
		}))
	}
	return b.String()
}
