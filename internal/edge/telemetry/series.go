package telemetry

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Names are the label values that come from the configuration.
type Names struct {
	Tenants     []string
	Models      []string // pools, as in admit.Model
	Deployments []string
	Kinds       []string // how an upstream attempt can end
	Rungs       []string // of all models' ladders
}

const (
	otherName = "other" // every name that is not configured
	maxLabel  = 128     // bytes of one label value; the rest is cut off
)

// label makes a configured name fit for a label value.
func label(s string) string {
	return clip(strings.ToValidUTF8(s, "\uFFFD"), maxLabel)
}

// clip cuts s to at most n bytes, not inside a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// catalogue holds the handles of all configured names. Its maps are immutable,
// so that they are read without a lock; the handles in them fill on first use.
type catalogue struct {
	tenants     index[tenantSeries]
	models      index[modelSeries]
	deployments index[deploymentSeries]
	kinds       index[numbered]
	rungs       index[numbered]
	pairs       *pairs // that have series of their own
}

// numbered is a name with its place in the lists of others.
type numbered struct {
	label string
	nr    int
}

func newCatalogue(n Names, p *pairs) *catalogue {
	c := &catalogue{pairs: p}
	number := func(nr int, l string) *numbered { return &numbered{nr: nr, label: l} }
	c.kinds, c.rungs = newIndex(n.Kinds, number), newIndex(n.Rungs, number)
	c.models = newIndex(n.Models, func(nr int, l string) *modelSeries {
		return &modelSeries{nr: nr, label: l, rungs: make([]handle[prometheus.Counter], c.rungs.size)}
	})
	c.tenants = newIndex(n.Tenants, func(_ int, l string) *tenantSeries {
		return &tenantSeries{label: l, usage: make([]handle[*usageSeries], c.models.size)}
	})
	c.deployments = newIndex(n.Deployments, func(_ int, l string) *deploymentSeries {
		return &deploymentSeries{label: l, attempts: make([]handle[prometheus.Counter], c.kinds.size*numStatuses)}
	})
	return c
}

func (c *catalogue) tenant(s string) *tenantSeries         { return c.tenants.get(s) }
func (c *catalogue) model(s string) *modelSeries           { return c.models.get(s) }
func (c *catalogue) deployment(s string) *deploymentSeries { return c.deployments.get(s) }
func (c *catalogue) kind(s string) *numbered               { return c.kinds.get(s) }
func (c *catalogue) rung(s string) *numbered               { return c.rungs.get(s) }

// index finds a configured name, or what stands for all others.
type index[T any] struct {
	byName  map[string]*T
	labels  map[string]bool // as exported, "other" included
	other   *T
	longest int // bytes; a longer name is not looked up, since hashing it would cost its length
	size    int // numbers handed out: 0 is "other"
}

func newIndex[T any](names []string, make func(nr int, label string) *T) index[T] {
	x := index[T]{byName: map[string]*T{}, labels: map[string]bool{otherName: true}, other: make(0, otherName), size: 1}
	for _, s := range names {
		if x.byName[s] != nil {
			continue
		}
		l := label(s)
		x.byName[s] = make(x.size, l)
		x.labels[l] = true
		x.longest = max(x.longest, len(s))
		x.size++
	}
	return x
}

func (x *index[T]) get(s string) *T {
	if len(s) <= x.longest {
		if v := x.byName[s]; v != nil {
			return v
		}
	}
	return x.other
}

// series are the handles of one request.
type series struct {
	names  *catalogue // that the others are from
	tenant *tenantSeries
	model  *modelSeries
}

type tenantSeries struct {
	label       string
	decisions   [admit.NumClasses]handle[*decisionSeries]
	wouldRefuse [admit.NumClasses]handle[prometheus.Counter]
	retries     [2][2]handle[prometheus.Counter] // by whom, refused
	usage       []handle[*usageSeries]           // by model number
}

type decisionSeries [admit.NumStages][numVerdicts]handle[prometheus.Counter]

type usageSeries struct {
	tenant   string // its label: other if there are too many pairs
	tokens   [numDirections]handle[prometheus.Counter]
	requests [numOutcomes]handle[prometheus.Counter]
	cost     handle[prometheus.Counter]
	unpriced handle[prometheus.Counter]
}

type modelSeries struct {
	label     string
	nr        int
	depth     [admit.NumClasses]handle[prometheus.Observer]
	predicted [admit.NumClasses]handle[prometheus.Observer]
	waited    [admit.NumClasses]handle[prometheus.Observer]
	duration  [numOutcomes]handle[prometheus.Observer]
	waitError handle[prometheus.Observer]
	waitRatio handle[prometheus.Observer]
	ttft      handle[prometheus.Observer]
	tpot      handle[prometheus.Observer]
	dropped   [2]handle[prometheus.Counter]
	recalled  [2]handle[prometheus.Counter]
	answers   [admit.NumClasses][2]handle[prometheus.Counter] // late, in time
	rungs     []handle[prometheus.Counter]                    // by rung number
	degraded  [numDegraded]degradedSeries                     // by place
}

type degradedSeries struct {
	finishes [numFinishes]handle[prometheus.Counter]
	duration handle[prometheus.Observer] // of degraded traffic only, as the next
	ttft     handle[prometheus.Observer]
}

type deploymentSeries struct {
	label    string
	attempts []handle[prometheus.Counter] // kind number x status
	service  [2]handle[prometheus.Observer]
	first    handle[prometheus.Observer]
	wasted   handle[prometheus.Counter]
}

// handle is a series that is made on first use, so that only what happened is
// exported. Two that make it at once get the same series from the vector.
type handle[T any] struct{ p atomic.Pointer[T] }

func (h *handle[T]) get(make func() T) T {
	if p := h.p.Load(); p != nil {
		return *p
	}
	v := make()
	h.p.CompareAndSwap(nil, &v)
	return *h.p.Load()
}
