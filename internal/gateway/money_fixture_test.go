package gateway

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/store"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// priced is a gateway with one model of four slots, for which a token of input
// is a micro-dollar, one that was cached a tenth of it, and one of output ten.
// %s is for further settings of the provider.
const priced = `
providers:
  up: {base_url: "http://127.0.0.1:8001", api_key: upstream-secret, http: "1.1"%s}
models:
  chat: {deployments: [{provider: up, model: vendor-m, concurrency: 4, price: {input: 1, output: 10, cached: 0.1}}]}
budget: {day: 1000}
`

// till is a gateway whose money is watched in all places where it is counted.
type till struct {
	*rig
	ledger *store.Ledger
	dir    string
}

// tillOf joins a gateway with a ledger of its own in memory.
func tillOf(t *testing.T, conf string, upstream any, with ...func(*Options)) *till {
	t.Helper()
	s := &till{dir: t.TempDir()}
	s.ledger = ledgerIn(t, s.dir)
	s.rig = setup(t, conf, upstream, append(with, func(o *Options) { o.Ledger = s.ledger })...)
	return s
}

func ledgerIn(t *testing.T, dir string) *store.Ledger {
	t.Helper()
	l, err := store.Open(context.Background(), store.Options{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

// row is one line of the ledger.
type row struct {
	Model, Asked, Deployment, Key, User, Session, Surface string
	Decision, Rung, Outcome                               string
	Status, Attempts                                      int
	Input, Output, Cached, Cost                           int64
	Priced, Estimated                                     bool
}

// rows are all of the ledger, in the order of arrival.
func (s *till) rows() (list []row) {
	s.t.Helper()
	if err := s.ledger.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "usage.db")+"?mode=ro")
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Query(`SELECT model_used, model_asked, deployment, api_key, end_user, session, surface, decision, rung, outcome, status, attempts,
		input, output, cached, COALESCE(cost, 0), cost IS NOT NULL, estimated FROM spillway_usage ORDER BY at, id`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var r row
		if err := found.Scan(&r.Model, &r.Asked, &r.Deployment, &r.Key, &r.User, &r.Session, &r.Surface, &r.Decision, &r.Rung, &r.Outcome, &r.Status, &r.Attempts,
			&r.Input, &r.Output, &r.Cached, &r.Cost, &r.Priced, &r.Estimated); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, r)
	}
	if err := found.Err(); err != nil {
		s.t.Fatal(err)
	}
	return list
}

// sums are what has been paid, wherever it is told.
type sums struct {
	spent, held, alive     int64 // of the budget
	ledger, metric, served int64 // served is what the deployments took
}

func (s *till) sums() (x sums) {
	s.t.Helper()
	snap := s.g.gate.Snapshot()
	x.held, x.alive = snap.Money.Held, snap.Money.Alive
	for _, a := range snap.Accounts {
		if a.Scope <= admit.ScopeTenant { // of all, or of the only tenant
			x.spent = a.Used
		}
	}
	for _, d := range snap.Deployments {
		x.served += d.Tally.Cost
	}
	for _, dollars := range s.counters("spillway_cost_dollars_total", "model") {
		x.metric += int64(math.Round(dollars * 1e6))
	}
	for _, r := range s.rows() {
		x.ledger += r.Cost
	}
	return x
}

// paid checks that every count of money says so many micro-dollars, and that
// nothing is held any more.
func (s *till) paid(want int64) {
	s.t.Helper()
	synctest.Wait()
	if got, all := s.sums(), (sums{spent: want, ledger: want, metric: want, served: want}); got != all {
		s.t.Errorf("paid %+v, want %d everywhere", got, want)
	}
	s.idle()
}

// only is the one row of the ledger.
func (s *till) only() row {
	s.t.Helper()
	list := s.rows()
	if len(list) != 1 {
		s.t.Fatalf("%d rows, want 1: %+v", len(list), list)
	}
	return list[0]
}

// guess is the input that is estimated for a body.
func (s *till) guess(surface wire.Surface, body string) int64 {
	s.t.Helper()
	e, bad := wire.Parse(surface, []byte(body))
	if bad != nil {
		s.t.Fatal(bad.Message)
	}
	return s.g.tokens.Tokens("chat", &e.Features)
}

// providerOf fills priced.
func providerOf(settings ...string) string {
	more := ""
	if len(settings) > 0 {
		more = ", " + strings.Join(settings, ", ")
	}
	return fmt.Sprintf(priced, more)
}

// leaving asks and leaves after a while.
func (s *till) leaving(after time.Duration, path, body string, header ...string) answer {
	a := s.leavingSoon(after, path, body, header...)
	synctest.Wait()
	return a
}

// leavingSoon is leaving for many at once.
func (s *till) leavingSoon(after time.Duration, path, body string, header ...string) answer {
	ctx, leave := context.WithTimeout(s.t.Context(), after)
	defer leave()
	return s.askCtx(ctx, path, body, header...)
}
