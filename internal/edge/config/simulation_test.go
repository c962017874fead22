package config

import (
	"testing"
	"time"
)

func TestSimulatedUpstreams(t *testing.T) {
	c := parse(t, `
providers: {a: {base_url: http://h/v1}}
models:
  chat: {deployments: [{provider: a, name: east, concurrency: 4}, {provider: a, concurrency: 8}]}
  a/small: {deployments: [{provider: a, model: small, concurrency: 1}, {provider: a, concurrency: 2}]}
simulation:
  upstreams: {chat: {}, east: {requests: 60, tokens: 1000, per: 10s, retry_after: false}, a/chat: {slots: 3}, a/small: {}}`)
	for name, slots := range map[string]int{"chat": 12, "east": 4, "a/chat": 3, "a/small": 3} { // a/small is a deployment too
		if got := c.Simulation.Upstreams[name].Slots; got != slots {
			t.Errorf("%s has %d slots, want %d", name, got, slots)
		}
	}
	if u := c.Simulation.Upstreams["east"]; u.Requests != 60 || u.Tokens != 1000 || u.Per != 10*time.Second || u.RetryAfter {
		t.Errorf("%+v", u)
	}
	if u := c.Simulation.Upstreams["chat"]; u.Requests != 0 || u.Tokens != 0 || u.Per != time.Minute || !u.RetryAfter {
		t.Errorf("%+v", u)
	}
}
