package config

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Breaker says when a deployment gets less, or nothing, and how it comes back.
type Breaker struct {
	// Share of failures in the window above which a deployment gets less. Default 10. Smaller reacts to fewer failures.
	Errors Percent `yaml:"errors" jsonschema:"minimum=1,maximum=100"`
	// Share of failures in the window at which it gets nothing. Default 50, at least errors. Smaller opens the breaker sooner.
	Open Percent `yaml:"open" jsonschema:"minimum=1,maximum=100"`
	// How long results count. Default 60s. Smaller forgets sooner; it should not be shorter than most calls take.
	Window time.Duration `yaml:"window" jsonschema:"exclusiveMinimum=0"`
	// Results that the window must hold before its share means anything. Default 20. Smaller judges by less.
	MinCount int `yaml:"min_count" jsonschema:"minimum=1,maximum=1000000"`
	// Failures in a row that open the breaker at once, or off. Default 4. Smaller opens it sooner.
	Consecutive Count `yaml:"consecutive" jsonschema:"minimum=1,maximum=1000000"`
	// Least time without calls after it opened; twice the last outage if that is longer. Default 30s. Smaller tries sooner whether the deployment is back.
	Cooldown time.Duration `yaml:"cooldown" jsonschema:"exclusiveMinimum=0"`
	// Most time without calls. Default 300s, at least cooldown. Smaller tries sooner after a long outage.
	CooldownMax time.Duration `yaml:"cooldown_max" jsonschema:"exclusiveMinimum=0"`
	// Pause before each probe where no other deployment of the model is left. Default 2s. Smaller asks more often whether the deployment is back.
	Alone time.Duration `yaml:"alone" jsonschema:"exclusiveMinimum=0"`
	// Least time at each of the ten steps of recovery. Default 2s. Smaller gives back sooner what may fail again.
	Step time.Duration `yaml:"step" jsonschema:"exclusiveMinimum=0"`
	// Time to the first token, or to the answer where nothing is streamed, without what its tokens explain. Default warn 2s, open 3s, scale_up 10s; such a default opens nothing unless the time is also three times what is usual for the deployment.
	FirstToken Latency `yaml:"first_token"`
	// Time of a token of output. Default no thresholds.
	PerToken Latency `yaml:"per_token"`
	// Time of a whole call. Default no thresholds.
	Total Latency `yaml:"total"`
}

// Latency are the thresholds of one kind of latency. What is not written is
// the core's default; none of them is filled in here, because the core treats
// its own defaults with more caution than what an operator has written.
type Latency struct {
	// 95 % quantile above which a warning is due, or off. Smaller warns sooner.
	Warn Threshold `yaml:"warn" jsonschema:"exclusiveMinimum=0"`
	// 99 % quantile above which the breaker opens, or off. Smaller opens it sooner.
	Open Threshold `yaml:"open" jsonschema:"exclusiveMinimum=0"`
	// Any latency above it says that more capacity is needed, or off. Smaller asks sooner.
	ScaleUp Threshold `yaml:"scale_up" jsonschema:"exclusiveMinimum=0"`
}

func (b *Breaker) setDefaults(p admit.BreakerPolicy) {
	*b = Breaker{
		Errors:      Percent(p.Errors),
		Open:        Percent(p.Open),
		Window:      p.Window,
		MinCount:    p.MinCount,
		Consecutive: Count(p.Consecutive),
		Cooldown:    p.Cooldown,
		CooldownMax: p.CooldownMax,
		Alone:       p.Alone,
		Step:        p.Step,
	}
}

func (b *Breaker) check(d *document, path string) {
	if b.Open < b.Errors {
		d.failOneOf(path, "open", "errors", "open is %d%% and errors %d%%; open must not be below errors", b.Open, b.Errors)
	}
	if b.CooldownMax < b.Cooldown {
		d.failOneOf(path, "cooldown_max", "cooldown", "cooldown_max is %v and cooldown %v; cooldown_max must not be below cooldown", b.CooldownMax, b.Cooldown)
	}
	for key, l := range map[string]Latency{"first_token": b.FirstToken, "per_token": b.PerToken, "total": b.Total} {
		if l.Open > 0 && l.Warn > l.Open {
			d.fail(join(join(path, key), "warn"), "%v is above open, which is %v", time.Duration(l.Warn), time.Duration(l.Open))
		}
	}
}

// failOneOf places a fault of two settings at the first of them that was
// written; the other may be at its default.
func (d *document) failOneOf(path, key, other, format string, args ...any) {
	at := join(path, key)
	if !d.wrote(at) {
		at = join(path, other)
	}
	d.fail(at, format, args...)
}

func (b *Breaker) policy() admit.BreakerPolicy {
	return admit.BreakerPolicy{
		Errors:      int(b.Errors),
		Open:        int(b.Open),
		Window:      b.Window,
		MinCount:    b.MinCount,
		Consecutive: int(b.Consecutive),
		Cooldown:    b.Cooldown,
		CooldownMax: b.CooldownMax,
		Alone:       b.Alone,
		Step:        b.Step,
		First:       b.FirstToken.policy(),
		PerToken:    b.PerToken.policy(),
		Total:       b.Total.policy(),
	}
}

// policy needs no case for off: it is negative in both words.
func (l Latency) policy() admit.Latency {
	return admit.Latency{Warn: time.Duration(l.Warn), Open: time.Duration(l.Open), ScaleUp: time.Duration(l.ScaleUp)}
}
