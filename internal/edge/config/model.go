package config

import (
	"maps"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Model is one pool: deployments that serve the same name, and the queue
// before them.
type Model struct {
	// The upstreams that serve it; at least one.
	Deployments []Deployment `yaml:"deployments" jsonschema:"required"`
	// How a deployment is chosen among those that have room: the less loaded of two taken at random, each in turn, each as often as its weight says, the cheapest that is in time, the fastest, the best, or the best sum of the three. Default least-loaded.
	Balance admit.Balance `yaml:"balance"`
	// What counts for balance: score.
	Score Score `yaml:"score"`
	// Requests that should go where an earlier one went, for what the upstream has in its cache: none, those of one session, or those that begin with the same prefix. Default none.
	Affinity Affinity `yaml:"affinity"`
	// Bytes of the prompt that must be alike for affinity: prefix. Default 4KiB. Smaller takes more requests for alike, and burdens one deployment with them.
	AffinityPrefix Bytes `yaml:"affinity_prefix" jsonschema:"minimum=16,maximum=1048576"`
	// When a deployment gets less, or nothing, because it fails or is slow.
	Breaker Breaker `yaml:"breaker"`
	// Models that may serve a request instead, by the reason why this one does not.
	Fallback Fallback `yaml:"fallback"`
	// Tokens of input and output together that the model can hold. A request that cannot fit is refused at once. Default 0: not known.
	Context int64 `yaml:"context" jsonschema:"minimum=0,maximum=1000000000"`
	// Whether it can answer as a stream. Default true. False refuses such requests at once.
	Streaming bool `yaml:"streaming"`
	// Whether it can call tools. Default true. False refuses requests that offer some.
	Tools bool `yaml:"tools"`
	// Whether it can see pictures. Default true. With false a request with pictures does not come here.
	Images bool `yaml:"images"`
	// Whether its answers may be kept and given again to callers that ask for it, within the size and time under answers. Default false.
	Cache bool `yaml:"cache"`
	// Cheaper forms of a request, from the least to the most that is taken away, for callers that agreed to it; at most 8. Default none: nothing is degraded.
	Degrade []Rung `yaml:"degrade" jsonschema:"maxItems=8"`
	// When they are used.
	Ladder Ladder `yaml:"ladder"`
	// How much may wait, and how long.
	Queue Queue `yaml:"queue"`
	// What is believed of the model's speed before anything was measured.
	Prior Prior `yaml:"prior"`
}

// Queue bounds the wait in one pool.
type Queue struct {
	// Requests of one tenant that may wait. Default 1000, and never above total. Smaller refuses a tenant's bursts sooner.
	PerTenant int `yaml:"per_tenant" jsonschema:"minimum=1,maximum=10000000"`
	// Requests that may wait. Default 10000. Smaller refuses sooner.
	Total int `yaml:"total" jsonschema:"minimum=1,maximum=10000000"`
	// Request bytes that may wait. Default 256MiB. Smaller holds less memory.
	Bytes Bytes `yaml:"bytes" jsonschema:"minimum=1024"`
	// Predicted time to serve all that waits. Default 10m. Smaller refuses sooner.
	Work time.Duration `yaml:"work" jsonschema:"exclusiveMinimum=0"`
	// Predicted wait above which low classes are held back. Default 0s: half of what a request's deadline leaves. Set it together with high.
	Low time.Duration `yaml:"low"`
	// Predicted wait above which nobody queues. Default 0s: all of what a request's deadline leaves. Set it together with low.
	High time.Duration `yaml:"high"`
	// Waiting requests above which low classes are held back. Default 0: no such watermark. Set it together with depth_high.
	DepthLow int `yaml:"depth_low" jsonschema:"minimum=0"`
	// Waiting requests above which nobody queues. Default 0: no such watermark. Set it together with depth_low.
	DepthHigh int `yaml:"depth_high" jsonschema:"minimum=0"`
	// How one tenant's requests follow each other: fifo, lifo, or adaptive: what must start first by its deadline, in equal deadlines fifo, and the newest first while the queue is of no use. Default adaptive.
	Order Order `yaml:"order"`
}

// Order is how one tenant's queue is served.
type Order string

const (
	Adaptive Order = "adaptive"
	FIFO     Order = "fifo"
	LIFO     Order = "lifo"
)

var orders = map[Order]admit.Order{Adaptive: admit.Adaptive, FIFO: admit.FIFO, LIFO: admit.LIFO}

func (o Order) String() string { return string(o) }

func (Order) choices() []string { return []string{string(Adaptive), string(FIFO), string(LIFO)} }

// Prior is what is believed of a model before anything was measured. What is
// measured soon outweighs it.
type Prior struct {
	// Fixed part of the time to the first token. Default 200ms.
	FirstToken time.Duration `yaml:"first_token" jsonschema:"exclusiveMinimum=0"`
	// Time of one token of input. Default 150us.
	PerInputToken time.Duration `yaml:"per_input_token" jsonschema:"exclusiveMinimum=0"`
	// Time of one token of output. Default 20ms.
	PerOutputToken time.Duration `yaml:"per_output_token" jsonschema:"exclusiveMinimum=0"`
	// Tokens of an answer. Default 200.
	OutputTokens int64 `yaml:"output_tokens" jsonschema:"minimum=1,maximum=10000000"`
}

// The decision core owns the defaults; they are taken from there.
func (m *Model) setDefaults() {
	m.Streaming, m.Tools, m.Images = true, true, true
	p := admit.Policy{Models: []admit.Model{{}}}
	p.Defaults()
	q, r := p.Models[0].Queue, p.Models[0].Prior
	m.Queue = Queue{PerTenant: q.PerTenant, Total: q.Total, Bytes: Bytes(q.Bytes), Work: q.Work, Order: Adaptive}
	m.Balance, m.Score = p.Models[0].Balance, Score{Cost: 1, Speed: 1, Quality: 1}
	m.Breaker.setDefaults(p.Models[0].Breaker)
	m.Ladder.setDefaults(p.Models[0].Ladder)
	m.Affinity, m.AffinityPrefix = AffinityNone, defaultPrefix
	m.Prior = Prior{FirstToken: r.First, PerInputToken: r.PerInput, PerOutputToken: r.PerOutput, OutputTokens: r.Output}
}

func (c *Config) checkModels(d *document, prices *priceTable) {
	if len(c.Models) == 0 {
		if d.wrote("models") && len(d.problems) == 0 {
			d.fail("models", "is empty; name a model, or leave models out with a single provider")
		}
		c.catchAll(d)
	}
	taken := c.nameDeployments(d)
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		m, path := c.Models[name], join("models", name)
		if !printableName(name) {
			d.fail(path, "a model's name is 1 to %d characters without spaces", maxName)
		}
		if len(m.Deployments) == 0 {
			d.fail(path, "deployments is empty; name a provider that serves it")
		}
		for i := range m.Deployments {
			c.checkDeployment(d, &m.Deployments[i], name, index(join(path, "deployments"), i), taken, prices)
		}
		m.Score.check(d, join(path, "score"), m.Balance)
		m.checkAffinity(d, path)
		m.Breaker.check(d, join(path, "breaker"))
		m.Fallback.check(d, join(path, "fallback"), name, c.Models)
		m.Queue.check(d, join(path, "queue"))
	}
}

