package gateway

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// TestPicture: one slot, three requests of a shop, and operators see who waits,
// for how long, and what came true of it.
func TestPicture(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, strings.Replace(one(1, "budget: {day: 10}", tenantsOf("{name: shop, keys: [KEY], weight: 2}", "{name: idle, keys: [KEY2]}")), "concurrency: 1", "concurrency: 1, price: free", 1), quick())
		first := r.background(t.Context(), chatPath, plainAsk, secret...)
		synctest.Wait()
		second := r.background(t.Context(), chatPath, plainAsk, secret...)
		synctest.Wait()
		r.ask(chatPath, plainAsk, append(secret, "X-Spillway-Deadline-Ms", "100")...) // in vain
		time.Sleep(500 * time.Millisecond)

		p := r.g.Picture()
		if len(p.Models) != 1 || len(p.Tenants) != 1 || len(p.Lanes) != 1 || len(p.Upstream) != 1 || len(p.Budgets) != 1 || p.Active != 2 || p.Uptime != 0.5 {
			t.Fatalf("%+v", p)
		}
		m, c := p.Models[0], p.Models[0].Classes[0]
		if m.Model != "chat" || m.Slots != 1 || m.Running != 1 || m.Bound != 10_000 || m.PerLane != 1000 || len(m.Classes) != 4 || c.Class != "interactive" || c.Waiting != 1 || c.Running != 1 || c.Wait <= 0 || c.Work <= 0 {
			t.Errorf("%+v", m)
		}
		if x := p.Tenants[0]; x.Tenant != "shop" || x.Waiting != 1 || x.Running != 1 || x.Offered != 0.3 || x.Refused != 0.1 {
			t.Errorf("%+v", x)
		}
		if l := p.Lanes[0]; l.Tenant != "shop" || l.Model != "chat" || l.Class != "interactive" || l.Waiting != 1 || l.Oldest != 0.5 || l.Wait < c.Wait {
			t.Errorf("%+v, a newcomer waits %v", l, c.Wait)
		}
		if b := p.Budgets[0]; b.Scope != "all" || b.Span != "day" || b.Limit != 10 || b.Alarm != "calm" || b.Lasts != nil {
			t.Errorf("%+v", b)
		}
		<-first
		<-second
		time.Sleep(time.Second)
		var sum Second
		for _, s := range r.g.History(900) {
			sum.Offered, sum.Ran, sum.Queued, sum.Started, sum.Good = sum.Offered+s.Offered, sum.Ran+s.Ran, sum.Queued+s.Queued, sum.Started+s.Started, sum.Good+s.Good
			if s.Started > 0 && (s.Wait < 0.9 || s.Foretold <= 0 || s.Worst != s.Wait) {
				t.Errorf("waited %+v", s)
			}
			for stage, n := range s.Refused {
				if stage != "wait" || n != 1 {
					t.Errorf("%d refused by %s", n, stage)
				}
			}
		}
		if sum.Offered != 3 || sum.Ran != 1 || sum.Queued != 1 || sum.Started != 1 || sum.Good != 2 {
			t.Errorf("%+v", sum)
		}
	})
}

// TestPictureIsBounded: of too many lanes and budgets those that matter most.
func TestPictureIsBounded(t *testing.T) {
	g := crowded(t, 150, 2)
	p := g.Picture()
	if len(p.Lanes) != mostLanes || p.LanesOut != len(g.gate.see(1e6).lanes)-mostLanes || len(p.Budgets) != mostBudgets || p.Out != 151-mostBudgets {
		t.Errorf("%d lanes and %d more, %d budgets and %d more", len(p.Lanes), p.LanesOut, len(p.Budgets), p.Out)
	}
	for i := 1; i < len(p.Lanes); i++ {
		if p.Lanes[i].Waiting > p.Lanes[i-1].Waiting {
			t.Fatalf("lane %d is longer than the one before", i)
		}
	}
	if len(p.Tenants) != 150 {
		t.Errorf("%d tenants", len(p.Tenants))
	}
}

