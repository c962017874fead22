package config

import (
	"maps"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Simulation is what a simulated run needs beside the gateway's own settings:
// how the upstreams behave, and who calls. The running gateway ignores it.
type Simulation struct {
	// Upstreams by pool, or by deployment; where a name is both, it is the pool. Default: as many slots as the pool has, and the times of its prior.
	Upstreams map[string]*SimulatedUpstream `yaml:"upstreams"`
	// Kinds of callers behind the requests of a trace. Default: one kind, without deadline.
	Callers []SimulatedCaller `yaml:"callers"`
}

// SimulatedUpstream is a model server of a simulated run.
type SimulatedUpstream struct {
	// Calls that run at once. Default the concurrency of the pool or the deployment.
	Slots int `yaml:"slots" jsonschema:"minimum=1,maximum=100000"`
	// Mean time of a call whatever its tokens. Default 0s: made of tokens.
	Mean time.Duration `yaml:"mean"`
	// Fixed part of the time to the first token. Default 200ms.
	FirstToken time.Duration `yaml:"first_token" jsonschema:"exclusiveMinimum=0"`
	// Time of one token of input. Default 150us.
	PerInputToken time.Duration `yaml:"per_input_token" jsonschema:"exclusiveMinimum=0"`
	// Time of one token of output. Default 20ms.
	PerOutputToken time.Duration `yaml:"per_output_token" jsonschema:"exclusiveMinimum=0"`
	// Spread of service times, in per cent: the sigma of their log-normal factor. Default 25.
	Noise Percent `yaml:"noise" jsonschema:"minimum=0,maximum=200"`
	// How much slower output tokens are with every slot busy, in per cent. Default 0.
	Slowdown Percent `yaml:"slowdown" jsonschema:"minimum=0,maximum=1000"`
	// Requests that it takes in any per; more get 429. Default 0: no limit.
	Requests int64 `yaml:"requests" jsonschema:"minimum=0"`
	// Tokens, input and output, that it takes in any per; more get 429. Default 0: no limit.
	Tokens int64 `yaml:"tokens" jsonschema:"minimum=0"`
	// Time over which requests and tokens are counted. Default 1m.
	Per time.Duration `yaml:"per" jsonschema:"exclusiveMinimum=0"`
	// Whether its 429 says when to come again. Default true.
	RetryAfter bool `yaml:"retry_after"`
}

// SimulatedCaller is one kind of callers of a simulated run.
type SimulatedCaller struct {
	// Share of the requests, in per cent. All shares are 100 together. Default 100 for a single kind.
	Share Percent `yaml:"share" jsonschema:"minimum=0,maximum=100"`
	// Class they ask for, unless the trace says one. Default interactive.
	Class admit.Class `yaml:"class"`
	// Whether they ask for streams; the deadline then means the first token.
	Stream bool `yaml:"stream"`
	// Time they wait. Default 0s: for ever.
	Deadline time.Duration `yaml:"deadline"`
	// Makes deadlines uniform between deadline and this. Default 0s: all the same.
	DeadlineTo time.Duration `yaml:"deadline_to"`
	// Attempts after the first, as the official SDKs make them. Default 0.
	Retries int `yaml:"retries" jsonschema:"minimum=0,maximum=10"`
	// Whether they stay after their deadline, so that a late answer wastes the upstream's time. Default false: they hang up.
	Patient bool `yaml:"patient"`
	// Share that leaves at a random moment before the deadline, in per cent. Default 0.
	Leave Percent `yaml:"leave" jsonschema:"minimum=0,maximum=100"`
}

func (u *SimulatedUpstream) setDefaults() {
	u.FirstToken, u.PerInputToken, u.PerOutputToken, u.Noise = 200*time.Millisecond, 150*time.Microsecond, 20*time.Millisecond, 25
	u.Per, u.RetryAfter = time.Minute, true
}

func (c *Config) checkSimulation(d *document) {
	c.checkUpstreams(d)
	total := Percent(0)
	for i := range c.Simulation.Callers {
		s := &c.Simulation.Callers[i]
		path := index("simulation.callers", i)
		if len(c.Simulation.Callers) == 1 && s.Share == 0 {
			s.Share = 100
		}
		total += s.Share
		if s.DeadlineTo != 0 && s.DeadlineTo < s.Deadline {
			d.fail(join(path, "deadline_to"), "is below deadline")
		}
	}
	if len(c.Simulation.Callers) > 0 && total != 100 {
		d.fail("simulation.callers", "the shares are %d together; make them 100", total)
	}
}

// checkUpstreams also fills in the slots that were not written.
func (c *Config) checkUpstreams(d *document) {
	slots := map[string]int{}
	for _, m := range c.Models {
		for i := range m.Deployments {
			slots[m.Deployments[i].Name] = int(m.Deployments[i].Concurrency)
		}
	}
	for pool, m := range c.Models {
		own := map[string]int{pool: 0} // by the pools that it is made of
		for i := range m.Deployments {
			own[m.pool(pool, &m.Deployments[i])] += int(m.Deployments[i].Concurrency)
		}
		maps.Copy(slots, own)
	}
	for name, u := range c.Simulation.Upstreams {
		if _, ok := slots[name]; !ok {
			at := join("simulation.upstreams", name)
			d.fail(at, "no model and no deployment is called %s%s", d.quote(at, name), nearest(name, slices.Sorted(maps.Keys(slots))))
		} else if u.Slots == 0 {
			u.Slots = slots[name]
		}
	}
}
