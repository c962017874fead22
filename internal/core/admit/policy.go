package admit

import "time"

// Policy is everything an operator decides. It is immutable once given to a
// Controller; a change is a new Policy given to Configure. Fill it with
// literal values and call Defaults; zero means "the default", stated at each
// field.
type Policy struct {
	// Observe is the dark mode: predicted refusals are marked, counted and let
	// through. Hard limits and bounds still refuse.
	Observe bool
	Classes [NumClasses]ClassPolicy
	Retry   RetryPolicy
	Models  []Model
	Tenants []Tenant
	Budget  Budget // of all tenants together
}

// ClassPolicy is how one class is treated in every pool.
type ClassPolicy struct {
	// Deadline is given to a request that names none, from its arrival. A
	// smaller value refuses earlier. Default 10 min, as in the official SDKs.
	Deadline time.Duration
	// MaxWait bounds the time in the queue alone, whatever the deadline. A
	// smaller value refuses earlier. Default 30 s, 60 s, 300 s, 10 s by class.
	MaxWait time.Duration
	// Floor is the share of a pool's slot time, in per cent, that the class
	// gets while it has work, however much better classes want. Smaller lets
	// it starve. Default 0, 5, 2, 0.
	Floor int
	// Confidence is the quantile, in per cent, of the predicted service time
	// that must fit the deadline. Smaller admits more, and more of it late.
	// Default 95.
	Confidence int
}

// RetryPolicy bounds retries, the callers' and our own.
type RetryPolicy struct {
	// Percent of a tenant's first tries that may come again. Default 10;
	// negative means none.
	Percent int
	// Reserve is how many retries a tenant may always make in ten seconds,
	// so that small tenants can retry at all. Default 3; negative means none.
	Reserve int
	// Attempts is how often one request may be sent upstream, the first
	// included, over all deployments and models. Default 3; 1 means never again.
	Attempts int
	// Backoff is the mean pause before a deployment that failed is tried again
	// by the same request, when no other is left; it doubles each time. Default
	// 250 ms.
	Backoff time.Duration
	// Failover bounds our own further attempts, beside those of callers.
	Failover FailoverPolicy
}

// FailoverPolicy bounds the attempts that the gateway itself adds after a
// failure: by rate and by number at once, for each tenant and over all.
type FailoverPolicy struct {
	// Percent of the requests of the last ten seconds that may be sent again.
	// Default 20; negative means none.
	Percent int
	// Reserve is how many a tenant may always have in ten seconds, and how many
	// all tenants together may have for each deployment of the policy. Default
	// 10; negative means none.
	Reserve int
	// Concurrent is the share of running calls, in per cent, that may be requests
	// with further attempts, but at least Reserve: of each tenant's, and of all.
	// Default 50; negative means none beyond Reserve.
	Concurrent int
}

// Order is how one tenant's queue is served.
type Order uint8

const (
	Adaptive Order = iota // what must start first, which is first in first out among equal deadlines; the newest while the queue stands too long
	FIFO
	LIFO
)

var orderNames = [...]string{"adaptive", "fifo", "lifo"}

func (o Order) String() string { return orderNames[o] }

// QueuePolicy bounds the wait in one pool. Bounds hold over all classes.
type QueuePolicy struct {
	PerTenant int           // requests of one tenant that may wait. Default 1,000
	Total     int           // requests that may wait, of all tenants. Default 10,000
	Bytes     int64         // request bytes that may wait. Default 256 MiB
	Work      time.Duration // predicted time to serve all that waits, with every slot. Default 10 min
	// Low and High are watermarks: predicted waits. Below Low every class
	// queues; between them classes are held back in shed order; above High
	// nobody queues. Zero means relative to each request: half and all of the
	// time that its deadline leaves for waiting.
	Low, High time.Duration
	// DepthLow and DepthHigh are the same as numbers of waiting requests of
	// the pool; the stricter of both counts. Zero means no such watermark.
	DepthLow, DepthHigh int
	Order               Order
}

// Prior is what is believed of a model before anything was measured.
type Prior struct {
	First     time.Duration // fixed part of the first-token time. Default 200 ms
	PerInput  time.Duration // a token of input. Default 150 µs
	PerOutput time.Duration // a token of output. Default 20 ms
	Output    int64         // tokens of an answer. Default 200
}

// Tenant is one payer: its share, and its own limits.
type Tenant struct {
	Name   string
	Weight int // share under contention, relative to the other tenants. Default 1
	// LowTier puts the tenant's requests below batch in the shed order.
	LowTier     bool
	Concurrency int // requests at once, waiting or running, over all models. 0 means no limit
	// Limits by model name; the name "" holds for models not named, each on
	// its own.
	Limits  map[string]Limits
	Budgets Budgets
}

// Limits are one tenant's rates for one model, over any rolling minute.
type Limits struct {
	Requests int64 // a minute; 0 means no limit
	Tokens   int64 // input and output a minute; 0 means no limit
}

var classDefaults = [NumClasses]ClassPolicy{
	Interactive: {Deadline: 10 * time.Minute, MaxWait: 30 * time.Second, Floor: 0, Confidence: 95},
	Standard:    {Deadline: 10 * time.Minute, MaxWait: 60 * time.Second, Floor: 5, Confidence: 95},
	Batch:       {Deadline: 10 * time.Minute, MaxWait: 300 * time.Second, Floor: 2, Confidence: 95},
	Speculative: {Deadline: 10 * time.Minute, MaxWait: 10 * time.Second, Floor: 0, Confidence: 95},
}

// DefaultClass is the class policy that Defaults fills in.
func DefaultClass(c Class) ClassPolicy { return classDefaults[c] }

// Defaults fills every zero field. A negative Floor means none.
func (p *Policy) Defaults() {
	for i := range p.Classes {
		c, d := &p.Classes[i], classDefaults[i]
		setDefault(&c.Deadline, d.Deadline)
		setDefault(&c.MaxWait, d.MaxWait)
		setDefault(&c.Floor, d.Floor)
		setDefault(&c.Confidence, d.Confidence)
	}
	setDefault(&p.Retry.Percent, 10)
	setDefault(&p.Retry.Reserve, 3)
	setDefault(&p.Retry.Attempts, 3)
	setDefault(&p.Retry.Backoff, 250*time.Millisecond)
	setDefault(&p.Retry.Failover.Percent, 20)
	setDefault(&p.Retry.Failover.Reserve, 10)
	setDefault(&p.Retry.Failover.Concurrent, 50)
	for i := range p.Models {
		m := &p.Models[i]
		setDefault(&m.Queue.PerTenant, 1000)
		setDefault(&m.Queue.Total, 10_000)
		setDefault(&m.Queue.Bytes, 256<<20)
		setDefault(&m.Queue.Work, 10*time.Minute)
		setDefault(&m.Prior.First, 200*time.Millisecond)
		setDefault(&m.Prior.PerInput, 150*time.Microsecond)
		setDefault(&m.Prior.PerOutput, 20*time.Millisecond)
		setDefault(&m.Prior.Output, 200)
		m.defaults()
	}
	p.Budget.defaults()
	for i := range p.Tenants {
		setDefault(&p.Tenants[i].Weight, 1)
		p.Tenants[i].Budgets.defaults()
	}
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
