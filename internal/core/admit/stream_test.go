package admit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stream drives a controller by a stream of arbitrary bytes: every event, in
// every state, with time jumps, reloads, events on ended and unknown requests,
// and timers that come late. It panics where something is broken.
type stream struct {
	data    []byte
	c       *Controller
	now     time.Time
	ledger  *ledger
	lastID  ID
	log     []Decision
	explain bool // look at every request, and at some other, before it is offered

	events    int
	looks     int
	looked    time.Time // when somebody last could: time does not run back behind that, as it would not between events
	portraits int
	last      Request // that was offered
}

// playStream gives every decision that the stream led to.
func playStream(data []byte, explain bool) []Decision {
	return playStreamBy(data, explain, portraits)
}

// playStreamBy holds one in so many looks to a portrait.
func playStreamBy(data []byte, explain bool, portraits int) []Decision {
	p := streamPolicy(0)
	if len(data) > 0 {
		p = streamPolicy(data[0] % numStreamPolicies)
	}
	s := &stream{data: data, now: t0, explain: explain, portraits: portraits, c: New(t0, p, rand.New(rand.NewPCG(1, 1)))}
	s.ledger = newLedger(s.c)
	for len(s.data) > 0 {
		s.event()
	}
	s.drain()
	return s.log
}

func (s *stream) next() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

// pick takes one of the values by the next byte.
func pick[T any](s *stream, of ...T) T { return of[int(s.next())%len(of)] }

const numStreamPolicies = 12

func streamPolicy(variant byte) *Policy {
	p := &Policy{Observe: variant == 7}
	p.Models = []Model{{Name: "m", Deployments: []Deployment{{Name: "x", Concurrency: 2}, {Name: "y", Concurrency: 1}}}, {Name: "n", Deployments: []Deployment{{Name: "z", Concurrency: 1}}}}
	q := &p.Models[0].Queue
	q.PerTenant, q.Total, q.Bytes = 6, 10, 4000
	p.Tenants = []Tenant{
		{Name: "a"}, {Name: "b", Weight: 3, Concurrency: 4},
		{Name: "c", LowTier: true, Limits: map[string]Limits{"": {Requests: 20, Tokens: 9000}}},
	}
	switch variant {
	case 1:
		p.Models[0].Deployments = []Deployment{{Name: "y", Concurrency: 3}}
	case 2:
		p.Models = p.Models[:1]
		q.Order = LIFO
	case 3:
		p.Tenants = p.Tenants[1:]
	case 4:
		q.PerTenant, q.Total, q.Bytes = 2, 3, 900
		p.Models[0].Deployments[0].Concurrency = 1
	case 5:
		p.Models[0].Deployments = nil
	case 6:
		q.Low, q.High, q.DepthLow, q.DepthHigh = time.Second, 4*time.Second, 2, 8
		p.Retry = RetryPolicy{Percent: 50, Reserve: 9, Attempts: 4}
		p.Classes[Interactive].Floor = 10
	case 8: // limits, tiers, another model, and a breaker in a hurry
		m := &p.Models[0]
		m.Balance, m.Breaker.Cooldown, m.Breaker.Step = Cost, time.Second, 100*time.Millisecond
		m.Fallback = [NumCauses][]string{{"n"}, {"n"}, {"n"}, {"n", "none"}}
		m.Deployments[0].Keys = []Quota{{Requests: 300, Tokens: 60000}, {Requests: 100, Daily: 30000}}
		m.Deployments[1].Price = Price{Input: 1e6, Output: 1e6}
		m.Deployments = append(m.Deployments, Deployment{Name: "w", Auto: true, Concurrency: 2, Reserve: true})
		p.Models[1].Fallback[CauseError] = []string{"m"}
	case 9:
		m := &p.Models[0]
		m.Balance = Score
		m.Deployments = append(m.Deployments, Deployment{Name: "v", Concurrency: 2, Weight: 3}, Deployment{Name: "u", Concurrency: 1, Tier: 1})
	case 10, 11: // budgets and a ladder
		price := Price{Known: true, Input: 1e6, Output: 4e6}
		for i := range p.Models {
			for j := range p.Models[i].Deployments {
				p.Models[i].Deployments[j].Price = price
			}
		}
		p.Models[0].Fallback[CauseError] = []string{"n"}
		p.Models[0].Ladder = LadderPolicy{Stay: time.Second, Hold: 5 * time.Second, Rungs: []Rung{
			{Name: "features", Kind: RungFeatures, Saving: 10}, {Name: "trim", Kind: RungCompute}, {Name: "off", Kind: RungCompute, Off: true},
			{Name: "smaller", Kind: RungModel, Model: "n"}, {Name: "before", Kind: RungRecent},
		}}
		p.Budget = Budget{Limits: [NumSpans]int64{Day: 900_000}}
		p.Tenants[0].Budgets = Budgets{
			All: Budget{Limits: [NumSpans]int64{Minute: 20_000, Hour: 300_000}}, User: Budget{Limits: [NumSpans]int64{Minute: 9000}, Calendar: true},
			Key: Budget{Limits: [NumSpans]int64{Hour: 200_000}, Raised: Override{Limits: [NumSpans]int64{Hour: 400_000}, Until: t0.Add(time.Minute)}},
		}
		p.Tenants[1].Budgets = Budgets{
			Models: map[string]Budget{"": {Limits: [NumSpans]int64{Day: 100_000, Month: 500_000}, Pace: 20}}, Session: Budget{Limits: [NumSpans]int64{Hour: 50_000}},
		}
		if variant == 11 {
			p.Tenants[0].Budgets.All = Budget{}
			p.Tenants[1].Budgets.Session.Limits[Hour] = 1000
			p.Models[0].Ladder.Rungs = p.Models[0].Ladder.Rungs[1:]
		}
	}
	p.Defaults()
	return p
}

