package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// UpstreamState is one deployment at the moment of a scrape.
type UpstreamState struct {
	Deployment    string
	Model         string
	Provider      string // this and the next three are labels of what is configured
	Region        string
	Precision     string
	Tier          string
	Slots         int // calls at once, configured or learnt
	Usable        int // of these, what its breaker leaves
	Running       int
	State         string  // of the breaker
	Share         float64 // of the capacity that the breaker leaves
	Step          int     // tenth of the traffic it has come back to
	Ratio         float64 // times of its calls over the model's mean
	Sent, Good    int64
	Limited       int64 // 429s
	Faults        map[string]int64
	Input, Output int64         // tokens
	Cost          int64         // micro-dollars
	Paused        time.Duration // until the first key passes again; 0 if one does
	Refused       int           // keys that the provider refuses
}

// breakerStates are the values of the label state, so that one of them is always 1.
var breakerStates = []string{"closed", "open", "half_open", "recovering"}

func newUpstreamCollector(m *Metrics) *upstreamCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("spillway_upstream_"+name, help, append([]string{"deployment"}, labels...), nil)
	}
	return &upstreamCollector{
		known:   func(name string) string { return m.names.Load().deployment(name).label },
		info:    desc("info", "What is configured of a deployment; always 1, to be joined with the others by deployment.", "model", "provider", "region", "precision", "tier"),
		slots:   desc("slots", "Calls at once that the deployment may have, configured or learnt."),
		usable:  desc("usable_slots", "Of these, what its breaker leaves."),
		running: desc("running", "Calls that it has now."),
		state:   desc("breaker_state", "1 for the state that its breaker is in.", "state"),
		share:   desc("breaker_share", "Share of its capacity that its breaker leaves, 0 to 1."),
		step:    desc("breaker_step", "Tenth of the traffic that it has come back to; 10 when the breaker is closed."),
		ratio:   desc("time_ratio", "Times of its calls over those of the model's mean."),
		paused:  desc("paused_seconds", "Time until its first key passes calls again, by the provider's Retry-After."),
		refused: desc("refused_keys", "Keys that the provider refuses; each is tried again now and then."),
		sent:    desc("sent_total", "Calls sent."),
		good:    desc("good_total", "Calls with a complete and good answer."),
		faults:  desc("faults_total", "Calls that failed, by what was wrong. throttled over sent is the share of 429s.", "fault"),
		tokens:  desc("tokens_total", "Tokens, as the provider counted them or else estimated.", "direction"),
		cost:    desc("cost_dollars_total", "Cost by the configured price."),
	}
}

// upstreamCollector tells of deployments.
type upstreamCollector struct {
	known                                                     func(string) string
	slots, usable, running, state, share, step, ratio, paused *prometheus.Desc
	info, refused, sent, good, faults, tokens, cost           *prometheus.Desc
}

func (c *upstreamCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.info, c.slots, c.usable, c.running, c.state, c.share, c.step, c.ratio, c.paused, c.refused, c.sent, c.good, c.faults, c.tokens, c.cost} {
		ch <- d
	}
}

// tell skips a second deployment of the same label, which would spoil the
// whole scrape.
func (c *upstreamCollector) tell(ch chan<- prometheus.Metric, list []UpstreamState) {
	seen := map[string]bool{}
	for _, u := range list {
		name := c.known(u.Deployment)
		if seen[name] {
			continue
		}
		seen[name] = true
		put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, kind, v, append([]string{name}, labels...)...)
		}
		gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
		put(c.info, gauge, 1, label(u.Model), label(u.Provider), label(u.Region), label(u.Precision), u.Tier)
		put(c.slots, gauge, float64(u.Slots))
		put(c.usable, gauge, float64(u.Usable))
		put(c.running, gauge, float64(u.Running))
		for _, s := range breakerStates {
			v := 0.0
			if s == u.State {
				v = 1
			}
			put(c.state, gauge, v, s)
		}
		put(c.share, gauge, u.Share)
		put(c.step, gauge, float64(u.Step))
		put(c.ratio, gauge, u.Ratio)
		put(c.paused, gauge, u.Paused.Seconds())
		put(c.refused, gauge, float64(u.Refused))
		put(c.sent, counter, float64(u.Sent))
		put(c.good, counter, float64(u.Good))
		for f, n := range u.Faults {
			put(c.faults, counter, float64(n), f)
		}
		put(c.tokens, counter, float64(u.Input), "input")
		put(c.tokens, counter, float64(u.Output), "output")
		put(c.cost, counter, dollars(u.Cost))
	}
}

// BreakerOpened counts an opening.
func (m *Metrics) BreakerOpened(deployment, reason string) {
	m.opened.WithLabelValues(m.names.Load().deployment(deployment).label, reason).Inc()
}

// ScaleUp counts a wish for more capacity.
func (m *Metrics) ScaleUp(deployment string) {
	m.scaleUps.WithLabelValues(m.names.Load().deployment(deployment).label).Inc()
}
