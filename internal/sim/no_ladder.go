package sim

import (
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// noLadder is ours without the ladders of its models: what they are worth is
// the difference.
type noLadder struct{ *admit.Controller }

// Configure leaves the ladders out of a changed policy, too.
func (n *noLadder) Configure(now time.Time, p *admit.Policy) []admit.Decision {
	return n.Controller.Configure(now, undegraded(p))
}

func undegraded(p *admit.Policy) *admit.Policy {
	q := *p
	q.Models = slices.Clone(p.Models)
	for i := range q.Models {
		q.Models[i].Ladder.Rungs = nil
	}
	return &q
}
