package gateway

import "time"

// Picture is the state of the gateway as operators see it: what is full, who
// waits, what is predicted and what came true. It is the answer of
// GET /admin/v1/snapshot and an event of GET /admin/v1/live. Times in seconds,
// money in dollars.
type Picture struct {
	At       time.Time        `json:"at"`
	Uptime   float64          `json:"uptime_s"`
	Draining bool             `json:"draining"`
	Active   int64            `json:"active"` // requests that hold or want a slot
	Models   []ModelPicture   `json:"models"`
	Tenants  []TenantPicture  `json:"tenants"`        // by name; those that nobody has used are left out
	Lanes    []LanePicture    `json:"lanes"`          // the longest, most waiting first
	LanesOut int              `json:"lanes_left_out"` // that are shorter
	Upstream []UpstreamReport `json:"upstreams"`
	Budgets  []BudgetPicture  `json:"budgets"`          // nearest to its end first
	Out      int              `json:"budgets_left_out"` // that are further from theirs
	Second   Second           `json:"second"`           // the last that is over
}

// ModelPicture is one model's queue and slots.
type ModelPicture struct {
	Model    string         `json:"model"`
	Slots    int            `json:"slots"` // in use, over all deployments
	Running  int            `json:"running"`
	Mean     float64        `json:"service_mean_s"` // of late
	Factor   float64        `json:"factor"`         // what predictions are multiplied with: calibration and brownout
	Brownout float64        `json:"brownout"`       // above 1, running calls are slower than they should be
	Rungs    []string       `json:"rungs,omitempty"`
	Bound    int            `json:"queue_total"`      // requests that may wait
	PerLane  int            `json:"queue_per_tenant"` // of one tenant
	Classes  []ClassPicture `json:"classes"`          // interactive first; all four
}

// ClassPicture is one class of one model.
type ClassPicture struct {
	Class    string  `json:"class"`
	Waiting  int     `json:"waiting"`
	Running  int     `json:"running"`
	Work     float64 `json:"work_s"` // slot time predicted to serve all that waits
	Wait     float64 `json:"wait_s"` // predicted for a tenant that comes now and has nothing waiting; 0 if it would run at once
	Low      float64 `json:"low_s"`  // predicted wait above which it is held back, for tenants of the low tier; 0 if relative to each deadline
	High     float64 `json:"high_s"` // the same for all others
	Level    int     `json:"level"`  // of the ladder, 0 to 3
	Pressure float64 `json:"pressure"`
}

// TenantPicture is one tenant over all models.
type TenantPicture struct {
	Tenant     string  `json:"tenant"`
	Waiting    int     `json:"waiting"`
	Running    int     `json:"running"`
	Offered    float64 `json:"offered_per_s"` // over the last ten seconds
	Refused    float64 `json:"refused_per_s"`
	Degraded   float64 `json:"degraded_per_s"`
	Distrusted bool    `json:"distrusted,omitempty"` // predictions are not believed for it at the moment
}

// LanePicture is what waits of one tenant, model and class.
type LanePicture struct {
	Tenant  string  `json:"tenant"`
	Model   string  `json:"model"`
	Class   string  `json:"class"`
	Waiting int     `json:"waiting"`
	Oldest  float64 `json:"oldest_s"` // how long the oldest has waited
	Wait    float64 `json:"wait_s"`   // predicted for one more of it
}

// BudgetPicture is one limit of one account.
type BudgetPicture struct {
	Scope  string   `json:"scope"`
	Tenant string   `json:"tenant,omitempty"`
	Name   string   `json:"name,omitempty"` // of the model or key
	Span   string   `json:"span"`
	Limit  float64  `json:"limit_dollars"`
	Spent  float64  `json:"spent_dollars"`
	Held   float64  `json:"held_dollars"`
	Minute float64  `json:"last_minute_dollars"`
	Alarm  string   `json:"alarm"`
	Lasts  *float64 `json:"lasts_s,omitempty"` // until it is reached at that rate; absent if never
}

// Second is what was decided and what ended in one second.
type Second struct {
	At       int64            `json:"at"`                // Unix time of its begin
	Offered  int64            `json:"offered"`           // requests that were decided on for the first time
	Ran      int64            `json:"ran"`               // at once
	Queued   int64            `json:"queued"`            //
	Degraded int64            `json:"degraded"`          // served in a cheaper form, recalled answers included
	Refused  map[string]int64 `json:"refused,omitempty"` // by the stage that refused, late drops included
	Good     int64            `json:"good"`              // complete answers in time
	Late     int64            `json:"late"`              // complete answers after their deadline
	Failed   int64            `json:"failed"`            //
	Left     int64            `json:"left"`              // callers that did not wait
	Started  int64            `json:"started"`           // requests that came out of a queue
	Wait     float64          `json:"wait_s"`            // their mean wait
	Foretold float64          `json:"predicted_s"`       // and what had been predicted for them
	Worst    float64          `json:"worst_s"`           // their longest wait
	First    float64          `json:"ttft_s"`            // mean time to first token of streams that began to answer
}
