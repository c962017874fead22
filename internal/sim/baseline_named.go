package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// ideas are the policies that can be chosen by name, ours excepted.
var ideas = []struct {
	name, does string
	make       func(Truth) func(*slotPool) rules
}{
	{"fifo", "first come, first served, without any bound", plainly(fifo)},
	{"depth", "first come, first served; at most two waiting a slot", plainly(depth)},
	{"expired", "depth, and drops what has expired when its turn comes", plainly(depthExpired)},
	{"codel", "CoDel in folly's form: target 0.1 s, interval 1 s", plainly(newCodel)},
	{"lifo", "adaptive LIFO: newest first while the queue stands for more than 1 s; drops the expired", plainly(newLIFO)},
	{"edf", "earliest deadline first, without an admission test; drops the expired", plainly(newEDF)},
	{"rr", "tenants in turn, a request each; at most two of each waiting a slot; drops the expired", plainly(newRoundRobin)},
	{"vtc", "virtual token counter: least tokens by weight first; bounds as rr", plainly(newVTC)},
	{"limits", "the tenants' requests a minute as configured, then depth", plainly(newLimits)},
	{"breaker", "limits, with a circuit breaker at half of the calls failing", plainly(newBreaker)},
	{"uncontrolled", "sends all at once, deployments in turn, without any bound", plainly(uncontrolled)},
	{"fixed-pace", "each deployment at 0.8 of its told limits; first come, first served; drops the expired", plainly(fixedPace)},
	{"adaptive-pace", "the same, slower by 0.7 at a 429 and faster with time", plainly(adaptivePace)},
	{"oracle", "first come, first served, knowing the true service times", func(t Truth) func(*slotPool) rules { return newOracle(t, false) }},
	{"oracle-rank", "best class first, knowing the true service times", func(t Truth) func(*slotPool) rules { return newOracle(t, true) }},
}

// plainly makes the rules of one who needs no truth.
func plainly(idea func(*slotPool) rules) func(Truth) func(*slotPool) rules {
	return func(Truth) func(*slotPool) rules { return idea }
}

const (
	ours  = "ours"
	plain = "no-ladder" // ours, without its ladders
)

// Deciders are the policies of NewDecider: each line is a name, spaces, and
// what it does.
func Deciders() []string {
	lines := []string{fmt.Sprintf("%-12s %s", ours, "the decision core of the live gateway")}
	lines = append(lines, fmt.Sprintf("%-12s %s", plain, "the same, with nothing degraded"))
	for _, i := range ideas {
		lines = append(lines, fmt.Sprintf("%-12s %s", i.name, i.does))
	}
	return lines
}

// deciderNames are the names alone, in the same order.
func deciderNames() []string {
	names := []string{ours, plain}
	for _, i := range ideas {
		names = append(names, i.name)
	}
	return names
}

// NewDecider makes the policy of a name, for the pools of p, which has its
// defaults filled. Only the oracles ask truth, which must know a request from
// before it is offered until after it has ended; the others take nil. The same
// seed and the same events give the same decisions.
func NewDecider(name string, p *admit.Policy, truth Truth, seed uint64) (Decider, error) {
	if name == ours {
		return admit.New(epoch, p, rand.New(rand.NewPCG(seed, 0))), nil
	}
	if name == plain {
		return &noLadder{admit.New(epoch, undegraded(p), rand.New(rand.NewPCG(seed, 0)))}, nil
	}
	for _, i := range ideas {
		if i.name != name {
			continue
		}
		if truth == nil && strings.HasPrefix(name, "oracle") {
			return nil, fmt.Errorf("policy %q needs the true service times", name)
		}
		return newBaseline(p, i.make(truth)), nil
	}
	return nil, fmt.Errorf("no policy %q: there are %s", name, strings.Join(deciderNames(), ", "))
}
