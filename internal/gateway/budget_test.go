package gateway

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// dear is a gateway with a dear model and a budget; an answer of 100 tokens
// costs 10,007 micro-dollars.
func dear(budget string) string {
	return `
providers:
  up: {base_url: "http://127.0.0.1:8001", api_key: upstream-secret, http: "1.1"}
models:
  chat: {deployments: [{provider: up, model: vendor-m, concurrency: 400, price: {input: 1, output: 100}}]}
` + tenantsOf("{name: a, keys: [KEY], budget: "+budget+"}")
}

const dearAnswer = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":100,"total_tokens":107}}`

// Two hundred at once cannot spend what is not there: what is not known yet is
// held. What was held too much is there again when they have ended.
func TestManyAtOnceAgainstOneBudget(t *testing.T) { // B111, B112, B114
	bubble(t, func(t *testing.T) {
		up := &calls{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			reply(200, "application/json", dearAnswer)(w, r)
		})}
		s := tillOf(t, dear("{hour: 1, alert: off}"), up)
		body := strings.Replace(plainAsk, "{", `{"max_tokens":100,`, 1)
		const one = 7 + 100*100
		served, refused := 0, 0
		for range 4 {
			var all []<-chan answer
			for range 200 {
				all = append(all, s.background(t.Context(), chatPath, body, "X-Api-Key", "secret"))
			}
			for _, c := range all {
				switch a := <-c; a.status {
				case 200:
					served++
				case 402:
					refused++
				default:
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
		}
		synctest.Wait()
		got := s.sums()
		if want := int64(served) * one; got.spent != want || got.ledger != want || got.metric != want || got.held != 0 || got.alive != 0 {
			t.Errorf("%+v after %d answers, want %d", got, served, want)
		}
		if left := 1_000_000 - got.spent; left < 0 || left >= one+10 || refused != 800-served {
			t.Errorf("%d answers and %d refusals leave %d, less than one of %d was to be left", served, refused, left, one)
		}
	})
}

// B115: whose budget is spent is told so in the words of its surface, and that
// coming back is in vain.
func TestSpentBudgetOnEverySurface(t *testing.T) {
	for path, tt := range map[string]struct{ body, code string }{
		chatPath: {plainAsk, "insufficient_quota"}, completionPath: {`{"model":"chat","prompt":"hi"}`, "insufficient_quota"}, embeddingPath: {`{"model":"chat","input":"hi"}`, "insufficient_quota"},
		responsesPath: {fmt.Sprintf(responsesAsk, false), "insufficient_quota"}, messagesPath: {strings.Replace(fmt.Sprintf(messageAsk, false), `,"x_new":{"keep":null}`, "", 1), "billing_error"},
	} {
		t.Run(path, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := tillOf(t, dear("{hour: 1}"), reply(200, "application/json", dearAnswer))
				s.g.gate.Restore([]admit.Deposit{{Scope: admit.ScopeTenant, Tenant: "a", At: time.Now(), Amount: 1_000_000, Late: true}})
				a := s.ask(path, tt.body, "X-Api-Key", "secret")
				e := gjson.Get(a.body, "error")
				if a.status != 402 || e.Get("type").Str != tt.code || a.header.Get("X-Should-Retry") != "false" || a.header.Get("Retry-After") != "" {
					t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
				for _, want := range []string{"the tenant's budget of an hour", "$1.00 of $1.00", "there is room again in"} {
					if !strings.Contains(e.Get("message").Str, want) {
						t.Errorf("%q lacks %q", e.Get("message").Str, want)
					}
				}
				if path != messagesPath && (e.Get("code").Str != "insufficient_quota" || e.Get("scope").Str != "tenant a") {
					t.Errorf("%s", a.body)
				}
				if got := s.sums(); len(s.rows()) != 0 || got.metric != 0 || got.held != 0 { // no trace
					t.Errorf("%+v, rows %+v", got, s.rows())
				}
			})
		})
	}
}

