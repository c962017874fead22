package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// summary lists who serves each model, in the order in which they are
// preferred, what limits them, what they charge and who says so.
func summary(c *config.Config) string {
	var b strings.Builder
	table := false
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		m := c.Models[name]
		fmt.Fprintf(&b, "\n%s: balance %s", name, m.Balance)
		if m.Affinity != config.AffinityNone {
			fmt.Fprintf(&b, ", affinity %s", m.Affinity)
		}
		b.WriteString("\n")
		list := slices.Clone(m.Deployments)
		slices.SortStableFunc(list, func(x, y config.Deployment) int { return cmp.Compare(place(&x), place(&y)) })
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for i := range list {
			d := &list[i]
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", standing(m, d), d.Name, calls(d), charges(&d.Price), quota(d, len(c.Providers[d.Provider].Credentials())))
			table = table || d.Price.Source == config.PriceTable
		}
		w.Flush()
		if rungs := ladder(m); rungs != "" {
			fmt.Fprintf(&b, "  degrade: %s\n", rungs)
		}
		for cause := range admit.Cause(admit.NumCauses) {
			if models := m.Fallback.For(cause); len(models) > 0 {
				fmt.Fprintf(&b, "  %s: %s instead\n", cause, strings.Join(models, ", then "))
			}
		}
	}
	if table {
		fmt.Fprintf(&b, "\nPrices from the table are of %s: check them against what you are billed.\n", c.PricesAsOf())
	}
	return b.String()
}

// tenants are those of the file. Without any, everybody is one.
func tenants(c *config.Config) string {
	if c.Open() {
		return "no tenants"
	}
	return count(len(c.Tenants), "tenant")
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// charges is a price for a million tokens in short, and where it comes from.
func charges(p *config.Price) string {
	switch {
	case p.Source == config.PriceUnknown:
		return "price unknown"
	case p.Input == 0 && p.Output == 0 && p.Request == 0:
		return fmt.Sprintf("free (%s)", p.Source)
	case p.Input == 0 && p.Output == 0:
		return fmt.Sprintf("$%v a request (%s)", p.Request, p.Source)
	}
	return fmt.Sprintf("$%v in, $%v out (%s)", p.Input, p.Output, p.Source)
}

// ladder names the rungs in the order of their use.
func ladder(m *config.Model) string {
	var names []string
	for i := range m.Degrade {
		r := &m.Degrade[i]
		what := ""
		switch {
		case !r.Enabled:
			what = " (off)"
		case r.Model != "":
			what = " (" + r.Model + ")"
		}
		names = append(names, r.Name+what)
	}
	return strings.Join(names, ", then ")
}

// standing is for which requests a deployment is there: those of its tier, or
// those that a rung of the ladder sends to its precision.
func standing(m *config.Model, d *config.Deployment) string {
	for i := range m.Degrade {
		if r := &m.Degrade[i]; r.Precision != "" && r.Precision == d.Precision {
			return "rung " + r.Name
		}
	}
	if d.Reserve {
		return "reserve"
	}
	return fmt.Sprintf("tier %d", d.Tier)
}

// place is the order of preference: tiers, and the reserve behind all of them.
func place(d *config.Deployment) int {
	if d.Reserve {
		return 100 + d.Tier
	}
	return d.Tier
}

func calls(d *config.Deployment) string {
	if d.State != config.Enabled {
		return d.State.String() + ", " + concurrency(d)
	}
	return concurrency(d)
}

func concurrency(d *config.Deployment) string {
	switch {
	case d.Auto && d.MaxConcurrency > 0:
		return fmt.Sprintf("concurrency learnt from %d, at most %d", d.Concurrency, d.MaxConcurrency)
	case d.Auto:
		return fmt.Sprintf("concurrency learnt from %d", d.Concurrency)
	}
	return fmt.Sprintf("concurrency %d", d.Concurrency)
}

func quota(d *config.Deployment, keys int) string {
	var parts []string
	for _, l := range []struct {
		n    int64
		what string
	}{{d.RPM, "requests a minute"}, {d.TPM, "tokens a minute"}, {d.TPD, "tokens a day"}} {
		if l.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", l.n, l.what))
		}
	}
	text := strings.Join(parts, ", ")
	switch {
	case text == "":
		text = "no limit known"
	case keys > 1:
		text += " for each"
	}
	if keys > 1 {
		return fmt.Sprintf("%d keys, %s", keys, text)
	}
	return text
}
