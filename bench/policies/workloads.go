package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/sim"
)

// workloads makes everything that is played.
func (b *bench) workloads() error {
	for _, make := range []func() error{b.plain, b.burst, b.brownout, b.providerLimit, b.tenants, b.retryStorm, b.leaving, b.biased, b.told} {
		if err := make(); err != nil {
			return err
		}
	}
	return nil
}

// plain is W1: the reference workload at several loads. With one tenant the
// clairvoyant has the same order of service as ours, and so is exact.
func (b *bench) plain() error {
	for _, load := range []float64{0.8, 0.9, 0.95, 1.1, 1.3, 2} {
		for _, one := range []bool{true, false} {
			p := b.add(fmt.Sprintf("W1 load %g, one tenant", load), load)
			if one {
				p.oneTenant()
			} else {
				p.title = fmt.Sprintf("W1 load %g, two tenants", load)
			}
			switch load {
			case 0.8:
				p.bar("3", "refused though feasible", atMost, 0.01, share100, feasible)
				p.bar("4", "over-shed", atMost, 0.01, share100, overshed)
			case 0.9:
				if one {
					p.bar("5", "error of the predicted wait", atMost, 0.5, seconds, waitError)
				}
			case 1.3:
				p.bar("3", "refused though feasible", atMost, 0.05, share100, feasible)
			}
			if load >= 1.1 {
				p.ofOracle(0.98)
			}
			p.bar("2", "served late", atMost, 0.01, share100, late)
			p.bar("2", "expired in the queue", atMost, 0.04, share100, expired)
			p.bar("2", "mean time to a refusal", atMost, 0.2, seconds, refusal)
		}
	}
	p := b.add("W1 load 1.3, one tenant, lengths of answers known", 1.3)
	p.oneTenant()
	p.manners(func(m *sim.Manners) { m.Capped = true })
	return nil
}

// burst is W2: at a load of 0.7, ten times as much for 66 s.
func (b *bench) burst() error {
	const from, long = 10 * time.Minute, 66 * time.Second
	p := b.add("W2 load 0.7, 10x for 66 s", 0.7)
	p.arrivals = burst(p.arrivals, from, long, 10)
	p.world.Script = []sim.Happening{{At: from + long, Do: func(*sim.Run) {}, Ends: true}}
	p.ofOracle(0.98)
	return nil
}

// brownout is W3: the upstream is three times slower for a tenth of the run.
func (b *bench) brownout() error {
	p := b.add("W3 load 0.6, upstream x3 slower for a tenth of the run", 0.6)
	p.ofOracle(0.97)
	_, err := p.script("at %v slow 3 until %v", 0.4, 0.5)
	return err
}

// providerLimit is W4: the limit of the provider halves, and returns.
func (b *bench) providerLimit() error {
	for _, told := range []string{"", "retry-after"} {
		title := "W4 load 0.8, limit halves and returns, no Retry-After"
		if told != "" {
			title = "W4 load 0.8, limit halves and returns, Retry-After"
		}
		p := b.add(title, 0.8)
		last := p.arrivals[len(p.arrivals)-1].At
		minute := 1.25 * float64(len(p.arrivals)) / last.Minutes()
		s, err := p.script(fmt.Sprintf("upstream requests=%.0f per=1m %s\nat %%v limit requests=%.0f until %%v", minute, told, minute/2), 0.4, 0.6)
		if err != nil {
			return err
		}
		p.upstream(func(u *sim.Upstream) { u.Limit = s.Upstream.Limit })
	}
	return nil
}

