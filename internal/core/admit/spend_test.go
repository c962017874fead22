package admit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

const dollar = 1_000_000

// priced is a pool where a token costs a micro-dollar, and answers have 100.
func priced(slots int, b Budgets) *Policy {
	p := exact(onePool(slots, Tenant{Name: "a", Budgets: b}, Tenant{Name: "b"}))
	p.Models[0].Deployments[0].Price = Price{Known: true, Input: dollar, Output: dollar}
	return p
}

func limits(span Span, n int64) Budget {
	b := Budget{Pace: -1}
	b.Limits[span] = n
	return b
}

// paid ends a call that cost so much.
func (d *desk) paid(at time.Duration, id ID, cost int64) {
	d.t.Helper()
	d.finish(at, id, Outcome{Status: 200, OK: true, Known: true, Input: 0, Output: 100, Cost: cost})
}

func TestBudgetIsHeldAndSettled(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{All: limits(Hour, 1000)}))
	r := Request{Input: 200, MaxOutput: 300}
	one := d.run(0, r) // holds 500: its input and all that its answer may have
	d.run(0, r)        // and the rest
	got := d.offer(0, r)
	d.is(got, Reject, StageSpend)
	if !got.NoRetry || got.Figure != 1000 || got.Bound != 1000 || got.Limit != "the tenant's budget of an hour" {
		t.Errorf("told %+v", got)
	}
	d.paid(time.Second, one, 120) // it was cheaper than was held: 380 are free again
	d.is(d.offer(time.Second, r), Reject, StageSpend)
	d.run(time.Second, Request{Input: 200, MaxOutput: 180})
	d.run(time.Second, Request{Tenant: "b", Input: 9000, MaxOutput: 900}) // nobody else is touched
}

func TestSpentMoneyComesBackWithItsHour(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{All: limits(Hour, 1000)}))
	r := Request{Input: 500, MaxOutput: 400}
	d.paid(time.Second, d.run(0, r), 900)
	got := d.offer(time.Minute, r)
	d.is(got, Reject, StageSpend)
	if got.RetryAfter < 59*time.Minute || got.RetryAfter > 67*time.Minute {
		t.Errorf("to come back in %v, want an hour after it was spent", got.RetryAfter)
	}
	d.run(62*time.Minute, r)
}

// A budget below the cost of any request would be none at all: a whole one lets
// one request in (B114).
func TestFullBudgetAdmitsOne(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{All: limits(Hour, 100)}))
	r := Request{Input: 900, MaxOutput: 900}
	id := d.run(0, r)
	d.is(d.offer(0, r), Reject, StageSpend) // but only one (B111)
	d.paid(time.Second, id, 1500)
	d.is(d.offer(2*time.Second, r), Reject, StageSpend)
}

func TestEveryEndingSettlesOnce(t *testing.T) {
	p := priced(1, Budgets{All: limits(Hour, 1_000_000), User: limits(Day, 1_000_000)})
	d := newDesk(t, p)
	spent := func(at time.Duration) (n int64) { return d.c.spent0(after(at)) }
	r := Request{Input: 200, MaxOutput: 300, User: "u"}

	id := d.run(0, r)
	waits := d.offer(0, r)
	d.is(waits, Queue, StageQueue)
	d.cancel(time.Second, waits.ID) // left while it waited: no trace
	if got := spent(time.Second); got != 0 {
		t.Errorf("a request that was cancelled in the queue cost %d", got)
	}
	d.finish(time.Second, id, Outcome{CallerGone: true, Output: 7, Cost: 207}) // left in the middle of its answer
	if got := spent(time.Second); got != 207 {
		t.Errorf("spent %d, want 207: what was delivered is paid", got)
	}
	id = d.run(2*time.Second, r)
	again := d.finish(2*time.Second, id, Outcome{Status: 503, Retryable: true, Cost: 40}) // a first attempt that cost something
	if len(again) == 0 || again[0].ID != id {
		t.Fatal("it is not tried again")
	}
	if got := spent(2 * time.Second); got != 207 {
		t.Errorf("spent %d before its end, want 207", got)
	}
	at := d.c.Next().Sub(t0)
	if ds := d.tick(at); len(ds) == 0 || ds[0].Verdict != Run {
		t.Fatalf("the second attempt: %+v", ds)
	}
	d.paid(at, id, 100)
	if got := spent(at); got != 347 {
		t.Errorf("spent %d, want 347: both attempts, once", got)
	}
}

