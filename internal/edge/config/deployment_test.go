package config

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// deployment parses one deployment, written as the inside of a flow mapping,
// and gives it in the core's words, before its defaults.
func deployment(t *testing.T, text string) admit.Deployment {
	t.Helper()
	c := parse(t, "providers: {a: {base_url: http://h/v1}, local: {kind: simulated, slots: 8}}\nmodels: {chat: {deployments: [{"+text+"}]}}")
	d := &c.Models["chat"].Deployments[0]
	return d.policy(c.Providers[d.Provider], time.Unix(0, 0))
}

func TestConcurrency(t *testing.T) {
	for text, want := range map[string]admit.Deployment{
		"provider: a":                                           {Concurrency: 16},
		"provider: a, concurrency: 3":                           {Concurrency: 3},
		"provider: a, concurrency: auto":                        {Concurrency: 16, Auto: true},
		"provider: a, concurrency: 'auto'":                      {Concurrency: 16, Auto: true},
		"provider: local, concurrency: auto":                    {Concurrency: 8, Auto: true},
		"provider: a, concurrency: auto, max_concurrency: 2000": {Concurrency: 16, Auto: true, Most: 2000},
		"provider: a, concurrency: auto, max_concurrency: 5":    {Concurrency: 5, Auto: true, Most: 5}, // learning does not begin above its end
	} {
		d := deployment(t, text)
		got := admit.Deployment{Concurrency: d.Concurrency, Auto: d.Auto, Most: d.Most}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// A name that was written is never taken by one that is made up, even by one
// that stands before it.
func TestWrittenNamesComeFirst(t *testing.T) {
	c := parse(t, "providers: {a: {base_url: http://h/v1}}\nmodels: {chat: {deployments: [{provider: a}, {provider: a, name: a/chat}, {provider: a, name: east}]}}")
	var names []string
	for _, d := range c.Models["chat"].Deployments {
		names = append(names, d.Name)
	}
	if want := []string{"a/chat#2", "a/chat", "east"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestDeploymentInTheCoresWords(t *testing.T) {
	c := parse(t, `
providers: {a: {base_url: http://h/v1, api_keys: [k1, k2], region: eu, day_zone: America/Los_Angeles}}
models:
  chat:
    deployments:
      - {provider: a, name: x, rpm: 5, tpm: 6, tpd: 7, price: {input: 1.25, output: 10, request: 0.000001}, quality: {code: 0.95, default: 0.8},
         weight: 3, tier: 99, reserve: true, precision: int8, region: us}
      - {provider: a, quality: 1, price: {input: "0.1", output: 0}}`)
	quota := admit.Quota{Requests: 5, Tokens: 6, Daily: 7, Midnight: 8 * time.Hour}
	want := []admit.Deployment{
		{
			Name: "x", Concurrency: 16, Tier: 99, Reserve: true, Weight: 3, Price: admit.Price{Known: true, Input: 1_250_000, Output: 10_000_000, Cached: 1_250_000, CacheWrite: 1_250_000, Reasoning: 10_000_000, Request: 1},
			Quality: map[string]float64{"code": 0.95, "": 0.8}, Keys: []admit.Quota{quota, quota},
		},
		{
			Name: "a/chat", Concurrency: 16, Weight: 1, Price: admit.Price{Known: true, Input: 100_000, Cached: 100_000, CacheWrite: 100_000},
			Quality: map[string]float64{"": 1}, Keys: []admit.Quota{{Midnight: 8 * time.Hour}, {Midnight: 8 * time.Hour}},
		},
	}
	p := &admit.Policy{Models: []admit.Model{{Deployments: want}}}
	p.Defaults()
	winter, summer := c.PolicyAt(at(t, "2026-01-15T00:00:00Z")), c.PolicyAt(at(t, "2026-07-15T00:00:00Z"))
	if got := winter.Models[0].Deployments; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := summer.Models[0].Deployments[0].Keys[1].Midnight; got != 7*time.Hour {
		t.Errorf("in summer the day begins at %v", got)
	}
	d := c.Models["chat"].Deployments
	if d[0].Precision != "int8" || d[0].Region != "us" || d[1].Precision != "" || d[1].Region != "eu" {
		t.Errorf("labels: %+v", d)
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]bool{
		"provider: a": true, "provider: a, model: x, concurrency: 4": true, "provider: a, weight: 1": true,
		"provider: a, rpm: 4": false, "provider: a, concurrency: auto": false, "provider: a, name: a/chat": false, "provider: a, region: us": false,
	} {
		c := parse(t, "providers: {a: {base_url: http://h/v1, region: eu}}\nmodels: {chat: {deployments: [{"+text+"}]}}")
		if got := c.Plain(&c.Models["chat"].Deployments[0]); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
