package sim

import (
	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// PolicyOf is what a configuration says to the core when a run begins. When a
// provider's day begins depends on the date: here on that of every run, so that
// an outcome does not depend on the day on which it was computed.
func PolicyOf(c *config.Config) *admit.Policy { return c.PolicyAt(epoch) }
