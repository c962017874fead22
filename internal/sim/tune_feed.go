package sim

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Feed is what the limits of a provider's keys can feed of one deployment.
type Feed struct {
	Deployment string
	Rate       float64       // calls a minute that they let pass
	Call       time.Duration // mean time of one
	Busy       int           // calls at once that use them up
	Useful     int           // and with headroom, as work comes unevenly
	why        string        // of Rate
}

// Feeds does the arithmetic of limits for the deployments that have some: what
// GET /admin/v1/upstreams says of a running gateway.
func Feeds(m *admit.Model, f *Profile) (feeds []Feed) {
	for i := range m.Deployments {
		d := &m.Deployments[i]
		rate := d.Feeds(f.Tokens)
		call, known := f.Calls[d.Name]
		if !known {
			call = f.Service
		}
		if math.IsInf(rate, 1) || call <= 0 {
			continue
		}
		feeds = append(feeds, Feed{
			Deployment: d.Name, Rate: rate * 60, Call: call, why: allowed(d, f),
			Busy: int(math.Ceil(rate * call.Seconds())), Useful: min(max(admit.Useful(rate, call), 1), mostCalls),
		})
	}
	return feeds
}

// allowed are the limits in words. Keys have equal ones.
func allowed(d *admit.Deployment, f *Profile) string {
	q := d.Keys[0]
	var parts []string
	if q.Requests > 0 {
		parts = append(parts, fmt.Sprintf("rpm %d", q.Requests))
	}
	if q.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("tpm %d / %.0f a request", q.Tokens, f.Tokens))
	}
	text := strings.Join(parts, " and ")
	if n := len(d.Keys); n > 1 {
		text += fmt.Sprintf(", of each of %d keys", n)
	}
	return text
}

// providers are the facts of the limits of deployments.
func (a *Arithmetic) providers(m *admit.Model, f *Profile) {
	feeds := Feeds(m, f)
	for i := range m.Deployments {
		d := &m.Deployments[i]
		for _, x := range feeds {
			if x.Deployment != d.Name {
				continue
			}
			a.fact("%s at %s: %s let pass %s requests a minute; of %s each they are used up by %d at once, and %d leave a quarter of headroom",
				x.Deployment, m.Name, x.why, short(x.Rate), rounded(x.Call), x.Busy, x.Useful)
			switch {
			case d.Auto: // it is learnt
			case d.Concurrency < x.Busy:
				a.warn("%s at %s: concurrency %d leaves its limits unused: they feed %d calls at once, and %d leave headroom", x.Deployment, m.Name, d.Concurrency, x.Busy, x.Useful)
			case d.Concurrency > far*x.Useful:
				a.warn("%s at %s: concurrency %d is out of reach: its limits feed %d calls at once", x.Deployment, m.Name, d.Concurrency, x.Busy)
			}
		}
	}
}

// Within keeps the concurrency of a pool's only deployment to what its limits
// can feed. That they feed more is a warning of Limits: whether the upstream has
// a place for more calls is not known here.
func (a Advice) Within(m *admit.Model, f *Profile) Advice {
	feeds := Feeds(m, f)
	if len(m.Deployments) != 1 || len(feeds) != 1 || m.Deployments[0].Auto {
		return a
	}
	x, most := &feeds[0], a.Concurrency
	if most == 0 {
		most = m.Deployments[0].Concurrency
	}
	if x.Useful < most {
		a.Concurrency = x.Useful
		a.why.concurrency = fmt.Sprintf("%s let pass %s requests a minute of %s each, and a quarter more", x.why, short(x.Rate), rounded(x.Call))
	}
	return a
}
