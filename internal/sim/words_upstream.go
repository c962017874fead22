package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// deployment is one upstream as the gateway is told of it.
func (p *parser) deployment(words []string) error {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return fmt.Errorf("give a name")
	}
	d := admit.Deployment{Name: words[0]}
	if slices.Contains(p.named, d.Name) {
		return fmt.Errorf("%s has been named above", d.Name)
	}
	if len(p.named) == 0 && len(p.model().Deployments) > 0 {
		return fmt.Errorf("a line \"slots\" says the deployments already: leave it out")
	}
	var key admit.Quota
	keys, quality := 1, -1.0
	err := readOptions(words[1:], map[string]func(string) error{
		"slots": integer(&d.Concurrency), "auto": toggle(&d.Auto), "most": integer(&d.Most), "tier": integer(&d.Tier), "reserve": toggle(&d.Reserve), "weight": integer(&d.Weight),
		"price-in": price(&d, &d.Price.Input), "price-out": price(&d, &d.Price.Output), "price-request": price(&d, &d.Price.Request), "quality": number(&quality),
		"keys": integer(&keys), "rpm": integer(&key.Requests), "tpm": integer(&key.Tokens), "tpd": integer(&key.Daily),
	})
	if err != nil {
		return err
	}
	if d.Concurrency < 1 {
		return fmt.Errorf("say slots=N, the calls at once that the gateway makes there")
	}
	if keys < 1 || keys > mostKeys {
		return fmt.Errorf("keys=%d: there are 1 to %d", keys, mostKeys)
	}
	if quality > 1 {
		return fmt.Errorf("quality=%v: it lies between 0 and 1", quality)
	}
	if quality >= 0 {
		d.Quality = map[string]float64{"": quality}
	}
	d.Keys = slices.Repeat([]admit.Quota{key}, keys)
	p.model().Deployments = append(p.model().Deployments, d)
	p.named = append(p.named, d.Name)
	return nil
}

// mostKeys is more than anybody has at one provider.
const mostKeys = 1000

// dollars reads a price and keeps micro-dollars.
func dollars(n *int64) func(string) error {
	return func(v string) error {
		f, err := amount(v)
		*n = int64(math.Round(f * 1e6))
		return err
	}
}

// price reads one part of a price, which makes it known.
func price(d *admit.Deployment, n *int64) func(string) error {
	return func(v string) error {
		d.Price.Known = true
		return dollars(n)(v)
	}
}

// truth is a line about the upstream of one deployment. It is read when all
// that it builds on is known.
type truth struct {
	line  int
	name  string
	words []string
}

// upstream says what upstreams have that the gateway was not told: one that is
// named, or all.
func (p *parser) upstream(words []string) error {
	if len(words) > 0 && !strings.Contains(words[0], "=") && limitOptions(new(Limit))[words[0]] == nil {
		if !slices.Contains(p.named, words[0]) {
			return fmt.Errorf("no deployment %q has been named above: add a line \"deployment %s slots=16\"", words[0], words[0])
		}
		p.truths = append(p.truths, truth{p.line, words[0], words[1:]})
		u := p.s.Upstream
		return u.read(words[1:])
	}
	u := &p.s.Upstream
	p.slotted = slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "slots=") })
	options := limitOptions(&u.Limit)
	options["slots"], options["queue"] = integer(&u.Slots), integer(&u.Queue)
	return readOptions(words, options)
}

func limitOptions(l *Limit) map[string]func(string) error {
	return map[string]func(string) error{
		"requests": integer(&l.Requests), "tokens": integer(&l.Tokens), "day": integer(&l.Daily), "per": duration(&l.Per), "burst": duration(&l.Burst),
		"retry-after": toggle(&l.RetryAfter), "headers": toggle(&l.Headers), "refused-count": toggle(&l.Refused),
		"limit": func(v string) error {
			i := slices.Index(limitNames[:], v)
			if i < 0 {
				return unknownWord("kind of limit", v, limitNames[:])
			}
			l.Kind = LimitKind(i)
			return nil
		},
	}
}

// read reads what is true of one upstream beyond what holds for all.
func (u *Upstream) read(words []string) error {
	options := limitOptions(&u.Limit)
	options["slots"], options["queue"] = integer(&u.Slots), integer(&u.Queue)
	options["sigma"], options["slowdown"] = number(&u.Noise), number(&u.Slowdown)
	options["service"] = func(v string) error {
		if u.Mean = 0; v == "tokens" {
			u.First, u.PerInput, u.PerOutput = 200*time.Millisecond, 150*time.Microsecond, 20*time.Millisecond
			return nil
		}
		return duration(&u.Mean)(v)
	}
	part := func(d *time.Duration) func(string) error {
		return func(v string) error {
			if u.Mean > 0 {
				return fmt.Errorf("times are made of tokens only after service=tokens")
			}
			return duration(d)(v)
		}
	}
	options["first"], options["input"], options["output"] = part(&u.First), part(&u.PerInput), part(&u.PerOutput)
	return readOptions(words, options)
}

// upstreams makes those of the deployments that have a line, and checks what
// names models.
func (p *parser) upstreams() error {
	s := p.s
	for i := range s.Policy.Models {
		for _, to := range s.Policy.Models[i].Fallback {
			for _, name := range to {
				if err := p.knows(name); err != nil {
					return fmt.Errorf("fallback of %s: %w", s.Policy.Models[i].Name, err)
				}
			}
		}
		for _, d := range s.Policy.Models[i].Deployments {
			if slices.Contains(p.named, d.Name) && p.knows(d.Name) == nil {
				return fmt.Errorf("deployment %s has the name of a model: give it another", d.Name)
			}
			if !slices.Contains(p.named, d.Name) {
				continue
			}
			u := s.Upstream
			if !p.slotted {
				u.Slots = d.Concurrency
			}
			for _, t := range p.truths {
				if t.name != d.Name {
					continue
				}
				if err := u.read(t.words); err != nil {
					return fmt.Errorf("line %d: upstream: %w", t.line, err)
				}
			}
			if s.Upstreams == nil {
				s.Upstreams = map[string]Upstream{}
			}
			s.Upstreams[d.Name] = u
		}
	}
	return nil
}
