package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
	"github.com/spillway-llm/spillway/internal/core/predict"
	"github.com/spillway-llm/spillway/internal/core/queue"
)

// tenant is one payer over all pools.
type tenant struct {
	policy  Tenant
	active  int          // requests waiting or running
	came    bool         // it has asked for something
	firsts  meter.Recent // first tries offered
	retries meter.Recent // callers' retries admitted
	again   meter.Recent // our own further attempts

	repeating int       // requests alive that had more than one attempt
	members   []*member // by pool.index; nil where it never came

	spent                 *account // nil without a budget, and so below
	keys, users, sessions *accounts
}

// member is one tenant in one pool: what it has there and what is known of it.
type member struct {
	tenant   *tenant
	pool     *pool
	known    predict.Tenant
	requests *meter.Window // nil: no limit
	tokens   *meter.Window // nil: no limit
	spent    *account      // nil: no budget of its own
	lanes    [NumClasses]*lane
	waiting  int
	offers   meter.Recent // requests offered
	refused  meter.Recent // refused by prediction
	distrust time.Time    // until then the predictor is not believed
}

// lane is one tenant in one class of one pool.
type lane struct {
	member  *member
	class   Class
	flow    *queue.Flow[*call]
	rate    meter.Rate     // admitted work: raw slot-seconds
	counted predict.Demand // as the shares of its class know it; zero while they do not
	demand  int            // index in pool.lanes of the class; -1 while it is forgotten
	lastUse time.Time
	agenda  *agenda // nil until something waits
}

// call is one request from its admission to its end.
type call struct {
	id        ID
	item      queue.Item[*call]
	lane      *lane
	stream    bool
	attempt   int // the caller's retry number
	sent      int // times dispatched
	input     int64
	arrived   time.Time
	promised  time.Duration // predicted wait
	delay     time.Duration // the part of it by requests that overtake, before it was corrected
	queued    time.Time     // since when it waits
	deadline  time.Time
	est       predict.Estimate
	maxOutput int64
	need      time.Duration // with the class's confidence, when admitted
	patience  time.Duration // the longest wait that the caller and the class allow
	observed  bool
	booked    uint8 // in the lane's agenda

	running    bool
	place      int // index in pool.running
	deployment *deployment
	key        int    // of the deployment
	epoch      uint32 // of its breaker, when the attempt began
	started    time.Time
	first      bool          // the first event came
	firstTook  time.Duration // and when, from started
	alive      bool          // it counted as a sign of life of a recovering upstream
	charged    int64         // nanoseconds of slot time booked at dispatch

	task     string
	affinity uint64
	most     int // the highest rank that it may use: those up to it serve it in time
	parked   bool
	resume   time.Time // when a parked call may go on
	avoid    []failure // where it failed
	repeat   bool      // it has had more than one attempt
	visited  []*pool   // models that it was for before

	home    *pool         // the model that was asked for
	rungs   Rungs         // of its ladder
	plain   time.Duration // raw slot time before their savings
	usual   time.Duration // slot time as asked, by prediction
	asked   int64         // tokens of input, as asked
	shorter bool          // its rungs bound the answer more than its caller did
	session string
	tier    string // service tier, as prices know it
	hold    hold
	terms   *terms // while it waits: what else may be made of it; nil if nothing
	why     Stage  // it was made cheaper while it waited; StageUnknown if not

	requests, tokens meter.Reservation
}

func (k *call) pool() *pool     { return k.lane.member.pool }
func (k *call) tenant() *tenant { return k.lane.member.tenant }

func (c *Controller) memberOf(now time.Time, p *pool, t *tenant) *member {
	for len(t.members) <= p.index {
		t.members = append(t.members, nil)
	}
	m := t.members[p.index]
	if m == nil {
		m = &member{tenant: t, pool: p}
		if m.limit(now, t.policy); m.spent != nil {
			m.spent.restored = c.restored
		}
		t.members[p.index] = m
	}
	return m
}

// limit brings the member's windows in line with the tenant's limits; what
// was counted stays counted.
func (m *member) limit(now time.Time, t Tenant) {
	l, ok := t.Limits[m.pool.policy.Name]
	if !ok {
		l = t.Limits[""]
	}
	m.requests = limitWindow(m.requests, l.Requests)
	m.tokens = limitWindow(m.tokens, l.Tokens)
	m.account(now, &m.tenant.policy.Budgets)
	for _, lane := range m.lanes {
		if lane != nil {
			m.pool.queues[lane.class].SetWeight(lane.flow, int64(t.Weight))
		}
	}
}

func limitWindow(w *meter.Window, limit int64) *meter.Window {
	switch {
	case w != nil:
		w.SetLimit(limit)
	case limit > 0:
		w = meter.NewWindow(limit, time.Minute)
	}
	return w
}

// reserve takes a call from the member's windows, settle gives back what was
// not used: its tokens, and the request itself if it was never sent. Negative
// tokens mean that nobody knows, and the estimate stands.
func (m *member) reserve(now time.Time, k *call) {
	if m.requests != nil {
		k.requests = m.requests.Reserve(now, 1)
	}
	if m.tokens != nil {
		k.tokens = m.tokens.Reserve(now, k.size())
	}
}

func (m *member) settle(now time.Time, k *call, used int64) {
	if m.tokens != nil && used >= 0 {
		m.tokens.Settle(now, &k.tokens, used)
	}
	if m.requests != nil && k.started.IsZero() {
		m.requests.Settle(now, &k.requests, 0)
	}
}

func (m *member) laneOf(class Class) *lane {
	l := m.lanes[class]
	if l == nil {
		l = &lane{member: m, class: class, demand: -1, flow: m.pool.queues[class].NewFlow(int64(m.tenant.policy.Weight))}
		m.lanes[class] = l
	}
	return l
}

// mayRetry says whether the tenant's retry budget has room: a share of its
// first tries of the last ten seconds, plus a reserve.
func (t *tenant) mayRetry(now time.Time, r RetryPolicy) bool {
	return t.retries.Sum(now) < t.retryBudget(now, r)
}

func (t *tenant) retryBudget(now time.Time, r RetryPolicy) int64 {
	return t.firsts.Sum(now)*int64(max(r.Percent, 0))/100 + int64(max(r.Reserve, 0))
}
