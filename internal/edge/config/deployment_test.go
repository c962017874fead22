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