// A loop that would spend the money of a day in minutes is slowed, and told
// when to come back.
func TestARunawayLoopIsSlowed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := tillOf(t, dear("{day: 6}"), reply(200, "application/json", dearAnswer)) // ten minutes are a dollar
		body := strings.Replace(plainAsk, "{", `{"max_tokens":100,`, 1)
		served := 0
		var last answer
		for range 2 * 3600 {
			if last = s.ask(chatPath, body, "X-Api-Key", "secret"); last.status == 200 {
				served++
				continue
			}
			after, _ := strconv.ParseFloat(last.header.Get("Retry-After"), 64)
			if last.status != 429 || after <= 0 || !strings.Contains(errorOf(t, last.body).Message, "money is spent too fast") {
				t.Fatalf("%d %v %s", last.status, last.header, last.body)
			}
			break
		}
		if served < 28 || served > 32 {
			t.Errorf("%d were served at once, want three tenths of a dollar's", served)
		}
		if alarms := s.log.told("budget fast"); alarms != 1 {
			t.Errorf("%d alarms", alarms)
		}
	})
}

// Who waits and leaves, or is refused, leaves no trace in any count of money.
func TestWaitingCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := tillOf(t, strings.Replace(providerOf(), "concurrency: 4", "concurrency: 1", 1), inTurn(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Second)
			reply(200, "application/json", wholeAnswer)(w, r)
		}))
		first := s.background(t.Context(), chatPath, plainAsk)
		synctest.Wait()
		s.leaving(time.Second, chatPath, plainAsk)
		if a := s.ask(chatPath, plainAsk, "X-Spillway-Deadline-Ms", "1"); a.status == 200 {
			t.Errorf("%d", a.status)
		}
		<-first
		s.paid(37)
		s.only()
	})
}

// A reload keeps what was counted.
func TestBudgetsSurviveAReload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := tillOf(t, dear("{hour: 1}"), reply(200, "application/json", dearAnswer))
		ask := func() int { return s.ask(chatPath, plainAsk, "X-Api-Key", "secret").status }
		for range 50 {
			ask()
		}
		before := s.used(admit.ScopeTenant, admit.Hour)
		if before < 300_000 {
			t.Fatalf("%d spent", before)
		}
		for _, tt := range []struct {
			budget string
			want   int
		}{{"{hour: 0.3}", 402}, {"{hour: 3}", 200}, {"{hour: 0.2, raise: {hour: 4, until: 2026-12-24T00:00:00Z}}", 200}} {
			if err := s.g.Apply(parse(t, dear(tt.budget))); err != nil {
				t.Fatal(err)
			}
			if got := s.used(admit.ScopeTenant, admit.Hour); got < before {
				t.Errorf("%s: %d are counted, want %d", tt.budget, got, before)
			}
			if got := ask(); got != tt.want {
				t.Errorf("%s: %d, want %d", tt.budget, got, tt.want)
			}
		}
	})
}

// A hundred thousand requests with every kind of end, many at once, over
// budgets of all scopes: nothing stays held, and all that was paid is counted.
func TestMoneyReconciles(t *testing.T) { bubble(t, reconcile) }

