package gateway

import (
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// UpstreamReport is what one deployment is doing, for operators.
type UpstreamReport struct {
	Name        string           `json:"name"`
	Model       string           `json:"model"`
	Provider    string           `json:"provider,omitempty"`
	Region      string           `json:"region,omitempty"`
	Precision   string           `json:"precision,omitempty"`
	Tier        int              `json:"tier"`
	Reserve     bool             `json:"reserve,omitempty"`
	Concurrency int              `json:"concurrency"`           // configured or learnt
	Learnt      bool             `json:"concurrency_is_learnt"` //
	State       string           `json:"state"`                 // enabled, drained or disabled, as configured
	Usable      int              `json:"usable"`                // of it, what the breaker leaves
	Running     int              `json:"running"`
	Advice      int              `json:"useful_concurrency,omitzero"` // that the limits can feed, with headroom
	Breaker     BreakerReport    `json:"breaker"`
	Speed       float64          `json:"time_ratio"`                 // times of its calls over the model's mean
	Slower      float64          `json:"times_others_take,omitzero"` // they over those of the model's other deployments in use, the median; missing if it is alone
	First       *TimesReport     `json:"first_token_seconds,omitempty"`
	Total       *TimesReport     `json:"call_seconds,omitempty"`
	Keys        []KeyReport      `json:"keys"`
	Sent        int64            `json:"sent"`
	Good        int64            `json:"good"`
	Left        int64            `json:"caller_left"`
	Faults      map[string]int64 `json:"faults"`
	Limited     float64          `json:"limited_share"` // 429s over calls sent
	Input       int64            `json:"input_tokens"`
	Output      int64            `json:"output_tokens"`
	Cost        float64          `json:"cost_dollars"`
}

// TimesReport are quantiles of its last 128 to 256 good calls, from dispatch.
type TimesReport struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// BreakerReport is what the breaker of a deployment lets through.
type BreakerReport struct {
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Share  float64    `json:"share"`
	Step   int        `json:"step"`
	Until  *time.Time `json:"until,omitempty"`
	Warned bool       `json:"latency_warning,omitempty"`
}

// KeyReport is what one key of a deployment can still do.
type KeyReport struct {
	Key      int        `json:"key"`
	Paused   *time.Time `json:"paused_until,omitempty"`
	Refused  *time.Time `json:"refused_until,omitempty"`
	Requests *float64   `json:"requests_per_minute,omitempty"` // paced to; absent if nothing is known
	Tokens   *float64   `json:"tokens_per_minute,omitempty"`
	Today    int64      `json:"tokens_today"`
	Daily    int64      `json:"tokens_daily_limit,omitzero"`
}

// places are the deployments as the file has them, by name.
func (g *Gateway) places() map[string]config.Deployment {
	places := map[string]config.Deployment{}
	for _, m := range g.state.Load().config.Models {
		for _, d := range m.Deployments {
			places[d.Name] = d
		}
	}
	return places
}

// Upstreams says what every deployment is doing.
func (g *Gateway) Upstreams() []UpstreamReport { return g.reports(g.gate.views()) }

func (g *Gateway) reports(views []admit.View) []UpstreamReport {
	list := []UpstreamReport{}
	clock, places := g.gate.clock(), g.places()
	for d := range deployments(views) {
		c := places[d.Name]
		u := UpstreamReport{
			Name: d.Name, Model: d.Model, Provider: c.Provider, Region: c.Region, Precision: c.Precision, Tier: d.Tier, Reserve: d.Reserve,
			Concurrency: d.Slots, Learnt: d.Auto, State: c.State.String(), Usable: d.Calls, Running: d.Running, Advice: d.Concurrency, Speed: d.Ratio,
			First: timesOf(d.First), Total: timesOf(d.Total),
			Breaker: BreakerReport{State: d.State.String(), Reason: d.Why.String(), Share: d.Share, Step: d.Step, Until: clock.future(d.Opens), Warned: d.Warned},
			Sent:    d.Tally.Sent, Good: d.Tally.Good, Left: d.Tally.Left, Faults: map[string]int64{},
			Input: d.Tally.Input, Output: d.Tally.Output, Cost: float64(d.Tally.Cost) / 1e6,
		}
		for f, n := range d.Tally.Faults {
			if n > 0 {
				u.Faults[admit.Fault(f).String()] = n
			}
		}
		if d.Tally.Sent > 0 {
			u.Limited = float64(d.Tally.Faults[admit.Throttled]) / float64(d.Tally.Sent)
		}
		for i, k := range d.Keys {
			u.Keys = append(u.Keys, KeyReport{
				Key: i, Paused: clock.future(k.Paused), Refused: clock.future(k.Denied),
				Requests: minute(k.Requests), Tokens: minute(k.Tokens), Today: k.Today, Daily: k.Daily,
			})
		}
		list = append(list, u)
	}
	compare(list)
	return list
}

// compare says of each deployment in use how long its calls take beside those of
// the others. The model's mean does not: where one of two gets slow, the other
// takes the calls.
func compare(list []UpstreamReport) {
	known := func(u *UpstreamReport) bool { return u.State == config.Enabled.String() && u.Good > 0 && u.Speed > 0 }
	for begin, end := 0, 0; begin < len(list); begin = end { // those of a model are together
		for end = begin; end < len(list) && list[end].Model == list[begin].Model; end++ {
		}
		for i := begin; i < end; i++ {
			var others []float64
			for j := begin; j < end; j++ {
				if j != i && known(&list[j]) {
					others = append(others, list[j].Speed)
				}
			}
			if u := &list[i]; len(others) > 0 && known(u) {
				slices.Sort(others)
				u.Slower = math.Round(100*u.Speed/others[(len(others)-1)/2]) / 100
			}
		}
	}
}

func timesOf(q admit.Quantiles) *TimesReport {
	if q == (admit.Quantiles{}) {
		return nil
	}
	seconds := func(d time.Duration) float64 { return math.Round(d.Seconds()*1e4) / 1e4 }
	return &TimesReport{seconds(q.P50), seconds(q.P95), seconds(q.P99)}
}

func minute(perSecond float64) *float64 {
	if math.IsInf(perSecond, 0) || math.IsNaN(perSecond) {
		return nil
	}
	v := math.Round(perSecond*60*10) / 10
	return &v
}

// deployments are those of all models, one after the other.
func deployments(views []admit.View) iter.Seq[*admit.DeploymentState] {
	return func(yield func(*admit.DeploymentState) bool) {
		for i := range views {
			for j := range views[i].Deployments {
				if !yield(&views[i].Deployments[j]) {
					return
				}
			}
		}
	}
}

// upstreamStates is the same for metrics.
func (g *Gateway) upstreamStates(views []admit.View) []telemetry.UpstreamState {
	clock, places := g.gate.clock(), g.places()
	var list []telemetry.UpstreamState
	for d := range deployments(views) {
		c := places[d.Name]
		u := telemetry.UpstreamState{
			Deployment: d.Name, Model: d.Model, Provider: c.Provider, Region: c.Region, Precision: c.Precision, Tier: tierName(d.Tier, d.Reserve),
			Slots: d.Slots, Usable: d.Calls, Running: d.Running, State: d.State.String(), Share: d.Share, Step: d.Step,
			Ratio: d.Ratio, Sent: d.Tally.Sent, Good: d.Tally.Good, Limited: d.Tally.Faults[admit.Throttled], Faults: map[string]int64{},
			Input: d.Tally.Input, Output: d.Tally.Output, Cost: d.Tally.Cost,
		}
		if c.State == config.Drained {
			u.Slots = 0 // out of use on purpose: nothing is missing
		}
		for f, n := range d.Tally.Faults {
			if f > 0 {
				u.Faults[admit.Fault(f).String()] = n
			}
		}
		for i, k := range d.Keys {
			if left := clock.left(k.Paused); i == 0 || left < u.Paused {
				u.Paused = left
			}
			if clock.left(k.Denied) > 0 {
				u.Refused++
			}
		}
		list = append(list, u)
	}
	return list
}

// tierName is the place in the order of preference as a label.
func tierName(tier int, reserve bool) string {
	if reserve {
		return "reserve"
	}
	return strconv.Itoa(tier)
}
