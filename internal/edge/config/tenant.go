package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Tenant is one payer: its keys, its share and its limits.
type Tenant struct {
	// Name, as in metrics and logs. Unique.
	Name string `yaml:"name" jsonschema:"required"`
	// The keys its callers send, each as its hash, as printed by spillway check --hash-key, or as {hash: ..., name: ...}. At least one.
	Keys []Key `yaml:"keys" jsonschema:"required"`
	// Share under contention, relative to other tenants. Default 1.
	Weight int `yaml:"weight" jsonschema:"minimum=1,maximum=1000000"`
	// normal, or low to be shed before batch work. Default normal.
	Tier Tier `yaml:"tier"`
	// Classes its callers may ask for. Default all.
	Classes []admit.Class `yaml:"classes"`
	// Class of a request that asks for none. Default interactive if it may use that, else the first of its classes.
	DefaultClass admit.Class `yaml:"default_class"`
	// Requests at once, waiting or running, over all models. Default no limit.
	Concurrency int `yaml:"concurrency" jsonschema:"minimum=1,maximum=10000000"`
	// By which rungs of a ladder its requests may be degraded: ask for those that the caller allows in a header, features for those that take features away, any for all, both unless the caller says otherwise, or never. Default ask.
	Degrade Consent `yaml:"degrade"`
	// What it may spend as a whole. Default no limit.
	Budget Budget `yaml:"budget"`
	// What each of its keys, end users and sessions may spend. Default no limits.
	Budgets Budgets `yaml:"budgets"`
	// Rates, budget and consent by model, each in place of what limits and degrade say. It limits only: every tenant may use every model.
	Models map[string]ModelRates `yaml:"models"`
	// Rates and budget of each model for which models says none, each on its own.
	Limits Rates `yaml:"limits"`
}

// Tier is a tenant's rank when work is shed.
type Tier string

const (
	TierNormal Tier = "normal"
	TierLow    Tier = "low"
)

func (t Tier) String() string { return string(t) }

func (Tier) choices() []string { return []string{string(TierNormal), string(TierLow)} }

// Rates are limits over any rolling minute, and of money.
type Rates struct {
	// Requests a minute. Default no limit.
	RPM int64 `yaml:"rpm" jsonschema:"minimum=1"`
	// Tokens a minute, input and output. Default no limit.
	TPM int64 `yaml:"tpm" jsonschema:"minimum=1"`
	// What the tenant may spend on the model. Default no limit.
	Budget Budget `yaml:"budget"`
}

// ModelRates is what holds for one tenant's use of one model. If rpm or tpm is
// written, neither is taken from limits.
type ModelRates struct {
	// Requests a minute. Default as under limits if tpm is not written either, else no limit.
	RPM int64 `yaml:"rpm" jsonschema:"minimum=1"`
	// Tokens a minute, input and output. Default as under limits if rpm is not written either, else no limit.
	TPM int64 `yaml:"tpm" jsonschema:"minimum=1"`
	// What the tenant may spend on the model. Default as under limits.
	Budget Budget `yaml:"budget"`
	// By which rungs of the model's ladder its requests may be degraded. Default what degrade of the tenant says.
	Degrade Consent `yaml:"degrade"`
}

// MayUse reports whether the tenant's callers may ask for class k.
func (t *Tenant) MayUse(k admit.Class) bool { return slices.Contains(t.Classes, k) }

func (t *Tenant) setDefaults() { t.Weight, t.Tier, t.Degrade = 1, TierNormal, ConsentAsk }

// fillClasses completes what was left out; chosen tells whether the default
// class was written.
func (t *Tenant) fillClasses(chosen bool) {
	if len(t.Classes) == 0 {
		for k := range admit.Class(admit.NumClasses) {
			t.Classes = append(t.Classes, k)
		}
	}
	if !chosen && !t.MayUse(t.DefaultClass) {
		t.DefaultClass = t.Classes[0]
	}
}

func (c *Config) checkTenants(d *document) {
	names, keys := map[string]int{}, map[string]int{}
	for i := range c.Tenants {
		t, path := &c.Tenants[i], index("tenants", i)
		at := join(path, "name")
		if first, ok := names[t.Name]; ok {
			d.fail(at, "%s is already the name of the tenant in %s", d.quote(at, t.Name), d.line(index("tenants", first)))
		} else if !printableName(t.Name) {
			d.fail(at, "a tenant's name is 1 to %d characters without spaces", maxName)
		}
		names[t.Name] = i
		if len(t.Keys) == 0 {
			d.fail(path, "keys is empty, so nobody could call; make a key with: spillway check --hash-key")
		}
		for j := range t.Keys {
			c.checkKey(d, i, j, keys)
		}
		c.checkTenant(d, t, path)
	}
}

// checkKey never repeats what was written: it may be the key itself.
func (c *Config) checkKey(d *document, tenant, n int, seen map[string]int) {
	at := index(join(index("tenants", tenant), "keys"), n)
	k := &c.Tenants[tenant].Keys[n]
	key := strings.ToLower(k.Hash)
	k.Hash = key
	if _, ok := parseHash(key); !ok {
		d.fail(at, "not a hash; keys are not stored in the clear: write what this prints: spillway check --hash-key")
		return
	}
	switch owner, ok := seen[key]; {
	case ok && owner == tenant:
		d.fail(at, "written twice")
	case ok:
		name := join(index("tenants", owner), "name")
		d.fail(at, "this key is also tenant %s's (%s)", d.quote(name, c.Tenants[owner].Name), d.line(name))
	default:
		seen[key] = tenant
	}
	name := join(at, "name")
	if d.wrote(name) && !printableName(k.Name) {
		d.fail(name, "a key's name is 1 to %d characters without spaces", maxName)
	}
	if k.Name == "" {
		k.Name = key[len(hashPrefix):][:keyDigits]
	}
	if slices.ContainsFunc(c.Tenants[tenant].Keys[:n], func(o Key) bool { return o.Name == k.Name && o.Hash != k.Hash }) {
		if !d.wrote(name) {
			name = at
		}
		d.fail(name, "another key of the tenant has this name already")
	}
}

func (c *Config) checkTenant(d *document, t *Tenant, path string) {
	for i, k := range t.Classes {
		if slices.Contains(t.Classes[:i], k) {
			d.fail(index(join(path, "classes"), i), "%s is written twice", k)
		}
	}
	at := join(path, "default_class")
	t.fillClasses(d.wrote(at))
	if !t.MayUse(t.DefaultClass) {
		d.fail(at, "%s is not among the tenant's classes", t.DefaultClass)
	}
	known := slices.Sorted(maps.Keys(c.Models))
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		if _, ok := c.Models[name]; !ok {
			d.fail(join(join(path, "models"), name), "no model is called %q%s", name, nearest(name, known))
		}
	}
}