// spent0 is what the first tenant has spent.
func (c *Controller) spent0(now time.Time) int64 {
	a := c.tenants["a"].spent
	return a.limits[0].purse.Sum(now)
}

func TestHoldIsWhatAnAnswerProbablyCostsAtMost(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{All: limits(Hour, 100*dollar)}))
	a := d.c.tenants["a"].spent
	id := d.run(0, Request{Input: 200})
	if a.held != 200+100*spreadGuess {
		t.Errorf("held %d: nothing is known of answers yet, so four times the mean", a.held)
	}
	d.good(time.Second, id)
	for i := range 60 { // nine of ten have no more than 150 tokens
		n := int64(50 + 100*(i%10)/9)
		at := time.Duration(i+2) * time.Second
		d.finish(at, d.run(at, Request{Input: 200}), Outcome{Status: 200, OK: true, Known: true, Output: n})
	}
	d.run(100*time.Second, Request{Input: 200})
	if a.held < 200+120 || a.held > 200+170 {
		t.Errorf("held %d, want about 200 and the 150 that one answer in ten exceeds", a.held)
	}
}

// The price that will be billed is held: that of long prompts, and that of the
// service tier (B115).
func TestHoldKnowsTiers(t *testing.T) {
	p := priced(10, Budgets{All: limits(Hour, 450_000)})
	p.Models[0].Deployments[0].Price = Price{
		Known: true, Input: 250_000, Output: dollar, Tiers: map[string]int64{"priority": 200},
		Long: LongPrice{Above: 200_000, Input: 500_000, Output: dollar},
	}
	d := newDesk(t, p)
	r := Request{Input: 300_000, MaxOutput: 1}
	d.run(0, r) // 0.15 dollars each, for long ones
	d.run(0, r)
	d.run(0, Request{Input: 100_000, MaxOutput: 1})
	d.is(d.offer(0, r), Reject, StageSpend)
	d.is(d.offer(0, Request{Input: 100_000, MaxOutput: 1, Tier: "priority"}), Run, StageFree)
	if a := d.c.tenants["a"].spent; a.held != 150_001+150_001+25_001+50_002 {
		t.Errorf("held %d", a.held)
	}
}

func TestBudgetsOfKeysUsersSessionsAndModels(t *testing.T) {
	p := priced(100, Budgets{
		Key: limits(Hour, 1250), User: limits(Hour, 800), Session: limits(Day, 500), Models: map[string]Budget{"m": limits(Hour, 1700)},
	})
	d := newDesk(t, p)
	r := Request{Input: 200, MaxOutput: 200, Key: "k", User: "u", Session: "s"}
	refused := func(r Request, limit string) {
		t.Helper()
		got := d.offer(0, r)
		d.is(got, Reject, StageSpend)
		if got.Limit != limit {
			t.Errorf("refused by %q, want %q", got.Limit, limit)
		}
	}
	d.run(0, r)
	refused(r, "the session's budget of a day")
	r.Session = "t"
	d.run(0, r)
	r.Session = ""
	refused(r, "the user's budget of an hour")
	r.User = ""
	d.run(0, r)
	refused(r, "the key's budget of an hour")
	r.Key = "other"
	d.run(0, r)
	refused(r, "the tenant's budget for the model of an hour")
}

