package config

import (
	"maps"
	"slices"
)

// eachBudget calls f with every budget of the configuration, its path, and the
// model whose costs alone it counts, if it is one.
func (c *Config) eachBudget(f func(path, model string, b *Budget)) {
	f("budget", "", &c.Budget)
	for i := range c.Tenants {
		t, path := &c.Tenants[i], index("tenants", i)
		f(join(path, "budget"), "", &t.Budget)
		budgets := join(path, "budgets")
		f(join(budgets, "key"), "", &t.Budgets.Key)
		f(join(budgets, "user"), "", &t.Budgets.User)
		f(join(budgets, "session"), "", &t.Budgets.Session)
		f(join(join(path, "limits"), "budget"), "", &t.Limits.Budget) // of any model
		for _, name := range slices.Sorted(maps.Keys(t.Models)) {
			m := t.Models[name]
			f(join(join(join(path, "models"), name), "budget"), name, &m.Budget)
		}
	}
}

func (c *Config) checkBudgets(d *document) {
	c.eachBudget(func(path, _ string, b *Budget) { b.check(d, path) })
}

// checkPrices wants a price wherever a budget counts what a deployment costs:
// an unknown one would be spent past the budget without a word.
func (c *Config) checkPrices(d *document) {
	counted := c.counted()
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		budget, ok := counted[name]
		if !ok {
			continue
		}
		for i := range c.Models[name].Deployments {
			if dep := &c.Models[name].Deployments[i]; c.Providers[dep.Provider] != nil && dep.Price.Source == PriceUnknown {
				d.fail(index(join(join("models", name), "deployments"), i),
					"the price of %s is unknown, and %s (%s) counts what it costs; write its price, or price: free", dep.Name, budget, d.line(budget))
			}
		}
	}
}

// counted are the models whose costs some budget counts, each with the path of
// the first such budget: of one model, also those that may serve in its place.
func (c *Config) counted() map[string]string {
	counted := map[string]string{}
	var reach func(model, budget string)
	reach = func(model, budget string) {
		m := c.Models[model]
		if counted[model] != "" || m == nil {
			return
		}
		counted[model] = budget
		for _, to := range slices.Concat(m.Fallback.Overloaded, m.Fallback.Context, m.Fallback.ContentFilter, m.Fallback.Error) {
			reach(to, budget)
		}
		for _, r := range m.Degrade {
			reach(r.Model, budget)
		}
	}
	c.eachBudget(func(path, model string, b *Budget) {
		switch {
		case b.none():
		case model != "":
			reach(model, path)
		default: // every tenant may use every model
			for name := range c.Models {
				reach(name, path)
			}
		}
	})
	return counted
}
