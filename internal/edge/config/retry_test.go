package config

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestRetryInTheCoresWords(t *testing.T) {
	var core admit.Policy
	core.Defaults()
	for text, want := range map[string]admit.RetryPolicy{
		"":          core.Retry,
		"retry: {}": core.Retry,
		"retry: {percent: 1, reserve: 2, attempts: 5, backoff: 1s, failover: {percent: 3, reserve: 4, concurrent: 6%}}": {
			Percent: 1, Reserve: 2, Attempts: 5, Backoff: time.Second, Failover: admit.FailoverPolicy{Percent: 3, Reserve: 4, Concurrent: 6},
		},
		"retry: {percent: 0, reserve: 0, failover: {percent: 0, reserve: 0, concurrent: 0}}": {
			Percent: -1, Reserve: -1, Attempts: core.Retry.Attempts, Backoff: core.Retry.Backoff, Failover: admit.FailoverPolicy{Percent: -1, Reserve: -1, Concurrent: -1},
		},
	} {
		if got := parse(t, "providers: {a: {base_url: http://h/v1}}\n"+text).Policy().Retry; got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
