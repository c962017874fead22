package config

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Retry bounds attempts after the first: the callers', and the gateway's own.
type Retry struct {
	// Share of a tenant's first tries, in per cent, that may come again. Default 10. Smaller stops retry storms sooner; 0 leaves only the reserve.
	Percent Percent `yaml:"percent" jsonschema:"minimum=0,maximum=100"`
	// Retries a tenant may always make in ten seconds. Default 3. 0 leaves only the share.
	Reserve int `yaml:"reserve" jsonschema:"minimum=0,maximum=100000"`
	// How often one request may be sent upstream, the first included. Default 3. 1 means never again.
	Attempts int `yaml:"attempts" jsonschema:"minimum=1,maximum=10"`
	// Mean pause before one request tries a deployment again that failed it, when no other is left; it doubles each time. Default 250ms. Smaller tries sooner what may still fail.
	Backoff time.Duration `yaml:"backoff" jsonschema:"exclusiveMinimum=0"`
	// How many attempts the gateway itself may add after failures.
	Failover Failover `yaml:"failover"`
}

// Failover bounds what the gateway itself adds, beside the retries of callers.
type Failover struct {
	// Share of the requests of the last ten seconds, in per cent, that may be sent again. Default 20. Smaller spares failing upstreams; 0 leaves only the reserve.
	Percent Percent `yaml:"percent" jsonschema:"minimum=0,maximum=100"`
	// Requests that a tenant may always have sent again in ten seconds, and all tenants together for each deployment. Default 10. 0 leaves only the share.
	Reserve int `yaml:"reserve" jsonschema:"minimum=0,maximum=100000"`
	// Share of the running calls, in per cent, that may be such attempts, but at least reserve. Default 50. Smaller leaves more room to first attempts.
	Concurrent Percent `yaml:"concurrent" jsonschema:"minimum=0,maximum=100"`
}

func (r *Retry) setDefaults() {
	var p admit.Policy
	p.Defaults()
	*r = Retry{
		Percent:  Percent(p.Retry.Percent),
		Reserve:  p.Retry.Reserve,
		Attempts: p.Retry.Attempts,
		Backoff:  p.Retry.Backoff,
		Failover: Failover{
			Percent:    Percent(p.Retry.Failover.Percent),
			Reserve:    p.Retry.Failover.Reserve,
			Concurrent: Percent(p.Retry.Failover.Concurrent),
		},
	}
}

func (r *Retry) policy() admit.RetryPolicy {
	return admit.RetryPolicy{
		Percent:  orNone(int(r.Percent)),
		Reserve:  orNone(r.Reserve),
		Attempts: r.Attempts,
		Backoff:  r.Backoff,
		Failover: admit.FailoverPolicy{
			Percent:    orNone(int(r.Failover.Percent)),
			Reserve:    orNone(r.Failover.Reserve),
			Concurrent: orNone(int(r.Failover.Concurrent)),
		},
	}
}