// crowded is a gateway with so many tenants and models, where one or more wait
// in every class, and all is counted.
func crowded(t testing.TB, tenants, models int) *Gateway {
	t.Helper()
	var b strings.Builder
	b.WriteString("budget: {day: 1000000}\nclasses: {")
	for class := range admit.Class(admit.NumClasses) {
		fmt.Fprintf(&b, "%s: {deadline: 10h, max_wait: 10h}, ", class)
	}
	b.WriteString("}\nproviders:\n")
	for i := range 3 {
		fmt.Fprintf(&b, "  up%d: {base_url: \"http://127.0.0.1:%d/v1\"}\n", i, i+1)
	}
	b.WriteString("models:\n")
	for i := range models {
		fmt.Fprintf(&b, "  model-%02d: {queue: {total: 100000, work: 1000h}, deployments: [", i)
		for j := range 3 {
			fmt.Fprintf(&b, "{provider: up%d, concurrency: 2, price: {input: 1, output: 4}}, ", j)
		}
		b.WriteString("]}\n")
	}
	b.WriteString("tenants:\n")
	for i := range tenants {
		fmt.Fprintf(&b, "- {name: tenant-%03d, keys: [%q], budget: {day: 1000}, limits: {rpm: 1000000, tpm: 1000000000}}\n", i, config.HashKey(fmt.Sprint("key", i)))
	}
	c, err := config.Parse("crowd.yaml", []byte(b.String()), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(c, Options{Log: telemetry.NewLogger(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	for i := range models {
		for j := range tenants {
			for class := range admit.Class(admit.NumClasses) {
				for n := range 1 + (i+j*7+int(class))%2 {
					g.pretend(fmt.Sprintf("tenant-%03d", j), fmt.Sprintf("model-%02d", i), class, n == 0)
				}
			}
		}
	}
	return g
}

// pretend offers a request as a handler would, and lets telemetry believe that
// one like it was answered.
func (g *Gateway) pretend(tenant, model string, class admit.Class, ends bool) {
	now := time.Now()
	r := admit.Request{Tenant: tenant, Model: model, Class: class, Input: 500, Arrived: now, Deadline: now.Add(9 * time.Hour)}
	record := telemetry.Record{Tenant: tenant, Model: model, Class: class, Arrived: now, Priced: true}
	g.metrics.Arrived(&record)
	d, _ := g.gate.Offer(&r)
	g.metrics.Decided(&record, &d)
	g.history.decided(now, &record, &d, true)
	if !ends {
		return
	}
	d = admit.Decision{ID: r.ID, Verdict: admit.Run, Stage: admit.StageQueue, Wait: time.Second}
	g.metrics.Decided(&record, &d)
	record.Outcome, record.Input, record.Output, record.Cached, record.Cost, record.Total, record.TTFT = telemetry.Answered, 500, 200, 100, 900, 3*time.Second, time.Second
	g.metrics.Attempted(&record, &telemetry.Attempt{Deployment: "up0/" + model, Kind: "ok", Status: 200, OK: true, Service: 2 * time.Second})
	g.metrics.Finished(&record)
	g.history.ended(now, &record, true)
}

// onCPU reports what each turn takes of the processors, which on a busy machine
// says more than the clock does.
func onCPU(b *testing.B) (report func()) {
	runtime.GC()
	before := cpu(b)
	return func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkPicture is all that one picture costs: 200 tenants of 20 models wait
// in all classes, 24,000 requests. The bar is a hundredth of a core.
func BenchmarkPicture(b *testing.B) {
	g := crowded(b, 200, 20)
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		defer onCPU(b)()
		size := 0
		for b.Loop() {
			body, err := json.Marshal(g.Picture())
			if err != nil {
				b.Fatal(err)
			}
			size = len(body)
		}
		b.ReportMetric(float64(size), "bytes")
	})
	b.Run("look", func(b *testing.B) {
		b.ReportAllocs()
		defer onCPU(b)()
		for b.Loop() {
			g.gate.see(mostLanes)
		}
	})
}
