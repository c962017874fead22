package gateway

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/store"
)

const budgeted4 = `
providers:
  up: {base_url: "http://127.0.0.1:8001", api_key: upstream-secret, http: "1.1"}
models:
  chat: {deployments: [{provider: up, model: vendor-m, concurrency: 4, price: {input: 1, output: 10}}]}
budget: {minute: 900, hour: 1000, day: 5000, month: 9000}
`

// past fills a ledger with rows of an earlier process, one each step until now.
func past(t *testing.T, dir string, step, until time.Duration) (rows []store.Row) {
	t.Helper()
	l, err := store.Open(context.Background(), store.Options{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	now := time.Now()
	for age := step; age < until; age += step {
		r := store.Row{ID: fmt.Sprint("old-", age), Time: now.Add(-age), Tenant: "open", ModelUsed: "chat", ModelAsked: "chat", Cost: 1 + int64(age/step), Priced: true, Outcome: "answered"}
		if err := l.Append(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if err := l.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return rows
}

func (s *till) used(scope admit.Scope, span admit.Span) int64 {
	for _, a := range s.g.gate.Snapshot().Accounts {
		if a.Scope == scope && a.Span == span {
			return a.Used
		}
	}
	return 0
}

// A budget goes on after a restart where it was: each cent that the ledger
// knows is counted once, in the spans that it belongs to.
func TestBudgetsAfterARestart(t *testing.T) { // B115
	bubble(t, func(t *testing.T) {
		time.Sleep(13*time.Hour + 34*time.Minute + 17*time.Second) // no full hour
		dir := t.TempDir()
		rows := past(t, dir, 97*time.Second, 29*24*time.Hour)
		s := &till{dir: dir, ledger: ledgerIn(t, dir)}
		s.rig = setup(t, budgeted4, reply(200, "application/json", wholeAnswer), func(o *Options) { o.Ledger = s.ledger })
		for span := range admit.Span(admit.NumSpans) {
			least, most, slack := int64(0), int64(0), max(span.Length()/16, time.Minute) // budgets and ledger count in steps
			for _, r := range rows {
				age := time.Since(r.Time)
				if age < span.Length()-slack || span == admit.Month {
					least += r.Cost
				}
				if age < span.Length()+slack {
					most += r.Cost
				}
			}
			if got := s.used(admit.ScopeAll, span); got < least || got > most {
				t.Errorf("%d are counted in a %v, want %d to %d", got, span, least, most)
			}
		}
	})
}

// With a ledger that is down a gateway serves, says so, and is corrected when
// the ledger is back; what it has served meanwhile is not counted twice.
func TestBudgetsWhenTheLedgerIsDownAtTheStart(t *testing.T) { // B115
	bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		before := int64(0)
		for _, r := range past(t, dir, time.Second, 50*time.Second) {
			before += r.Cost
		}
		file := filepath.Join(dir, "usage.db")
		if err := os.Rename(file, file+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(file, 0o700); err != nil {
			t.Fatal(err)
		}
		s := &till{dir: dir, ledger: ledgerIn(t, dir)}
		s.rig = setup(t, budgeted4, reply(200, "application/json", wholeAnswer), func(o *Options) { o.Ledger = s.ledger })
		for range 3 {
			if a := s.ask(chatPath, plainAsk); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		if got := s.used(admit.ScopeAll, admit.Hour); got != 3*37 {
			t.Errorf("spent %d, want %d", got, 3*37)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".away", file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if got, want := s.used(admit.ScopeAll, admit.Hour), before+3*37; got != want {
			t.Errorf("spent %d, want %d", got, want)
		}
		if down, back := s.log.told("budgets that are new begin at nothing"), s.log.told("budgets know"); down != 1 || back != 1 {
			t.Errorf("the log tells %d times that it is down, %d times that it is back", down, back)
		}
	})
}