func reconcile(t *testing.T) {
	const goroutines = 64
	each := 100_000 / goroutines
	if testing.Short() {
		each /= 20
	}
	big := admit.Budget{Limits: [admit.NumSpans]int64{admit.Hour: 1 << 50}}
	price := admit.Price{Known: true, Input: 1_000_000, Output: 10_000_000}
	p := &admit.Policy{
		Budget: big,
		Models: []admit.Model{
			{Name: "chat", Deployments: []admit.Deployment{{Name: "chat", Concurrency: 32, Price: price}}, Fallback: [admit.NumCauses][]string{admit.CauseError: {"small"}},
				Prior: admit.Prior{First: time.Microsecond, PerOutput: 1000, PerInput: 1000}},
			{Name: "small", Deployments: []admit.Deployment{{Name: "small", Concurrency: 64, Price: price}}, Prior: admit.Prior{First: time.Microsecond, PerOutput: 1000, PerInput: 1000}},
		},
	}
	for _, name := range []string{"a", "b"} {
		p.Tenants = append(p.Tenants, admit.Tenant{Name: name, Budgets: admit.Budgets{All: big, Models: map[string]admit.Budget{"": big}, Key: big, User: big, Session: big}})
	}
	p.Defaults()
	g := NewGate(p, telemetry.NewRecorder(16))
	defer g.Close()
	var paid, answered, left atomic.Int64
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			for range each {
				r := admit.Request{Tenant: []string{"a", "b"}[i%2], Model: "chat", Key: fmt.Sprint(rng.IntN(3)), User: fmt.Sprint(rng.IntN(50)), Session: fmt.Sprint(rng.IntN(200)),
					Class: admit.Class(rng.IntN(admit.NumClasses)), Input: rng.Int64N(1000), MaxOutput: rng.Int64N(1000), Arrived: time.Now()}
				d, next := g.Offer(&r)
				for again := true; again; {
					if d.Verdict == admit.Queue {
						if rng.IntN(8) == 0 {
							g.Cancel(r.ID)
							left.Add(1)
							break
						}
						d = <-next
					}
					if d.Verdict != admit.Run {
						break
					}
					time.Sleep(time.Duration(rng.IntN(1000)) * time.Microsecond)
					o := admit.Outcome{Cost: rng.Int64N(20_000)}
					switch rng.IntN(6) {
					case 0:
						o.Fault, o.Retryable, o.Status, o.Cost = admit.Invalid, true, 400, 0
					case 1:
						o.CallerGone = true
					case 2:
						o.Fault, o.Sent, o.Status = admit.Failed, true, 200
					default:
						o.OK, o.Status, o.Known, o.Input, o.Output = true, 200, true, 100, rng.Int64N(500)
						answered.Add(1)
					}
					paid.Add(o.Cost)
					d, next, again = g.Finish(r.ID, o)
				}
			}
		})
	}
	wg.Wait()
	snap := g.Snapshot()
	byScope := map[admit.Scope]int64{}
	for _, a := range snap.Accounts {
		byScope[a.Scope] += a.Used
	}
	for _, scope := range []admit.Scope{admit.ScopeAll, admit.ScopeTenant, admit.ScopeModel, admit.ScopeKey} {
		if want := paid.Load(); byScope[scope] != want {
			t.Errorf("%v: %d are spent, want %d", scope, byScope[scope], want)
		}
	}
	if snap.Money.Held != 0 || snap.Money.Alive != 0 {
		t.Errorf("%d are held, by %d", snap.Money.Held, snap.Money.Alive)
	}
	if answered.Load() < int64(goroutines*each/4) || left.Load() == 0 {
		t.Errorf("%d answered and %d left in the queue: too tame", answered.Load(), left.Load())
	}
}

// The same over HTTP, with a ledger: five thousand requests, all told alike.
func TestMoneyReconcilesOverHTTP(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 500
	}
	bubble(t, func(t *testing.T) {
		ends := []http.HandlerFunc{
			reply(200, "application/json", wholeAnswer), reply(200, "application/json", unusedAnswer), reply(503, "application/json", `{"error":{"message":"busy"}}`),
			reply(400, "application/json", `{"error":{"message":"no"}}`), events(chunk("a"), finish, usage, done), events(chunk("a"), chunk("b")), events(chunk("a"), chunk("b"), finish),
			slowly(chunk("a"), chunk("b"), finish, usage, done), stuck(""), stuck(events200, chunk("a")),
		}
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(5, 6))
		pick := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return rng.IntN(n)
		}
		s := tillOf(t, strings.Replace(providerOf("bill_on_cancel: input"), "concurrency: 4", "concurrency: 40", 1), &calls{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ends[pick(len(ends))](w, r)
		})})
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				for range n / 50 {
					body := []string{plainAsk, streamAsk}[pick(2)]
					s.leavingSoon(time.Duration(500+pick(4000))*time.Millisecond, chatPath, body)
				}
			})
		}
		callers.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		got := s.sums()
		if got.held != 0 || got.alive != 0 || got.spent == 0 || got.ledger != got.spent || got.metric != got.spent || got.served != got.spent {
			t.Errorf("%+v", got)
		}
		kinds := map[string]int{}
		for _, r := range s.rows() {
			kinds[r.Outcome]++
		}
		if kinds["answered"] == 0 || kinds["cut"] == 0 || kinds["left"] == 0 {
			t.Errorf("ends %v: too tame", kinds)
		}
	})
}