func TestSpeculativeGoesFirst(t *testing.T) {
	d := newDesk(t, priced(100, Budgets{All: limits(Hour, 1000)}))
	d.paid(time.Second, d.run(0, Request{Input: 500, MaxOutput: 300}), 750)
	d.is(d.offer(time.Second, Request{Class: Speculative, Input: 60, MaxOutput: 1}), Reject, StageSpend) // 81 % with it
	d.is(d.offer(time.Second, Request{Class: Batch, Input: 60, MaxOutput: 1}), Run, StageFree)
	d.is(d.offer(time.Second, Request{Class: Interactive, Input: 60, MaxOutput: 1}), Run, StageFree)
}

// A runaway loop is within every limit of requests at once. It is slowed, and
// told of, long before the day's money is gone.
func TestRunawayLoopIsSlowedAndToldOf(t *testing.T) {
	b := Budget{}
	b.Limits[Day] = 100 * dollar
	d := newDesk(t, priced(20, Budgets{All: b}))
	d.c.Changes()
	var running []ID
	var told *Spending
	toldAt, spent := int64(0), int64(0)
	slowed := time.Duration(-1)
	for s := range 600 { // five minutes of calls of half a second, 20 cents each
		at := time.Duration(s) * 500 * time.Millisecond
		for _, id := range running {
			d.paid(at, id, dollar/5)
			spent += dollar / 5
		}
		running = running[:0]
		for range 4 {
			if got := d.offer(at, Request{Input: 100_000, MaxOutput: 100_000}); got.Verdict == Run {
				running = append(running, got.ID)
			} else if d.is(got, Reject, StagePace); got.NoRetry || got.RetryAfter == 0 || got.RetryAfter > 12*time.Minute {
				t.Fatalf("slowed, but told %+v", got)
			} else if slowed < 0 {
				slowed = at
			}
		}
		for _, x := range d.c.Changes() {
			if x.Spending != nil && x.Spending.To == Fast && told == nil {
				told, toldAt = x.Spending, spent
			}
		}
	}
	if told == nil || toldAt >= 10*dollar {
		t.Fatalf("told at %d of 100 dollars: %+v", toldAt, told)
	}
	if told.Span != Day || told.Lasts <= 0 || told.Lasts > 3*time.Hour || told.PerMinute == 0 {
		t.Errorf("told %+v", told)
	}
	if slowed < 0 || slowed > 20*time.Second {
		t.Errorf("slowed after %v, want when a third of what the pace allows at once is gone", slowed)
	}
	if most := 100*dollar*paceDefault/int64(paceParts)*8/10 + dollar/5; spent > most { // the burst, and five minutes' tenths
		t.Errorf("%d spent in five minutes, and the pace allows %d", spent, most)
	}
	if d.offer(301*time.Second, Request{Class: Speculative, Input: 1, MaxOutput: 1}).Verdict == Run {
		t.Error("while money is spent too fast, speculative work still runs")
	}
}

// The same of a month: after the burst each minute has its share of a pace over
// five hours, and not of ten minutes.
func TestRunawayOfAMonth(t *testing.T) {
	b := Budget{}
	b.Limits[Month] = 3000 * dollar
	d := newDesk(t, priced(100, Budgets{All: b}))
	const call = dollar / 4
	spent := int64(0)
	for s := range 4800 {
		at := time.Duration(s) * 250 * time.Millisecond
		if got := d.offer(at, Request{Input: call, MaxOutput: 1}); got.Verdict == Run {
			d.paid(at+time.Millisecond, got.ID, call)
			spent += call
		}
	}
	const burst, minute = 150 * dollar, 3000 * dollar * paceDefault / (30 * 1440) // 30 % of a sixth; 1.67 dollars
	if most := int64(burst + 20*minute + 3*call); spent < burst || spent > most {
		t.Errorf("%d spent in twenty minutes, want the burst of %d and %d a minute", spent, burst, minute)
	}
}