func (s *stream) event() {
	if s.events++; s.last.ID > 0 && s.events%4 == 0 { // at any moment, not only when somebody comes
		s.look(s.last)
	}
	switch b := s.next() % 16; b {
	default: // 0 to 6
		s.offer()
	case 7, 8, 9:
		s.finish(s.running())
	case 10:
		if id := s.any(); id != 0 {
			s.ledger.settled(id)
			s.took(s.c.Cancel(s.now, id))
		}
	case 11:
		s.c.FirstByte(s.now, s.any())
	case 12, 13:
		const ms = time.Millisecond
		rare := pick(s, 0, 2*time.Second, 0, 0, 30*time.Second, 0, -100*ms, time.Hour)
		s.now = latest(s.looked, s.now.Add(pick(s, 0, ms, ms, 20*ms, 20*ms, 100*ms, 100*ms, 300*ms, 300*ms, time.Second, rare)))
	case 14:
		if b := s.next(); b < 64 {
			p := streamPolicy(b % numStreamPolicies)
			off := s.next() // each is with one in eight
			off &= s.next()
			off &= s.next()
			for i := range p.Models {
				for j := range p.Models[i].Deployments {
					p.Models[i].Deployments[j].Off = off>>(3*i+j)&1 > 0
				}
			}
			s.took(s.c.Configure(s.now, p))
		} else if b < 96 {
			told := Told{Limit: 100, Remaining: int64(s.next()) - 20, Reset: time.Duration(s.next()) * time.Second}
			s.took(s.c.Observe(s.now, pick(s, "x", "y", "z", "none"), int(b%3), Sample{Requests: told}))
		} else {
			s.took(s.c.Tick(s.now))
		}
	case 15:
		id := ID(s.next()) + 1 // ended, unknown, or not yet running
		if k := s.c.calls[id]; k == nil {
			s.took(s.c.Finish(s.now, id, Outcome{OK: true}))
			s.took(s.c.Cancel(s.now, id))
		} else if !k.running {
			s.took(s.c.Finish(s.now, id, Outcome{OK: true}))
		}
		s.c.FirstByte(s.now, id)
	}
}

func (s *stream) request() Request {
	r := Request{
		ID:        s.lastID + 1,
		Tenant:    pick(s, "a", "b", "c", "a", "b", "c", "nobody"),
		Model:     pick(s, "m", "m", "m", "n", "none"),
		Class:     Class(s.next() % 5),
		Attempt:   max(int(s.next()%8)-5, 0),
		Input:     int64(s.next()) * 8,
		MaxOutput: int64(s.next()%4) * 100,
		Bytes:     int64(s.next()) * 10,
		Stream:    s.next()%2 == 0,
		Affinity:  uint64(s.next() % 3),
		User:      pick(s, "", "u", "v", "w"),
		Key:       pick(s, "", "k"),
		Session:   pick(s, "", "", "s", "t"),
		May:       pick(s, 0, 0, MayDegrade, MayFeatures|MayCompute),
		Turn:      s.next()%2 == 0,
		Recent:    s.next()%4 == 0,
		Arrived:   s.now.Add(-time.Duration(s.next()%4) * 100 * time.Millisecond),
	}
	if r.Recent && r.Turn {
		r.RecentUntil = s.now.Add(time.Second)
	}
	for i := range r.Rungs {
		r.Rungs[i] = Shape{Changes: s.next()%4 > 0, Input: r.Input / int64(i+1), MaxOutput: r.MaxOutput / int64(i+1)}
	}
	if d := pick(s, 0, -time.Second, 100*time.Millisecond, time.Second, 4*time.Second, 8*time.Second, time.Hour, 1<<63-1); d != 0 {
		r.Deadline = r.Arrived.Add(d) // the last is as far as time goes (B163)
	}
	return r
}

