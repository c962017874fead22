package gateway

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/upstream"
)

// target is where calls to one deployment go.
type target struct {
	client   *upstream.Client
	provider string
	settings config.Provider // what the client was made of
	maxEvent int             // and its limit of one event, in bytes
	base     string
	api      upstream.API
	model    string // name to send upstream; "" is the caller's own
	price    admit.Price
	noUsage  atomic.Bool // it refused stream_options: usage is estimated
	host     string      // of base
	port     int
}

// apis are the kinds of providers. A simulated one speaks as OpenAI does.
var apis = map[config.Kind]upstream.API{
	config.OpenAI: upstream.OpenAI, config.Simulated: upstream.OpenAI,
	config.Anthropic: upstream.Anthropic, config.Gemini: upstream.Gemini, config.Azure: upstream.Azure,
}

// prepare makes the targets of a configuration. Clients of unchanged
// providers are kept with their connections, and targets that are no longer
// configured stay for requests which were given to them before.
func (g *Gateway) prepare(c *config.Config) (*state, error) {
	s := &state{config: c, keys: c.Keys(), targets: map[string]*target{}, pools: map[string][]string{}}
	byProvider := map[string]*target{}
	if old := g.state.Load(); old != nil {
		s.keys.Follow(old.keys)
		for name, t := range old.targets {
			s.targets[name] = t
			byProvider[t.provider] = t
		}
	}
	prices, policy := map[string]admit.Price{}, c.Policy()
	for _, m := range policy.Models {
		for _, d := range m.Deployments {
			prices[d.Name] = d.Price
			s.pools[m.Name] = append(s.pools[m.Name], d.Name)
		}
	}
	for _, m := range c.Models {
		for _, d := range m.Deployments {
			p := c.Providers[d.Provider]
			t := &target{provider: d.Provider, settings: *p, maxEvent: int(c.Limits.Event), model: d.Model, api: apis[p.Kind], price: prices[d.Name]}
			if known := byProvider[d.Provider]; known != nil && known.maxEvent == t.maxEvent && reflect.DeepEqual(known.settings, *p) {
				t.client, t.base = known.client, known.base
			} else if err := g.connect(t, p); err != nil {
				return nil, fmt.Errorf("provider %s: %w", d.Provider, err)
			}
			t.noUsage.Store(!p.StreamUsage)
			t.host, t.port = address(t.base)
			byProvider[d.Provider] = t
			s.targets[d.Name] = t
		}
	}
	return s, nil
}

func (g *Gateway) connect(t *target, p *config.Provider) error {
	t.base = p.BaseURL
	if p.Kind == config.Simulated {
		if g.simulate == nil {
			return fmt.Errorf("kind simulated is not available here")
		}
		base, err := g.simulate(p)
		if err != nil {
			return fmt.Errorf("start the simulated upstream: %w", err)
		}
		t.base = base
	}
	headers := make(map[string]string, len(p.Headers))
	for k, v := range p.Headers {
		headers[k] = string(v)
	}
	var keys []string
	for _, k := range p.Credentials() {
		if k != "" { // the one of a provider that needs none
			keys = append(keys, string(k))
		}
	}
	client, err := upstream.NewClient(upstream.Provider{
		Name: t.provider, BaseURL: t.base, APIKeys: keys, Headers: headers, HTTPVersion: p.HTTP.String(), AuthHeader: t.api.AuthHeader(),
		Dial: p.Timeouts.Dial, ResponseHeaders: p.Timeouts.Headers, FirstToken: p.Timeouts.FirstToken,
		Idle: p.Timeouts.Idle, Total: p.Timeouts.Total, ConnAge: time.Duration(p.Timeouts.ConnectionAge), MaxEvent: t.maxEvent, Connect: g.dial,
	})
	t.client = client
	return err
}
