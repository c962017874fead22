package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestBreakerInTheCoresWords(t *testing.T) {
	_, got := pool(t, "breaker: {errors: 5, open: 20%, window: 30s, min_count: 10, consecutive: off, cooldown: 10s, cooldown_max: 1m, step: 1s, "+
		"first_token: {warn: 1s, open: off}, per_token: {warn: 40ms, open: 80ms, scale_up: 200ms}, total: {scale_up: off}}")
	want := admit.BreakerPolicy{
		Errors: 5, Open: 20, Window: 30 * time.Second, MinCount: 10, Consecutive: -1, Cooldown: 10 * time.Second, CooldownMax: time.Minute, Alone: 2 * time.Second, Step: time.Second,
		First:    admit.Latency{Warn: time.Second, Open: -1}, // scale_up stays the core's default
		PerToken: admit.Latency{Warn: 40 * time.Millisecond, Open: 80 * time.Millisecond, ScaleUp: 200 * time.Millisecond},
		Total:    admit.Latency{ScaleUp: -1},
	}
	if !reflect.DeepEqual(got.Breaker, want) {
		t.Errorf("got  %+v\nwant %+v", got.Breaker, want)
	}
	p := &admit.Policy{Models: []admit.Model{{}}}
	p.Defaults()
	for _, text := range []string{"", "breaker: {}", "breaker: {first_token: {}, total:}"} {
		if _, got := pool(t, text); !reflect.DeepEqual(got.Breaker, p.Models[0].Breaker) {
			t.Errorf("%q: %+v, want the core's own defaults", text, got.Breaker)
		}
	}
}