// catchAll makes the pool that a file without models means.
func (c *Config) catchAll(d *document) {
	if len(c.Providers) > 1 {
		d.fail("providers", "there are %d and no models; say under models which one serves what", len(c.Providers))
	}
	for name := range c.Providers {
		m := &Model{Deployments: []Deployment{{Provider: name}}}
		m.setDefaults()
		m.Deployments[0].setDefaults()
		c.Models = map[string]*Model{CatchAll: m}
	}
}

func (q *Queue) check(d *document, path string) {
	switch at := join(path, "per_tenant"); {
	case q.PerTenant <= q.Total:
	case d.wrote(at):
		d.fail(at, "%d is above total, which is %d", q.PerTenant, q.Total)
	default:
		q.PerTenant = q.Total
	}
	q.checkMarks(d, path, "low", "high", int64(q.Low), int64(q.High))
	q.checkMarks(d, path, "depth_low", "depth_high", int64(q.DepthLow), int64(q.DepthHigh))
}

func (q *Queue) checkMarks(d *document, path, lowKey, highKey string, low, high int64) {
	switch {
	case low > 0 && high == 0:
		d.fail(join(path, lowKey), "needs %s too", highKey)
	case high > 0 && low == 0:
		d.fail(join(path, highKey), "needs %s too", lowKey)
	case low > 0 && low >= high:
		d.fail(join(path, lowKey), "must be below %s", highKey)
	}
}
