package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// defaultConcurrency is what an upstream is trusted with when nothing is said.
const defaultConcurrency = 16

// Deployment is one upstream model.
type Deployment struct {
	// Name of a provider.
	Provider string `yaml:"provider" jsonschema:"required"`
	// The model's name at the provider. Default the name the pool has here; in the pool * the name the caller used.
	Model string `yaml:"model"`
	// Name in metrics, logs and simulation, unique in the file; what was learnt of the deployment stays with it when the file changes. Default provider/model, with #2 and so on for a repetition, in the order of pool names.
	Name string `yaml:"name"`
	// Calls at once over all keys, or auto to have the number learnt from how times change with load. Default 16, and the number of slots for a simulated provider; auto begins there. Smaller queues here instead of upstream.
	Concurrency Calls `yaml:"concurrency" jsonschema:"minimum=1,maximum=100000"`
	// The most calls at once that may be learnt. Default 16 times where learning begins. Only with concurrency: auto. Smaller protects an upstream that gets slow without saying so.
	MaxConcurrency int `yaml:"max_concurrency" jsonschema:"minimum=1,maximum=100000"`
	// Requests a minute that the provider allows each key. Default no limit known; what the provider says of its limits is learnt beside.
	RPM int64 `yaml:"rpm" jsonschema:"minimum=1"`
	// Tokens a minute, input and output, that the provider allows each key. Default no limit known.
	TPM int64 `yaml:"tpm" jsonschema:"minimum=1"`
	// Tokens a day, input and output, that the provider allows each key; the day is that of the provider's day_zone. Default no limit known.
	TPD int64 `yaml:"tpd" jsonschema:"minimum=1"`
	// What the provider charges. Default what the table of prices says of the model, else unknown: then it counts as nothing, and no budget can count it.
	Price Price `yaml:"price"`
	// How good its answers are, from 0 to 1: one number, or one by the task that a request names, with default for the others. Default 0.5.
	Quality Quality `yaml:"quality"`
	// Share of the calls for balance: weighted, relative to the other deployments. Default 1.
	Weight int `yaml:"weight" jsonschema:"minimum=1,maximum=1000000"`
	// Order of preference: a higher tier gets only what lower ones cannot serve in time. Default 0.
	Tier int `yaml:"tier" jsonschema:"minimum=0,maximum=99"`
	// Whether it stands behind all tiers, for what nobody else can serve. Default false.
	Reserve bool `yaml:"reserve"`
	// enabled, drained to give it no new calls while running ones finish, or disabled for the same with its slots counted as capacity that is missing. Default enabled.
	State Use `yaml:"state"`
	// How its weights are stored, such as int8, as a label like region. Default none.
	Precision string `yaml:"precision"`
	// Where it stands, as a label. Default the region of the provider.
	Region string `yaml:"region"`

	// Auto says that Concurrency is only where learning begins.
	Auto bool `yaml:"-"`

	named bool // the name was written
}

// Use is whether a deployment gets calls.
type Use string

const (
	Enabled  Use = "enabled"
	Drained  Use = "drained"  // no new ones
	Disabled Use = "disabled" // no new ones, and somebody should do something about it
)

func (u Use) String() string { return string(u) }

func (Use) choices() []string { return []string{string(Enabled), string(Drained), string(Disabled)} }

func (dep *Deployment) setDefaults() {
	dep.Weight, dep.State = 1, Enabled
	dep.Price.setDefaults()
}

// nameDeployments reserves the names that were written, so that no name which
// is made up takes one of them.
func (c *Config) nameDeployments(d *document) (taken map[string]bool) {
	taken = map[string]bool{}
	paths := map[string]string{}
	for _, pool := range slices.Sorted(maps.Keys(c.Models)) {
		for i, dep := range c.Models[pool].Deployments {
			at := join(index(join(join("models", pool), "deployments"), i), "name")
			switch first, twice := paths[dep.Name]; {
			case !d.wrote(at):
			case !printableName(dep.Name):
				d.fail(at, "a deployment's name is 1 to %d characters without spaces", maxName)
			case twice:
				d.fail(at, "%s is already the name of the deployment in %s", d.quote(at, dep.Name), d.line(first))
			default:
				taken[dep.Name], paths[dep.Name] = true, at
			}
		}
	}
	return taken
}

