package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// answeredAt is a request that was answered at once by a deployment.
func answeredAt(at time.Duration, tenant string, input, output int64, took time.Duration) Seen {
	return Seen{
		At: at, Tenant: tenant, Model: "chat", Input: input, Deadline: time.Minute, Told: true, Came: CameAnswer, Sent: 1, Deployment: "gpu",
		Output: output, Total: took,
	}
}

// TestWhatWasRefusedIsLikeItsLikes: a tenant has a use with short input and one
// with long input, another tenant only differs; and the upstream was slow in the
// second half. What was refused takes its length and luck from its likes.
func TestWhatWasRefusedIsLikeItsLikes(t *testing.T) {
	var seen []Seen
	for i := range 400 {
		at, slow := time.Duration(i)*time.Second, time.Duration(1)
		if i >= 200 {
			slow = 3
		}
		seen = append(seen, answeredAt(at, "shop", 50, 10, slow*time.Second), answeredAt(at, "shop", 2000, 300, slow*time.Second), answeredAt(at, "other", 50, 77, slow*time.Second))
	}
	up := Upstream{Slots: 1, Mean: time.Second}
	known := newDonors(seen, make([]float64, len(seen)), map[string]Upstream{"gpu": up})
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		refused Seen
		output  int64
		luck    float64
	}{
		{Seen{At: 100 * time.Second, Tenant: "shop", Model: "chat", Input: 60}, 10, 1},
		{Seen{At: 100 * time.Second, Tenant: "shop", Model: "chat", Input: 1500}, 300, 1},
		{Seen{At: 300 * time.Second, Tenant: "shop", Model: "chat", Input: 1500}, 300, 3},
		{Seen{At: 500 * time.Second, Tenant: "shop", Model: "chat", Input: 60, MaxOutput: 5}, 5, 3},
		{Seen{At: 0, Tenant: "newcomer", Model: "chat", Input: 2500}, 300, 1},
		{Seen{At: 0, Tenant: "shop", Model: "unheard of", Input: 60}, firstOutput, 0}, // its luck is drawn
	} {
		for range 20 {
			if output, l := known.like(&c.refused, rng); output != c.output || math.Abs(l.Total-c.luck) > 1e-9 {
				t.Errorf("%+v: %d tokens and %v times the mean, want %d and %v", c.refused, output, l.Total, c.output, c.luck)
			}
		}
	}
}

// TestCallersComeBackAsTheyDid: of one tenant half of those who could, of one
// nobody, of one as its clients are known to, for none of them could.
func TestCallersComeBackAsTheyDid(t *testing.T) {
	refused := func(tenant string, attempt int, counts bool) Seen {
		return Seen{Tenant: tenant, Model: "chat", Attempt: attempt, Counts: counts, Came: CameRefusal, RetryAfter: time.Second, Deadline: time.Minute, Told: true}
	}
	var seen []Seen
	for i := range 100 {
		seen = append(seen, refused("half", 0, true), refused("never", 0, true))
		if i%2 == 0 {
			last := refused("half", 1, true)
			last.NoRetry = true
			seen = append(seen, last)
		}
		hopeless := refused("hopeless", 0, true)
		hopeless.RetryAfter = 2 * time.Minute
		silent := hopeless
		silent.Tenant, silent.Counts = "silent", false
		seen = append(seen, hopeless, silent)
	}
	again, rng := returns(seen), rand.New(rand.NewPCG(1, 1))
	for tenant, want := range map[string]float64{"half": 0.75, "never": 0, "hopeless": 2, "silent": 0} { // half: 1/2 + 1/4, for two are what SDKs do at most
		s, mean := refused(tenant, 0, tenant != "silent"), 0.0
		for range 4000 {
			mean += float64(again[tenant].manners(&s, rng).Retries) / 4000
		}
		if math.Abs(mean-want) > 0.05 {
			t.Errorf("%s: callers come back %.2f times, want %.2f", tenant, mean, want)
		}
	}
}

// TestPlanesAreMeasured: the prior of a pool is what its calls took, and a
// deployment that served hardly anything takes the pool's.
func TestPlanesAreMeasured(t *testing.T) {
	p := &admit.Policy{Models: []admit.Model{{Name: "chat", Deployments: []admit.Deployment{{Name: "gpu"}, {Name: "idle"}}}}}
	p.Defaults()
	rng := rand.New(rand.NewPCG(1, 1))
	var seen []Seen
	for i := range 2000 {
		in, out := 100+rng.Int64N(2000), 10+rng.Int64N(300)
		seen = append(seen, answeredAt(time.Duration(i)*time.Second, "shop", in, out, 300*time.Millisecond+time.Duration(in)*100*time.Microsecond+time.Duration(out)*5*time.Millisecond))
	}
	x, err := measure(p, seen, func(int) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	ups := x.upstreams(p)
	if gpu, idle := ups["gpu"], ups["idle"]; idle.First != gpu.First || idle.PerInput != gpu.PerInput || idle.PerOutput != gpu.PerOutput {
		t.Errorf("what served nothing is as fast as the rest: %+v, %+v", idle, gpu)
	}
	for _, a := range []Arrival{{Input: 200, Output: 50}, {Input: 2000, Output: 50}, {Input: 1000, Output: 300}} {
		u := ups["gpu"]
		want := 0.3 + 1e-4*float64(a.Input) + 5e-3*float64(a.Output)
		if got := u.mean(&a); math.Abs(got-want) > 0.1*want {
			t.Errorf("%d and %d tokens take %.3f s, really %.3f", a.Input, a.Output, got, want)
		}
	}
	x.learnt(p)
	if out := p.Models[0].Prior.Output; out < 130 || out > 190 {
		t.Errorf("answers have %d tokens on average, really 159", out)
	}
}
