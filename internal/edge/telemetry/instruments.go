package telemetry

import (
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Classic buckets in seconds, those of the OpenTelemetry GenAI conventions
// where these name some. Native histograms beside them have no fixed bounds.
var (
	durationBuckets = prometheus.ExponentialBuckets(0.01, 2, 14) // to 81.92
	ttftBuckets     = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	tpotBuckets     = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5}
	// The first bucket holds those that did not wait; the last bound is beyond
	// the longest default deadline.
	waitBuckets  = append([]float64{0}, prometheus.ExponentialBuckets(0.01, 2, 17)...) // to 655.36
	errorBuckets = []float64{-60, -20, -5, -2, -1, -0.5, -0.2, -0.05, -0.01, 0.01, 0.05, 0.2, 0.5, 1, 2, 5, 20, 60}
	ratioBuckets = []float64{0.1, 0.25, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 4, 10}
	depthBuckets = append([]float64{0}, prometheus.ExponentialBuckets(1, 2, 14)...) // to 8192
)

// instruments are the metrics themselves.
type instruments struct {
	decisions      *prometheus.CounterVec
	wouldRefuses   *prometheus.CounterVec
	requests       *prometheus.CounterVec
	tokens         *prometheus.CounterVec
	retries        *prometheus.CounterVec
	drops          *prometheus.CounterVec
	attempts       *prometheus.CounterVec
	wastedSeconds  *prometheus.CounterVec
	reloads        *prometheus.CounterVec
	changes        *prometheus.CounterVec
	depths         *prometheus.HistogramVec
	predictedWaits *prometheus.HistogramVec
	realWaits      *prometheus.HistogramVec
	waitErrors     *prometheus.HistogramVec
	waitRatios     *prometheus.HistogramVec
	durations      *prometheus.HistogramVec
	ttfts          *prometheus.HistogramVec
	tpots          *prometheus.HistogramVec
	services       *prometheus.HistogramVec
	firsts         *prometheus.HistogramVec
	opened         *prometheus.CounterVec
	scaleUps       *prometheus.CounterVec
	inFlight       prometheus.Gauge
	lastReload     prometheus.Gauge
	changesAside   prometheus.Gauge

	costs             *prometheus.CounterVec
	unpricedRequests  *prometheus.CounterVec
	alarms            *prometheus.CounterVec
	rungs             *prometheus.CounterVec
	recalls           *prometheus.CounterVec
	answers           *prometheus.CounterVec
	finishes          *prometheus.CounterVec
	steps             *prometheus.CounterVec
	degradedDurations *prometheus.HistogramVec
	degradedTTFTs     *prometheus.HistogramVec
}