func (c *Config) checkDeployment(d *document, dep *Deployment, pool, path string, taken map[string]bool, prices *priceTable) {
	p, ok := c.Providers[dep.Provider]
	if !ok {
		at := join(path, "provider")
		d.fail(at, "no provider is called %s%s", d.quote(at, dep.Provider), nearest(dep.Provider, slices.Sorted(maps.Keys(c.Providers))))
		return
	}
	if at := join(path, "model"); d.wrote(at) && !printableName(dep.Model) {
		d.fail(at, "a model's name is 1 to %d characters without spaces", maxName)
	}
	if dep.Model == "" && pool != CatchAll {
		dep.Model = pool
	}
	dep.checkConcurrency(d, path, p)
	dep.price(d, path, p, prices)
	dep.Quality.check(d, join(path, "quality"))
	checkLabel(d, join(path, "precision"), dep.Precision)
	checkLabel(d, join(path, "region"), dep.Region)
	if dep.Region == "" {
		dep.Region = p.Region
	}
	if dep.named = dep.Name != ""; !dep.named {
		dep.makeName(taken)
	}
}

func (dep *Deployment) checkConcurrency(d *document, path string, p *Provider) {
	dep.Auto = dep.Concurrency == wordSaid
	if dep.Auto || dep.Concurrency == 0 {
		dep.Concurrency = defaultConcurrency
		if p.Kind == Simulated {
			dep.Concurrency = Calls(p.Slots)
		}
	}
	switch at := join(path, "max_concurrency"); {
	case dep.MaxConcurrency == 0:
	case !dep.Auto:
		d.fail(at, "only with concurrency: auto")
	default:
		dep.Concurrency = min(dep.Concurrency, Calls(dep.MaxConcurrency))
	}
}

func (dep *Deployment) makeName(taken map[string]bool) {
	model := dep.Model
	if model == "" {
		model = CatchAll
	}
	base := dep.Provider + "/" + model
	dep.Name = base
	for n := 2; taken[dep.Name]; n++ {
		dep.Name = fmt.Sprintf("%s#%d", base, n)
	}
	taken[dep.Name] = true
}

func (dep *Deployment) policy(p *Provider, now time.Time) admit.Deployment {
	return admit.Deployment{
		Name:        dep.Name,
		Concurrency: int(dep.Concurrency),
		Auto:        dep.Auto,
		Most:        dep.MaxConcurrency,
		Tier:        dep.Tier,
		Reserve:     dep.Reserve,
		Off:         dep.State == Drained || dep.State == Disabled,
		Weight:      dep.Weight,
		Price:       dep.Price.policy(),
		Quality:     dep.Quality.policy(),
		Keys:        dep.quotas(p, now),
	}
}

// quotas are the limits of each of the provider's credentials.
func (dep *Deployment) quotas(p *Provider, now time.Time) []admit.Quota {
	q := admit.Quota{Requests: dep.RPM, Tokens: dep.TPM, Daily: dep.TPD, Midnight: p.DayZone.midnight(now)}
	return slices.Repeat([]admit.Quota{q}, len(p.Credentials()))
}

// Plain reports whether the file says no more of a deployment than its
// provider, model and concurrency, so that these three are enough to write it
// again.
func (c *Config) Plain(dep *Deployment) bool {
	plain := Deployment{Provider: dep.Provider, Model: dep.Model, Concurrency: dep.Concurrency}
	plain.setDefaults()
	plain.Name, plain.Region, plain.Price = dep.Name, c.Providers[dep.Provider].Region, dep.Price
	if dep.Price.Source == PriceFile {
		return false
	}
	return reflect.DeepEqual(*dep, plain)
}
