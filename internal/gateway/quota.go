package gateway

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// quotaHeaders tells the tenant's own limits, reservations included, in every
// form that clients of the surface read. Nothing of an upstream's limits is in
// them.
func (x *exchange) quotaHeaders() {
	requests, tokens := x.g.gate.Quota(x.record.Tenant, x.pool)
	h := x.w.Header()
	now := time.Now()
	for _, q := range []struct {
		unit, lower string
		a           admit.Allowance
	}{{"Requests", "requests", requests}, {"Tokens", "tokens", tokens}} {
		if q.a.Limit == 0 {
			continue
		}
		limit, left := strconv.FormatInt(q.a.Limit, 10), strconv.FormatInt(q.a.Remaining, 10)
		if x.surface.wire.Anthropic() {
			h.Set("Anthropic-Ratelimit-"+q.unit+"-Limit", limit)
			h.Set("Anthropic-Ratelimit-"+q.unit+"-Remaining", left)
			h.Set("Anthropic-Ratelimit-"+q.unit+"-Reset", now.Add(q.a.Reset).UTC().Format(time.RFC3339))
		} else {
			h.Set("X-Ratelimit-Limit-"+q.unit, limit)
			h.Set("X-Ratelimit-Remaining-"+q.unit, left)
			h.Set("X-Ratelimit-Reset-"+q.unit, q.a.Reset.Round(time.Millisecond).String())
			if q.lower == "requests" {
				h.Set("X-Ratelimit-Reset", strconv.Itoa(int(math.Ceil(q.a.Reset.Seconds()))))
			}
		}
		unit := ""
		if q.lower == "tokens" {
			unit = `;qu="tokens"`
		}
		h.Add("Ratelimit-Policy", fmt.Sprintf(`"%s";q=%d;w=60%s`, q.lower, q.a.Limit, unit))
		h.Add("Ratelimit", fmt.Sprintf(`"%s";r=%d;t=%d`, q.lower, q.a.Remaining, int(math.Ceil(q.a.Reset.Seconds()))))
	}
}
