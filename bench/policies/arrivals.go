package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/sim"
)

// list is a Source of arrivals in memory.
type list struct{ left []sim.Arrival }

func (l *list) Next() (a sim.Arrival, ok bool, err error) {
	if len(l.left) == 0 {
		return a, false, nil
	}
	a, l.left = l.left[0], l.left[1:]
	return a, true, nil
}

// readArrivals reads the Azure traces of a directory, merged, or generates
// arrivals like theirs: of the same rates and mean lengths, and outputs as
// widely spread.
func readArrivals(dir string) ([]sim.Arrival, error) {
	if dir == "" {
		return drain(sim.Poisson([]sim.Caller{
			{Name: "conv", Model: config.CatchAll, Rate: 5.53, Input: 1155, Output: 211, Spread: 0.6},
			{Name: "code", Model: config.CatchAll, Rate: 2.57, Input: 2048, Output: 28, Spread: 1.2},
		}, 3500*time.Second, seed))
	}
	var sources []sim.Source
	for i, tenant := range []string{"conv", "code"} {
		name := filepath.Join(dir, "AzureLLMInferenceTrace_"+tenant+".csv")
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("the traces are not there: %w", err)
		}
		defer f.Close()
		s, err := sim.Trace(name, f, sim.TraceOptions{Tenant: tenant, Model: config.CatchAll, Seed: seed + uint64(i)})
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return drain(sim.Merge(sources...))
}

// drain reads a source to its end. What the arrivals know of their callers is
// left out, so that a kind of caller is drawn for each.
func drain(s sim.Source) (all []sim.Arrival, err error) {
	for {
		a, ok, err := s.Next()
		if err != nil || !ok {
			return all, err
		}
		a.Manners, a.Group = nil, ""
		all = append(all, a)
	}
}

// changed is a copy in which every arrival was changed.
func changed(all []sim.Arrival, f func(*sim.Arrival)) []sim.Arrival {
	out := make([]sim.Arrival, len(all))
	for i, a := range all {
		f(&a)
		out[i] = a
	}
	return out
}

// stretched has all gaps longer by a factor.
func stretched(all []sim.Arrival, factor float64) []sim.Arrival {
	return changed(all, func(a *sim.Arrival) { a.At = time.Duration(float64(a.At) * factor) })
}

// burst lets what comes from a time on come faster, for so long. What comes
// after it comes as much sooner.
func burst(all []sim.Arrival, from, long time.Duration, faster float64) []sim.Arrival {
	squeezed := time.Duration(float64(long) * faster)
	return changed(all, func(a *sim.Arrival) {
		switch in := a.At - from; {
		case in <= 0:
		case in < squeezed:
			a.At = from + time.Duration(float64(in)/faster)
		default:
			a.At -= squeezed - long
		}
	})
}

// share is a tenant and its part of the requests, relative to the others.
type share struct {
	tenant string
	part   float64
	weight int
}

// split gives each arrival a tenant, at random by their parts.
func split(all []sim.Arrival, shares []share) []sim.Arrival {
	sum := 0.0
	for _, s := range shares {
		sum += s.part
	}
	rng := rand.New(rand.NewPCG(seed, 0x5917))
	return changed(all, func(a *sim.Arrival) {
		x := rng.Float64() * sum
		for _, s := range shares {
			a.Tenant = s.tenant
			if x -= s.part; x < 0 {
				break
			}
		}
	})
}