// tenants is W5: eight tenants, of which some want far more than others.
func (b *bench) tenants() error {
	for _, w := range []struct {
		title  string
		shares []share
		light  []string
	}{
		{"W5 load 2, two aggressors, two light tenants", []share{
			{"loud-1", 5, 1}, {"loud-2", 5, 1}, {"mid-1", 1, 1}, {"mid-2", 1, 1}, {"mid-3", 1, 1}, {"mid-4", 1, 1}, {"light-1", 0.2, 1}, {"light-2", 0.1, 1},
		}, []string{"light-1", "light-2"}},
		{"W5 load 2, eight equals", []share{
			{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}, {"d", 1, 1}, {"e", 1, 1}, {"f", 1, 1}, {"g", 1, 1}, {"h", 1, 1},
		}, nil},
		{"W5 load 3, weights 1 to 4", []share{
			{"a", 1, 4}, {"b", 1, 4}, {"c", 1, 2}, {"d", 1, 2}, {"e", 1, 2}, {"f", 1, 1}, {"g", 1, 1}, {"h", 1, 1},
		}, nil},
	} {
		load := 2.0
		if strings.Contains(w.title, "load 3") {
			load = 3
		}
		p := b.add(w.title, load)
		p.arrivals = split(p.arrivals, w.shares)
		for _, s := range w.shares {
			p.world.Policy.Tenants = append(p.world.Policy.Tenants, admit.Tenant{Name: s.tenant, Weight: s.weight})
		}
		p.bar("6", "Jain's index", atLeast, 0.99, number, func(r *sim.Result) float64 { return r.JainSlotSeconds })
		for _, name := range w.light {
			p.bar("6", name+": p95 of the wait", atMost, 0.5, seconds, func(r *sim.Result) float64 { return r.Tenants[name].WaitP95 })
			p.bar("6", name+": refusals", atMost, 0, number, func(r *sim.Result) float64 { return float64(r.Tenants[name].Refusals) })
		}
		p.bar("5", "error of the predicted wait, of the mean wait", atMost, 0.35, share100, func(r *sim.Result) float64 {
			return relative(r.Figures)
		})
		p.bar("5", "the same of the tenant where it is worst", atMost, 0.35, share100, func(r *sim.Result) (worst float64) {
			for _, f := range r.Tenants {
				worst = max(worst, relative(f))
			}
			return worst
		})
	}
	return nil
}

// relative is the error of the predicted wait as a part of the mean wait.
func relative(f sim.Figures) float64 { return f.WaitMAE / max(f.WaitMean, 1e-9) }

// retryStorm is W8: callers come back at once, up to three times; and once
// everything fails for a twentieth of the run.
func (b *bench) retryStorm() error {
	p := b.add("W8 load 1.3, refused callers come back at once, three times", 1.3)
	p.manners(func(m *sim.Manners) { m.Retries, m.Hasty = 3, true })
	p.bar("11", "calls upstream by request", atMost, 1.2, number, sends)
	p = b.add("W8 load 0.9, all fails for a twentieth, callers retry three times", 0.9)
	p.manners(func(m *sim.Manners) { m.Retries = 3 })
	p.bar("11", "calls upstream by request", atMost, 1.2, number, sends)
	_, err := p.script("at %v fail 1 until %v", 0.4, 0.45)
	return err
}

// leaving is W10: callers who hang up.
func (b *bench) leaving() error {
	p := b.add("W10 load 1.3, 30 % leave early", 1.3)
	p.manners(func(m *sim.Manners) { m.Leave = 0.3 })
	return nil
}

// biased is W11: what the operator believes of service times is wrong.
func (b *bench) biased() error {
	for _, factor := range []float64{0.33, 3} {
		p := b.add(fmt.Sprintf("W11 load 1.3, prior of service times x%g", factor), 1.3)
		for i := range p.world.Policy.Models {
			prior := &p.world.Policy.Models[i].Prior
			for _, d := range []*time.Duration{&prior.First, &prior.PerInput, &prior.PerOutput} {
				*d = time.Duration(float64(*d) * factor)
			}
		}
		p.ofOracle(0.98)
	}
	return nil
}

// told is W12: callers tell a wrong deadline.
func (b *bench) told() error {
	for _, factor := range []float64{0.3, 3} {
		p := b.add(fmt.Sprintf("W12 load 1.3, deadlines told x%g", factor), 1.3)
		p.manners(func(m *sim.Manners) { m.Told = factor })
	}
	return nil
}
