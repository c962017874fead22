package config

import (
	"reflect"
	"testing"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// pool parses one model, written as the inside of a flow mapping, beside two
// others.
func pool(t *testing.T, text string) (*Model, admit.Model) {
	t.Helper()
	c := parse(t, "providers: {a: {base_url: http://h/v1}}\nmodels:\n  chat: {deployments: [{provider: a}], "+text+"}\n"+
		"  one: {deployments: [{provider: a}], fallback: {error: [chat]}}\n  two: {deployments: [{provider: a}]}")
	return c.Models["chat"], c.Policy().Models[0]
}

func TestBalanceInTheCoresWords(t *testing.T) {
	for text, want := range map[string]admit.Model{
		"":                                   {},
		"balance: cost":                      {Balance: admit.Cost},
		"balance: round-robin":               {Balance: admit.RoundRobin},
		"balance: score":                     {Balance: admit.Score, Score: admit.ScoreWeights{Cost: 1, Speed: 1, Quality: 1}},
		"balance: score, score: {speed: 0}":  {Balance: admit.Score, Score: admit.ScoreWeights{Cost: 1, Quality: 1}},
		"balance: score, score: {cost: 2.5}": {Balance: admit.Score, Score: admit.ScoreWeights{Cost: 2.5, Speed: 1, Quality: 1}},
	} {
		_, got := pool(t, text)
		if got.Balance != want.Balance || got.Score != want.Score {
			t.Errorf("%s: %v %+v", text, got.Balance, got.Score)
		}
	}
}

// Every balance of the core can be configured, also one that is added to it.
func TestEveryBalanceIsKnown(t *testing.T) {
	for _, name := range balanceNames() {
		if b, err := parseBalance(name); err != nil || b.String() != name {
			t.Errorf("%s: %v (%v)", name, b, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the core has a balance after score")
		}
	}()
	_ = (admit.Score + 1).String()
}

func TestAffinity(t *testing.T) {
	for text, want := range map[string]Model{
		"":                  {Affinity: AffinityNone, AffinityPrefix: 4096},
		"affinity: session": {Affinity: AffinitySession, AffinityPrefix: 4096},
		"affinity: prefix, affinity_prefix: 1KiB": {Affinity: AffinityPrefix, AffinityPrefix: 1024},
	} {
		if got, _ := pool(t, text); got.Affinity != want.Affinity || got.AffinityPrefix != want.AffinityPrefix {
			t.Errorf("%s: %s %d", text, got.Affinity, got.AffinityPrefix)
		}
	}
}

// Models may name each other: one names chat.
func TestFallbackInTheCoresWords(t *testing.T) {
	var none, want [admit.NumCauses][]string
	want[admit.CauseOverloaded], want[admit.CauseContext] = []string{"two", "one"}, []string{"one"}
	want[admit.CauseFilter], want[admit.CauseError] = []string{"two"}, []string{"one"}
	if _, got := pool(t, "fallback: {overloaded: [two, one], context: [one], content_filter: [two], error: [one]}"); !reflect.DeepEqual(got.Fallback, want) {
		t.Errorf("%v, want %v", got.Fallback, want)
	}
	for _, text := range []string{"", "fallback: {}", "fallback: {error: []}"} {
		if _, got := pool(t, text); !reflect.DeepEqual(got.Fallback, none) {
			t.Errorf("%q: %v", text, got.Fallback)
		}
	}
	for c := range admit.Cause(admit.NumCauses) {
		if _, known := fieldsOf(reflect.TypeFor[Fallback]())[c.String()]; !known {
			t.Errorf("%s has another name in the file", c)
		}
	}
}
