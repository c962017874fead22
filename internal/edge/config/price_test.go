package config

import (
	"reflect"
	"testing"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// What is left out of a price follows what was written; nothing that is left
// out is zero by silence.
func TestPriceInTheCoresWords(t *testing.T) {
	for text, want := range map[string]admit.Price{
		"":                                       {},
		"price:":                                 {},
		"price: {}":                              {},
		"price: free":                            {Known: true},
		"price: {input: 0, output: 0}":           {Known: true},
		"price: {request: 0.001}":                {Known: true, Request: 1000},
		"price: {input: 1, output: 4}":           {Known: true, Input: 1_000_000, Output: 4_000_000, Cached: 1_000_000, CacheWrite: 1_000_000, Reasoning: 4_000_000},
		"price: {input: 1, output: 4, cached: }": {Known: true, Input: 1_000_000, Output: 4_000_000, Cached: 1_000_000, CacheWrite: 1_000_000, Reasoning: 4_000_000},
		"price: {input: 1, output: 4, cached: 0, cache_write: 0, reasoning: 0}": {Known: true, Input: 1_000_000, Output: 4_000_000},
		"price: {input: 1, output: 4, cached: 0.1, tiers: {flex: 50%, priority: 170}, long: {above: 200000, input: 2}}": {
			Known: true, Input: 1_000_000, Output: 4_000_000, Cached: 100_000, CacheWrite: 1_000_000, Reasoning: 4_000_000,
			Long:  admit.LongPrice{Above: 200_000, Input: 2_000_000, Output: 4_000_000, Cached: 2_000_000, CacheWrite: 2_000_000, Reasoning: 4_000_000},
			Tiers: map[string]int64{"flex": 50, "priority": 170},
		},
		"price: {input: 1, output: 4, cached: 0.1, reasoning: 5, long: {above: 1}}": {
			Known: true, Input: 1_000_000, Output: 4_000_000, Cached: 100_000, CacheWrite: 1_000_000, Reasoning: 5_000_000,
			Long: admit.LongPrice{Above: 1, Input: 1_000_000, Output: 4_000_000, Cached: 100_000, CacheWrite: 1_000_000, Reasoning: 5_000_000},
		},
		"price: {input: 1, output: 4, reasoning: 5, long: {above: 1, output: 8, cache_write: 9}}": {
			Known: true, Input: 1_000_000, Output: 4_000_000, Cached: 1_000_000, CacheWrite: 1_000_000, Reasoning: 5_000_000,
			Long: admit.LongPrice{Above: 1, Input: 1_000_000, Output: 8_000_000, Cached: 1_000_000, CacheWrite: 9_000_000, Reasoning: 8_000_000},
		},
	} {
		if text != "" {
			text = ", " + text
		}
		if got := deployment(t, "provider: a"+text).Price; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