func (s *stream) offer() {
	r := s.request()
	t := s.look(r)
	if s.last = r; s.explain {
		defer func(n int) {
			if d := s.log[n]; d.Stage != t.Decision.Stage || d.Verdict != t.Decision.Verdict || d.Wait != t.Decision.Wait {
				panic(fmt.Sprintf("Explain said %+v, Offer %+v", t.Decision, d))
			}
		}(len(s.log))
	}
	s.lastID++
	s.ledger.offered(r.ID)
	var held int64
	p := s.c.poolOf(r.Model)
	if p != nil {
		held = p.waitingBytes()
	}
	ds := s.c.Offer(s.now, r)
	if ds[0].Verdict == Queue && held <= p.policy.Queue.Bytes && p.waitingBytes() > p.policy.Queue.Bytes {
		panic("more bytes wait than may")
	}
	s.took(ds)
}

// look asks all that can be asked, and checks that nothing has changed by it. A
// portrait costs more than a stream of this length, so most looks are held to it
// only by what is decided later.
func (s *stream) look(r Request) (t Trace) {
	if s.looked = s.now; !s.explain {
		return t
	}
	var before *portrait
	if s.looks++; s.looks%s.portraits == 0 {
		before = portraitOf(s.c)
	}
	t = s.c.Explain(s.now, r)
	s.seen(&r, &t)
	other := r
	other.Class, other.Tenant = (r.Class+1)%NumClasses, "b"
	s.c.Explain(s.now, other)
	s.c.Calm(s.now, &r)
	s.c.Quota(s.now, r.Tenant, r.Model)
	s.c.Depth(r.Model, r.Class)
	s.c.Treasury(s.now)
	for i := range s.c.Payers() {
		s.c.Payer(s.now, i)
		s.c.Quotas(s.now, i, nil)
	}
	s.c.Money()
	s.c.Next()
	if before != nil {
		if x := before.changed(s.c); x != "" {
			panic("looking changed " + x)
		}
	}
	return t
}

// portraits is how many looks there are for one that is held to a portrait.
const portraits = 64

// seen checks that operators see all that waits, and the very wait that an offer
// is told, without moving anything.
func (s *stream) seen(r *Request, t *Trace) {
	lanes, all := viewAll(s.c, s.now, 1000), 0
	for _, l := range lanes {
		all += l.Waiting
		p := s.c.poolOf(r.Model)
		if l.Tenant != r.Tenant || l.Class != r.Class || p == nil || l.Model != p.policy.Name {
			continue
		}
		if x := s.c.tenants[r.Tenant]; x == nil || !x.waits(p, r.Class) {
			continue // it is what a tenant of the name left that was taken out in between
		}
		if p.tiered() && p.due(s.now, p.events+2) && !p.due(s.now, p.events+1) {
			continue // an offer looks twice, and the second look makes the shares again
		}
		for _, step := range t.Steps {
			if step.Stage == StageShed && step.Model == "" && step.Rungs == 0 && step.Limit == "the predicted wait" && step.Figure != l.Wait.Milliseconds() {
				panic(fmt.Sprintf("operators see %v for one more, an offer %d ms", l.Wait, step.Figure))
			}
		}
	}
	waiting := 0
	for _, p := range s.c.pools {
		waiting += p.waiting()
	}
	if all != waiting {
		panic(fmt.Sprintf("lanes hold %d, %d wait", all, waiting))
	}
}

// waits says whether the tenant has something waiting in a pool and class.
func (t *tenant) waits(p *pool, class Class) bool {
	if p.index >= len(t.members) || t.members[p.index] == nil {
		return false
	}
	l := t.members[p.index].lanes[class]
	return l != nil && l.flow.Len() > 0
}

// viewAll looks at all pools and gives their longest lanes.
func viewAll(c *Controller, now time.Time, limit int) []Lane {
	lanes := &Lanes{Limit: limit}
	for i := range c.Pools() {
		c.View(now, i, lanes)
	}
	return lanes.Longest()
}

func (s *stream) finish(id ID) {
	if id == 0 {
		return
	}
	good := Outcome{Status: 200, OK: true, Known: true, Input: int64(s.next()) * 8, Output: int64(s.next()) * 4}
	o := pick(s, good, good, good, good, good, good, good, good,
		Outcome{Status: 200, OK: true},
		Outcome{Status: 503, Retryable: true},
		Outcome{Status: 429, Retryable: true, RetryAfter: time.Second},
		Outcome{Status: 500},
		Outcome{CallerGone: true, Output: 7},
		Outcome{Status: 500, Fault: OutOfSpace, Retryable: true},
		Outcome{Status: 503, Fault: Saturated, Retryable: true, RetryAfter: 300 * time.Millisecond},
		Outcome{Status: 429, Fault: Throttled, Scarce: Scarce(s.next() % 4), Retryable: true},
		Outcome{Status: 401},
		Outcome{Fault: Silent, Retryable: true},
		Outcome{Status: 400, Fault: TooLong},
		Outcome{Status: 503, Retryable: true, Sent: true},
	)
	o.Cost = int64(s.next()) * 20
	ds := s.c.Finish(s.now, id, o)
	if !slices.ContainsFunc(ds, func(d Decision) bool { return d.ID == id }) {
		s.ledger.settled(id)
	}
	s.took(ds)
}

