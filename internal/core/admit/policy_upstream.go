package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/breaker"
	"github.com/spillway-llm/spillway/internal/core/route"
)

// Model is one pool: what callers name, and the deployments that serve it.
type Model struct {
	Name        string
	Deployments []Deployment
	// Balance is how a deployment is chosen among those that have room. Default
	// LeastLoaded.
	Balance Balance
	Score   ScoreWeights // for the balance Score
	Breaker BreakerPolicy
	// Fallback names the models that may serve a request instead, in order, by
	// the reason why this one does not.
	Fallback [NumCauses][]string
	Queue    QueuePolicy
	Prior    Prior
	Ladder   LadderPolicy
}

// The words of the packages below, for those who may not import them.
type (
	Balance       = route.Balance
	ScoreWeights  = route.Weights
	BreakerPolicy = breaker.Policy
	Latency       = breaker.Latency
	Told          = breaker.Told
)

// The orders of preference among deployments; see package route.
const (
	LeastLoaded = route.LeastLoaded
	RoundRobin  = route.RoundRobin
	Weighted    = route.Weighted
	Cost        = route.Cost
	Speed       = route.Speed
	Quality     = route.Quality
	Score       = route.Score
)

// BreakerOpen and BreakerHalfOpen are the states of a breaker that lets nothing
// pass, and a probe.
const (
	BreakerOpen     = breaker.Open
	BreakerHalfOpen = breaker.HalfOpen
)

// ParseBalance reads the name of a balance as it stands in configuration.
func ParseBalance(s string) (Balance, bool) { return route.Parse(s) }

// Cause is why a model does not serve a request that another model may.
type Cause uint8

const (
	CauseOverloaded Cause = iota // nothing usable, or it would come too late
	CauseContext                 // the request is longer than the model's context
	CauseFilter                  // the provider's content filter refused it
	CauseError                   // the attempts failed
	NumCauses       = iota
)

var causeNames = [NumCauses]string{"overloaded", "context", "content_filter", "error"}

func (c Cause) String() string { return causeNames[c] }

// Deployment is one upstream of a model.
type Deployment struct {
	Name string // unique in the policy, and stable over reloads
	// Concurrency is calls at once, over all keys; at least 1. With Auto it is
	// where learning begins.
	Concurrency int
	// Auto lets the concurrency be learnt, between 1 and Most, from how times
	// change with load.
	Auto bool
	Most int // default 16 times Concurrency
	// Tier is the order of preference: a deployment of a higher tier gets only
	// what those of lower ones cannot serve in time. Default 0.
	Tier int
	// Reserve puts the deployment behind all tiers.
	Reserve bool
	// Off gives it no further calls; those that run go on.
	Off    bool
	Weight int // for the balance Weighted. Default 1
	Price  Price
	// Quality by the task that a request names, between 0 and 1; "" holds for
	// tasks not named. Default 0.5.
	Quality map[string]float64
	// Keys are the limits of each key of the provider. Default one, without
	// known limits.
	Keys []Quota
}

// Quota is what a provider allows one key. Zero means that no limit is known;
// the provider's own words, when it says any, are learnt beside.
type Quota struct {
	Requests int64 // a minute
	Tokens   int64 // input and output a minute
	Daily    int64 // tokens a day
	// Midnight is when the provider's day begins, after midnight UTC; below zero if
	// that is before it.
	Midnight time.Duration
}

const (
	autoMost       = 16
	defaultQuality = 0.5
)

func (m *Model) defaults() {
	m.Breaker.Defaults()
	m.Ladder.defaults()
	for i := range m.Deployments {
		d := &m.Deployments[i]
		setDefault(&d.Concurrency, 1)
		setDefault(&d.Most, autoMost*d.Concurrency)
		setDefault(&d.Weight, 1)
		if len(d.Keys) == 0 {
			d.Keys = make([]Quota, 1)
		}
	}
}