func TestBudgetCanBeRaisedForAWhile(t *testing.T) {
	b := limits(Day, 1000)
	b.Raised = Override{Until: after(time.Hour)}
	b.Raised.Limits[Day] = 5000
	d := newDesk(t, priced(10, Budgets{All: b}))
	d.paid(time.Second, d.run(0, Request{Input: 2000, MaxOutput: 1000}), 2500)
	d.run(time.Minute, Request{Input: 1000, MaxOutput: 1000})
	d.is(d.offer(2*time.Hour, Request{Input: 10, MaxOutput: 1}), Reject, StageSpend)
}

func TestBudgetsSurviveReloadAndRestart(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{All: limits(Hour, 1000), User: limits(Hour, 1000)}))
	r := Request{Input: 500, MaxOutput: 400, User: "u"}
	d.paid(time.Second, d.run(0, r), 900)
	d.configure(time.Minute, priced(10, Budgets{All: limits(Hour, 1200), User: limits(Hour, 1200)})) // a reload refills nothing
	d.is(d.offer(time.Minute, r), Reject, StageSpend)

	e := newDesk(t, priced(10, Budgets{All: limits(Hour, 1000), User: limits(Hour, 1000)}))
	e.run(0, Request{Input: 10, MaxOutput: 1})
	e.c.Restore(after(0), []Deposit{
		{Scope: ScopeTenant, Tenant: "a", At: after(-10 * time.Minute), Amount: 900}, {Scope: ScopeTenant, Tenant: "a", At: after(-2 * time.Hour), Amount: 900},
		{Scope: ScopeUser, Tenant: "a", Name: "u", At: after(-10 * time.Minute), Amount: 300}, {Scope: ScopeTenant, Tenant: "gone", At: after(0), Amount: 5},
	})
	e.is(e.offer(time.Second, r), Reject, StageSpend)
	e.run(51*time.Minute, Request{Input: 500, MaxOutput: 400, User: "v"})
}

// A budget that is written while the gateway runs counts what was spent before
// it was there, and those that were there are not told twice.
func TestNewBudgetKnowsThePast(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{All: limits(Hour, 1000)}))
	remembers := func(want bool) {
		t.Helper()
		if got := d.c.Remembers(); got != want {
			t.Errorf("every budget knows its past: %v", got)
		}
	}
	remembers(false)
	past := []Deposit{
		{Scope: ScopeTenant, Tenant: "a", At: after(-time.Minute), Amount: 300}, {Scope: ScopeModel, Tenant: "a", Name: "m", At: after(-time.Minute), Amount: 300},
		{Scope: ScopeUser, Tenant: "a", Name: "u", At: after(-time.Minute), Amount: 300},
	}
	d.c.Restore(t0, past)
	remembers(true)
	d.paid(time.Second, d.run(0, Request{Input: 100, MaxOutput: 100, User: "u"}), 200)
	d.configure(2*time.Second, priced(10, Budgets{All: limits(Hour, 1000), User: limits(Hour, 700), Models: map[string]Budget{"": limits(Hour, 800)}}))
	remembers(false)
	for i := range past {
		past[i].Amount = 500 // by now
	}
	d.c.Restore(after(2*time.Second), past)
	d.c.Restore(after(3*time.Second), past) // and once more
	remembers(true)
	a := d.c.tenants["a"]
	for name, x := range map[string]*account{"tenant": a.spent, "model": d.c.memberOf(t0, d.c.byModel["m"], a).spent, "user": a.users.find("u")} {
		if got := x.limits[0].purse.Sum(after(3 * time.Second)); got != 500 {
			t.Errorf("the %s's budget counts %d, want 500", name, got)
		}
	}
	d.paid(5*time.Second, d.run(4*time.Second, Request{Tenant: "a", Input: 10, MaxOutput: 10, User: "new"}), 20)
	past = append(past, Deposit{Scope: ScopeUser, Tenant: "a", Name: "new", At: after(4 * time.Second), Amount: 20})
	d.c.Restore(after(6*time.Second), past)
	if got := a.users.find("new").limits[0].purse.Sum(after(6 * time.Second)); got != 20 {
		t.Errorf("a user who came later counts %d, want 20: its own", got)
	}
}

