package config

import (
	"fmt"
	"maps"
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

	// Auto says that Concurrency is only where learning begins.
	Auto bool `yaml:"-"`
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
				d.fail(at, "%s is already the name of the deployment in line %d", d.quote(at, dep.Name), d.line(first))
			default:
				taken[dep.Name], paths[dep.Name] = true, at
			}
		}
	}
	return taken
}

func (c *Config) checkDeployment(d *document, dep *Deployment, pool, path string, taken map[string]bool) {
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
	if dep.Name == "" {
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
	return admit.Deployment{Name: dep.Name, Concurrency: int(dep.Concurrency), Auto: dep.Auto, Most: dep.MaxConcurrency}
}