func newInstruments(reg prometheus.Registerer) instruments {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spillway_" + name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "spillway_" + name, Help: help})
		reg.MustRegister(g)
		return g
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "spillway_" + name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1,
			// Values come from outside, so the number of buckets must be bounded.
			// Beyond it the resolution halves; nothing is ever reset.
			NativeHistogramMaxBucketNumber: 160,
			NativeHistogramZeroThreshold:   1e-6,
			NativeHistogramMaxExemplars:    -1,
		}, labels)
		reg.MustRegister(v)
		return v
	}
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerBuildInfo(reg)
	return instruments{
		decisions: counter("decisions_total",
			"Decisions on requests, by the stage that decided. A request that waits has one for the queue and one for its end.",
			"stage", "verdict", "class", "tenant"),
		wouldRefuses: counter("would_refuse_total",
			"Requests let through only because admission observes, and does not enforce.", "class", "tenant"),
		requests: counter("requests_total", "Requests that ended, by how.", "tenant", "model", "outcome"),
		tokens: counter("tokens_total",
			"Tokens of requests that were sent upstream, as the upstream counted them or else estimated. Input includes cached and cache_write, output includes reasoning.",
			"tenant", "model", "direction"),
		retries: counter("retries_total",
			"Retries, by who made them and whether they were allowed or refused. A caller's are those it marked as such.",
			"tenant", "by", "result"),
		drops: counter("dropped_total",
			"Requests dropped from the queue because nobody would have had the answer: too late, or the caller had left.",
			"model", "reason"),
		attempts: counter("upstream_attempts_total",
			"Calls sent upstream, each one counted, by how they ended and by the status of the answer.",
			"deployment", "kind", "status"),
		wastedSeconds: counter("upstream_wasted_seconds_total",
			"Time that upstream calls went on after their caller had left.", "deployment"),
		opened: counter("breaker_opened_total", "Openings of the breaker of a deployment, by reason. A probe that fails is none.", "deployment", "reason"),
		scaleUps: counter("scale_up_total",
			"Times that a call took so long that more capacity is needed, at most one a minute.", "deployment"),
		costs: counter("cost_dollars_total", "Cost of requests by the configured prices, as far as there are any.", "tenant", "model"),
		unpricedRequests: counter("unpriced_requests_total",
			"Requests of which some tokens have no configured price: their cost is not, or not all, in any sum or budget.", "tenant", "model"),
		alarms: counter("budget_alarms_total",
			"Changes of how serious the state of a budget is, by whose it is and by what it came to; calm is an end of an alarm.", "scope", "alarm"),
		rungs: counter("degraded_requests_total",
			"Requests that were served degraded, by rung of the ladder; one of two rungs counts in both.", "model", "rung"),
		answers: counter("answers_total",
			"Complete answers, by whether they came in time: before the caller's or the class's deadline, for a stream its first token. Those in time are the goodput.",
			"model", "class", "in_time"),
		recalls: counter("recalled_total",
			"Requests answered from the answer cache: fresh where the caller takes that at any time, stale in place of a refusal.", "model", "why"),
		finishes: counter("finish_reasons_total",
			"Answers by why they ended, degraded ones apart by the kind of their lowest rung: what degradation does to them.",
			"model", "degraded", "reason"),
		steps: counter("ladder_steps_total",
			"Changes of level of a model's ladder; down is to cheaper answers.", "model", "class", "direction"),
		degradedDurations: histogram("degraded_duration_seconds",
			"Time from arrival to the end, for degraded requests that were answered, by the kind of their lowest rung.",
			durationBuckets, "model", "kind"),
		degradedTTFTs: histogram("degraded_ttft_seconds",
			"Time from arrival to the first token passed on, for streamed answers that were degraded, by the kind of their lowest rung.",
			ttftBuckets, "model", "kind"),
		reloads: counter("config_reloads_total", "Readings of the configuration, applied or refused.", "result"),
		changes: counter("settings_changes_total", "Changes of settings that operators asked for, applied, refused or only tried.", "result"),
		depths: histogram("queue_depth",
			"Waiting requests of the same model and class, as each request found them on arrival.", depthBuckets, "model", "class"),
		predictedWaits: histogram("wait_predicted_seconds",
			"Wait predicted at arrival, for requests that were queued or refused.", waitBuckets, "model", "class"),
		realWaits: histogram("wait_seconds",
			"Wait from arrival to dispatch, for requests that were dispatched.", waitBuckets, "model", "class"),
		waitErrors: histogram("wait_error_seconds",
			"Real wait minus predicted wait, for requests that were queued and dispatched. Above zero, the wait was longer than said.",
			errorBuckets, "model"),
		waitRatios: histogram("wait_error_ratio",
			"Real wait over predicted wait, for requests that were queued and dispatched.", ratioBuckets, "model"),
		durations: histogram("request_duration_seconds",
			"Time from arrival to the end of the request. Degraded requests and answers from the cache are not in it.", durationBuckets, "model", "outcome"),
		ttfts: histogram("time_to_first_token_seconds",
			"Time from arrival to the first token passed on, for streamed answers. Degraded ones and those from the cache are not in it.", ttftBuckets, "model"),
		tpots: histogram("time_per_output_token_seconds",
			"Mean time between output tokens after the first, for streamed answers. Degraded ones and those from the cache are not in it.", tpotBuckets, "model"),
		services: histogram("upstream_service_seconds",
			"Time from dispatch to the end of an upstream call, by whether its answer was complete and good.",
			durationBuckets, "deployment", "ok"),
		firsts: histogram("upstream_first_token_seconds",
			"Time from dispatch to the first token of an upstream call, for streamed answers.", ttftBuckets, "deployment"),
		inFlight:     gauge("requests_in_flight", "Requests between arrival and end, waiting ones included."),
		lastReload:   gauge("config_last_success_timestamp_seconds", "When the configuration was last applied, in Unix time."),
		changesAside: gauge("settings_changes_aside", "1 while earlier changes of settings do not fit the configuration file, so that the file alone counts; else 0."),
	}
}

// forget deletes the series of names that were exported before and are no more.
func (i *instruments) forget(old, next *catalogue) {
	forgetLabel("tenant", old.tenants.labels, next.tenants.labels,
		i.decisions.MetricVec, i.wouldRefuses.MetricVec, i.requests.MetricVec, i.tokens.MetricVec, i.retries.MetricVec,
		i.costs.MetricVec, i.unpricedRequests.MetricVec)
	forgetLabel("model", old.models.labels, next.models.labels,
		i.requests.MetricVec, i.tokens.MetricVec, i.drops.MetricVec, i.depths.MetricVec, i.predictedWaits.MetricVec,
		i.realWaits.MetricVec, i.waitErrors.MetricVec, i.waitRatios.MetricVec, i.durations.MetricVec, i.ttfts.MetricVec, i.tpots.MetricVec,
		i.costs.MetricVec, i.unpricedRequests.MetricVec, i.rungs.MetricVec, i.recalls.MetricVec, i.answers.MetricVec, i.finishes.MetricVec, i.steps.MetricVec,
		i.degradedDurations.MetricVec, i.degradedTTFTs.MetricVec)
	forgetLabel("rung", old.rungs.labels, next.rungs.labels, i.rungs.MetricVec)
	forgetLabel("deployment", old.deployments.labels, next.deployments.labels,
		i.opened.MetricVec, i.scaleUps.MetricVec, i.attempts.MetricVec, i.wastedSeconds.MetricVec, i.services.MetricVec, i.firsts.MetricVec)
}

func forgetLabel(name string, old, next map[string]bool, vecs ...*prometheus.MetricVec) {
	for l := range old {
		if next[l] {
			continue
		}
		for _, v := range vecs {
			v.DeletePartialMatch(prometheus.Labels{name: l})
		}
	}
}

// registerBuildInfo exports what the binary says of itself, as labels of a
// constant 1.
func registerBuildInfo(reg prometheus.Registerer) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spillway_build_info", Help: "What is running; always 1.", ConstLabels: buildInfo(),
	})
	g.Set(1)
	reg.MustRegister(g)
}

// buildInfo says what is running.
func buildInfo() prometheus.Labels {
	labels := prometheus.Labels{"version": "unknown", "revision": "unknown", "go_version": "unknown"}
	if b, ok := debug.ReadBuildInfo(); ok {
		labels["go_version"] = b.GoVersion
		if b.Main.Version != "" {
			labels["version"] = b.Main.Version
		}
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	return labels
}