// Two hundred callers at once against one dollar, each six to ten cents: the
// sum never exceeds it by more than one request was wrong about itself, and
// none is refused while it would fit.
func TestCrowdAgainstOneDollar(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := newDesk(t, priced(1000, Budgets{All: limits(Day, dollar)}))
		a := d.c.tenants["a"].spent
		var running []ID
		real := map[ID]int64{}
		spent, over := int64(0), int64(0)
		at := time.Duration(0)
		end := func() {
			i := rng.IntN(len(running))
			d.paid(at, running[i], real[running[i]])
			spent += real[running[i]]
			running[i] = running[len(running)-1]
			running = running[:len(running)-1]
		}
		for range 200 {
			at += time.Millisecond
			n := 60_000 + rng.Int64N(40_000)
			before := spent + a.held
			got := d.offer(at, Request{Input: n - 100, MaxOutput: 100})
			switch got.Verdict {
			case Run:
				running = append(running, got.ID)
				real[got.ID] = n + rng.Int64N(2001) - 1000
				over = max(over, real[got.ID]-n)
			default:
				if d.is(got, Reject, StageSpend); before+n <= dollar {
					t.Fatalf("refused at %d of a dollar, and it wants %d", before, n)
				}
			}
			for len(running) > 0 && rng.IntN(4) == 0 {
				end()
			}
		}
		for len(running) > 0 {
			end()
		}
		if spent > dollar+10*max(over, 0) || a.held != 0 || spent != a.limits[0].purse.Sum(after(at)) {
			t.Errorf("spent %d of a dollar, %d held", spent, a.held)
		}
	}
}

func TestAccountsAreBounded(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{User: limits(Hour, 1000)}))
	held := d.run(0, Request{User: "first", Input: 10, MaxOutput: 10})
	for i := range mostAccounts + 500 {
		at := time.Duration(i) * time.Millisecond
		id := ID(1000 + i)
		d.c.Offer(after(at), Request{ID: id, Tenant: "a", Model: "m", User: fmt.Sprint("u", i), Input: 10, MaxOutput: 10, Arrived: after(at)})
		d.c.Cancel(after(at), id)
	}
	users := d.c.tenants["a"].users
	if len(users.byName) > mostAccounts || users.forgotten == 0 {
		t.Errorf("%d users are kept, %d forgotten", len(users.byName), users.forgotten)
	}
	if users.find("first") == nil {
		t.Error("an account that holds something was forgotten")
	}
	d.paid(time.Hour, held, 20)
}

func TestFailoverHoldsForTheOtherModel(t *testing.T) {
	story := func(all int64) *desk {
		p := priced(1, Budgets{All: limits(Hour, all), Models: map[string]Budget{"": limits(Hour, 1000)}})
		p.Models = append(p.Models, Model{Name: "dear", Deployments: []Deployment{{Name: "e", Concurrency: 1, Price: Price{Known: true, Input: 3 * dollar, Output: 3 * dollar}}}})
		p.Models[0].Fallback[CauseError] = []string{"dear"}
		return newDesk(t, exact(p))
	}
	r := Request{Input: 200, MaxOutput: 100}
	failed := Outcome{Status: 500, Fault: Failed, Cost: 50}

	d := story(800)
	if ds := d.finish(0, d.run(0, r), failed); len(ds) != 0 {
		t.Errorf("it goes on at a price that its budget has no room for: %+v", ds)
	}

	d = story(2000)
	id := d.run(0, r)
	ds := d.finish(0, id, failed)
	if last := ds[len(ds)-1]; last.ID != id || last.Verdict != Run || last.Model != "dear" {
		t.Fatalf("it does not go on: %+v", ds)
	}
	a := d.c.tenants["a"].spent
	if a.held != 900 {
		t.Errorf("held %d, want 900: what it costs there", a.held)
	}
	d.paid(time.Second, id, 800)
	if got := a.limits[0].purse.Sum(after(time.Second)); got != 850 {
		t.Errorf("spent %d, want 850: both models", got)
	}
	m := d.c.memberOf(t0, d.c.byModel["m"], d.c.tenants["a"]).spent
	if got := m.limits[0].purse.Sum(after(time.Second)); got != 50 {
		t.Errorf("of that %d at the first model, want 50", got)
	}
}

