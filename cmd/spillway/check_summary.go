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
// preferred, and what limits them.
func summary(c *config.Config) string {
	var b strings.Builder
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
			tier := fmt.Sprintf("tier %d", d.Tier)
			if d.Reserve {
				tier = "reserve"
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", tier, d.Name, calls(d), quota(d, len(c.Providers[d.Provider].Credentials())))
		}
		w.Flush()
		for cause := range admit.Cause(admit.NumCauses) {
			if models := m.Fallback.For(cause); len(models) > 0 {
				fmt.Fprintf(&b, "  %s: %s instead\n", cause, strings.Join(models, ", then "))
			}
		}
	}
	return b.String()
}

// place is the order of preference: tiers, and the reserve behind all of them.
func place(d *config.Deployment) int {
	if d.Reserve {
		return 100 + d.Tier
	}
	return d.Tier
}

func calls(d *config.Deployment) string {
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