func (s *stream) took(ds []Decision) {
	for _, d := range ds {
		if !s.ledger.open[d.ID] {
			panic(fmt.Sprintf("%+v on an ended request", d))
		}
		if d.Wait < -100*time.Millisecond*1000 || d.Need < 0 || d.RetryAfter < 0 || d.RetryAfter > 0 && d.RetryAfter < 200*time.Millisecond {
			panic(fmt.Sprintf("impossible times: %+v", d))
		}
		if d.Verdict == Run && s.c.calls[d.ID] != nil && d.Deployment == "" {
			panic("run, but where")
		}
		if d.Verdict == Reject || d.Verdict == Recall {
			s.ledger.settled(d.ID)
		}
	}
	s.log = append(s.log, ds...)
	s.ledger.decided(s.now)
}

// running is some running request, any some open one; 0 if there is none.
func (s *stream) running() ID { return s.some(func(k *call) bool { return k.running }) }
func (s *stream) any() ID     { return s.some(func(*call) bool { return true }) }

func (s *stream) some(ok func(*call) bool) ID {
	var ids []ID
	for id, k := range s.c.calls {
		if ok(k) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0
	}
	slices.Sort(ids)
	return ids[int(s.next())%len(ids)]
}

// drain lets everything end and looks whether anything is left.
func (s *stream) drain() {
	for len(s.c.calls) > 0 {
		if id := s.running(); id != 0 {
			s.finish(id)
		} else if due := s.c.Next(); due.Before(t0.AddDate(1, 0, 0)) {
			s.now = latest(s.now, due) // it may be overdue
			s.took(s.c.Tick(s.now))
		} else {
			id := s.any()
			s.ledger.settled(id)
			s.took(s.c.Cancel(s.now, id))
		}
	}
	if len(s.ledger.open) > 0 || s.c.Running()+s.c.Waiting() > 0 {
		panic(fmt.Sprintf("left over: %v", s.ledger.open))
	}
	every(s.c, func(a *account) {
		if a.held != 0 || a.holders != 0 {
			panic(fmt.Sprintf("account %v %s %s holds %d of %d requests, and none is left", a.scope, a.tenant, a.name, a.held, a.holders))
		}
	})
}

// FuzzController looks for streams of events that break the controller, or
// that Explain changes.
func FuzzController(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomStream(seed, 600))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8000 {
			t.Skip()
		}
		if a, b := playStream(data, false), playStream(data, true); !same(a, b) {
			t.Error("looking changed what was decided")
		}
	})
}

// TestRandomStreams is the same over random streams, shrunk when one fails.
func TestRandomStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 6000).Draw(t, "stream")
		if a, b := playStream(data, false), playStream(data, true); !same(a, b) {
			t.Error("looking changed what was decided")
		}
	})
}

// same compares decisions. Times may differ by rounding: a look can forget an
// idle tenant earlier, and shares are then summed in another order.
func same(a, b []Decision) bool {
	near := func(x, y time.Duration) bool { return (x - y).Abs() < time.Microsecond }
	return slices.EqualFunc(a, b, func(x, y Decision) bool {
		if !near(x.Wait, y.Wait) || !near(x.Need, y.Need) || !near(x.RetryAfter, y.RetryAfter) {
			return false
		}
		x.Wait, x.Need, x.RetryAfter = y.Wait, y.Need, y.RetryAfter
		return x == y
	})
}

func randomStream(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, seed))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}

// TestLooks holds every look of some streams to a portrait, field by field.
func TestLooks(t *testing.T) {
	for seed := range uint64(6) {
		playStreamBy(randomStream(seed, 2000), true, 1)
	}
}

// TestStreamReach shows that long streams lead to every stage that can decide.
func TestStreamReach(t *testing.T) {
	seen := map[Stage]int{}
	for seed := range uint64(100) {
		data := randomStream(seed, 14_000)
		ds := playStream(data, false)
		for _, d := range ds {
			seen[d.Stage]++
		}
		if again := playStream(data, true); !same(ds, again) {
			t.Errorf("looking changed what was decided, seed %d", seed)
		}
	}
	for s := range Stage(NumStages) {
		switch s {
		case StageCancelled, StageFinished: // never decided by the core
		default:
			if seen[s] == 0 {
				t.Errorf("no stream came to %v", s)
			}
		}
	}
}