// Answers end in the order of their lengths, so that what runs when a budget is
// nearly spent are the long ones: what all of them may cost must fit, not what
// answers cost in most cases.
func TestCrowdWithLongAnswers(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		d := newDesk(t, priced(1000, Budgets{All: limits(Day, dollar)}))
		type one struct {
			id   ID
			ends time.Duration
			cost int64
		}
		var running []one
		spent := int64(0)
		for at := time.Duration(0); at < 60*time.Second; at += 20 * time.Millisecond {
			for i := 0; i < len(running); i++ {
				if x := running[i]; x.ends <= at {
					spent += x.cost
					d.finish(at, x.id, Outcome{Status: 200, OK: true, Known: true, Input: 100, Output: x.cost - 100, Cost: x.cost})
					running = append(running[:i], running[i+1:]...)
					i--
				}
			}
			got := d.offer(at, Request{Input: 100, MaxOutput: 20_000, Deadline: after(time.Hour)})
			if got.Verdict != Run {
				d.is(got, Reject, StageSpend)
				continue
			}
			n := int64(1000 * (1 + 19*rng.Float64()*rng.Float64()))
			running = append(running, one{got.ID, at + time.Duration(n)*time.Millisecond, 100 + n})
		}
		for _, x := range running {
			spent += x.cost
		}
		if spent > dollar || spent < dollar*9/10 {
			t.Errorf("seed %d: spent %d of a dollar, want nearly all and no more", seed, spent)
		}
	}
}

// Who comes when nobody runs is judged by what a request probably costs: its
// bound may be far above.
func TestBoundsKeepNobodyOutAtRest(t *testing.T) {
	d := newDesk(t, priced(10, Budgets{All: limits(Hour, dollar)}))
	d.paid(0, d.run(0, Request{Input: 100, MaxOutput: 100}), dollar-20_000)
	r := Request{Input: 100, MaxOutput: 30_000}
	id := d.run(time.Second, r)
	d.is(d.offer(time.Second, r), Reject, StageSpend) // both could be more than is left
	d.paid(2*time.Second, id, 500)
	d.run(3*time.Second, r)
}

// A bound that is never reached counts up to a part of a budget.
func TestBoundsAreAPartOfABudget(t *testing.T) {
	d := newDesk(t, priced(100, Budgets{All: limits(Hour, dollar)}))
	for range boundShare {
		d.run(0, Request{Input: 100, MaxOutput: dollar})
	}
	if a := d.c.tenants["a"].spent; a.bound != dollar || a.held != boundShare*(100+100*spreadGuess) {
		t.Errorf("%d are held, %d by bounds", a.held, a.bound)
	}
}

// What is held comes and goes: an alarm of speed, which asks for a level too,
// does not make the soft mark one that was passed.
func TestSoftAlarmDoesNotFlap(t *testing.T) {
	d := newDesk(t, priced(100, Budgets{All: limits(Hour, dollar)}))
	at := time.Duration(0)
	for range 10 {
		at += 100 * time.Millisecond
		d.paid(at, d.run(at, Request{Input: 1000, MaxOutput: 1}), 65_000)
	}
	a := d.c.tenants["a"].spent
	if a.alarm != Fast {
		t.Fatalf("%v", a.alarm)
	}
	d.c.Changes()
	for range 10 { // between 70 and 78 %: never 80
		at += 100 * time.Millisecond
		d.paid(at, d.run(at, Request{Input: 126_000, MaxOutput: 1}), 1000)
	}
	if list := d.c.Changes(); len(list) != 0 || a.alarm != Fast {
		t.Errorf("%d changes, and %v in the end", len(list), a.alarm)
	}
}
