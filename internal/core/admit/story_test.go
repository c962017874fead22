package admit

import "time"

// t0 is when every story begins.
var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func onePool(slots int, tenants ...Tenant) *Policy {
	return &Policy{Models: []Model{{Name: "m", Deployments: []Deployment{{Name: "d", Concurrency: slots}}}}, Tenants: tenants}
}
