package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// hooks are the calls to the operator's own address when more capacity is
// needed. They are few, and lost when one is under way.
type hooks struct {
	mu   sync.Mutex
	last map[string]time.Time // by deployment
	busy bool
}

// hookTimeout bounds one call.
const hookTimeout = 10 * time.Second

// watch tells the operator what happens to deployments: each change once in
// the log and in the metrics, and the wish for more capacity to the webhook.
func (g *Gateway) watch() {
	for {
		select {
		case <-g.life.Done():
			return
		case c := <-g.gate.Changes():
			g.changed(&c)
		}
	}
}

func (g *Gateway) changed(c *admit.Change) {
	log := g.log.Slog()
	switch {
	case c.ScaleUp:
		g.metrics.ScaleUp(c.Deployment)
		log.Warn("a call took so long that more capacity is needed", "deployment", c.Deployment)
		g.hook(c)
	case c.Warning:
		log.Warn("latency is near the point where the breaker opens", "deployment", c.Deployment)
	case c.To.String() == "open":
		g.metrics.BreakerOpened(c.Deployment, c.Why.String())
		log.Warn("breaker opened", "deployment", c.Deployment, "reason", c.Why.String(), "was", c.From.String(), "until", c.Until.Format(time.RFC3339))
	default:
		log.Info("breaker "+c.To.String(), "deployment", c.Deployment, "was", c.From.String())
	}
}

// hook posts the wish for more capacity, at most once in the configured time
// for each deployment.
func (g *Gateway) hook(c *admit.Change) {
	s := g.state.Load().config.ScaleUp
	if s.Webhook == "" {
		return
	}
	h := &g.hooks
	h.mu.Lock()
	defer h.mu.Unlock()
	if last, ok := h.last[c.Deployment]; h.busy || ok && time.Since(last) < s.Every {
		return
	}
	if h.last == nil {
		h.last = map[string]time.Time{}
	}
	h.last[c.Deployment], h.busy = time.Now(), true
	go func() {
		err := post(g.life, s, c)
		h.mu.Lock()
		h.busy = false
		h.mu.Unlock()
		if err != nil {
			g.log.Slog().Warn("call the scale-up webhook", "error", err.Error())
		}
	}()
}

// post calls the webhook. Its address may hold a secret, so errors leave it out.
func post(ctx context.Context, s config.ScaleUp, c *admit.Change) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"event": "scale_up", "deployment": c.Deployment, "at": c.At.Format(time.RFC3339Nano)})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(s.Webhook), bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be called")
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return errors.New("it answered " + resp.Status)
	}
	return nil
}

// upstreamReport is one deployment in the answer of GET /admin/v1/upstreams.
type upstreamReport struct {
	Name        string           `json:"name"`
	Model       string           `json:"model"`
	Provider    string           `json:"provider,omitempty"`
	Region      string           `json:"region,omitempty"`
	Precision   string           `json:"precision,omitempty"`
	Tier        int              `json:"tier"`
	Reserve     bool             `json:"reserve,omitempty"`
	Concurrency int              `json:"concurrency"`           // configured or learnt
	Learnt      bool             `json:"concurrency_is_learnt"` //
	Usable      int              `json:"usable"`                // of it, what the breaker leaves
	Running     int              `json:"running"`
	Advice      int              `json:"useful_concurrency,omitempty"` // that the limits can feed, with headroom
	Breaker     breakerReport    `json:"breaker"`
	Speed       float64          `json:"time_ratio"` // times of its calls over the model's mean
	Keys        []keyReport      `json:"keys"`
	Sent        int64            `json:"sent"`
	Good        int64            `json:"good"`
	Left        int64            `json:"caller_left"`
	Faults      map[string]int64 `json:"faults"`
	Limited     float64          `json:"limited_share"` // 429s over calls sent
	Input       int64            `json:"input_tokens"`
	Output      int64            `json:"output_tokens"`
	Cost        float64          `json:"cost_dollars"`
}

type breakerReport struct {
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Share  float64    `json:"share"`
	Step   int        `json:"step"`
	Until  *time.Time `json:"until,omitempty"`
	Warned bool       `json:"latency_warning,omitempty"`
}

type keyReport struct {
	Key      int        `json:"key"`
	Paused   *time.Time `json:"paused_until,omitempty"`
	Refused  *time.Time `json:"refused_until,omitempty"`
	Requests *float64   `json:"requests_per_minute,omitempty"` // paced to; absent if nothing is known
	Tokens   *float64   `json:"tokens_per_minute,omitempty"`
	Today    int64      `json:"tokens_today"`
	Daily    int64      `json:"tokens_daily_limit,omitempty"`
}

// upstreams answers what every deployment is doing.
func (g *Gateway) upstreams(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	places := map[string]config.Deployment{}
	for _, m := range g.state.Load().config.Models {
		for _, d := range m.Deployments {
			places[d.Name] = d
		}
	}
	report := struct {
		Upstreams []upstreamReport `json:"upstreams"`
	}{Upstreams: []upstreamReport{}}
	for _, d := range g.gate.Snapshot().Deployments {
		c := places[d.Name]
		u := upstreamReport{
			Name: d.Name, Model: d.Model, Provider: c.Provider, Region: c.Region, Precision: c.Precision, Tier: d.Tier, Reserve: d.Reserve,
			Concurrency: d.Slots, Learnt: d.Auto, Usable: d.Calls, Running: d.Running, Advice: d.Concurrency, Speed: d.Ratio,
			Breaker: breakerReport{State: d.State.String(), Reason: d.Why.String(), Share: d.Share, Step: d.Step, Until: future(now, d.Opens), Warned: d.Warned},
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
			u.Keys = append(u.Keys, keyReport{
				Key: i, Paused: future(now, k.Paused), Refused: future(now, k.Denied),
				Requests: minute(k.Requests), Tokens: minute(k.Tokens), Today: k.Today, Daily: k.Daily,
			})
		}
		report.Upstreams = append(report.Upstreams, u)
	}
	writeJSON(w, report)
}

func future(now, t time.Time) *time.Time {
	if !t.After(now) {
		return nil
	}
	t = t.Round(0)
	return &t
}

func minute(perSecond float64) *float64 {
	if math.IsInf(perSecond, 0) || math.IsNaN(perSecond) {
		return nil
	}
	v := math.Round(perSecond*60*10) / 10
	return &v
}

// upstreamStates is the same for metrics.
func (g *Gateway) upstreamStates() []telemetry.UpstreamState {
	now := time.Now()
	var list []telemetry.UpstreamState
	for _, d := range g.gate.Snapshot().Deployments {
		u := telemetry.UpstreamState{
			Deployment: d.Name, Model: d.Model, Slots: d.Slots, Usable: d.Calls, Running: d.Running, State: d.State.String(), Share: d.Share, Step: d.Step,
			Ratio: d.Ratio, Sent: d.Tally.Sent, Good: d.Tally.Good, Limited: d.Tally.Faults[admit.Throttled], Faults: map[string]int64{},
			Input: d.Tally.Input, Output: d.Tally.Output, Cost: d.Tally.Cost,
		}
		for f, n := range d.Tally.Faults {
			if f > 0 {
				u.Faults[admit.Fault(f).String()] = n
			}
		}
		for i, k := range d.Keys {
			if left := max(k.Paused.Sub(now), 0); i == 0 || left < u.Paused {
				u.Paused = left
			}
		}
		list = append(list, u)
	}
	return list
}
