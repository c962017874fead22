package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// entry is a row of the ledger.
type entry struct {
	tenant, outcome string
	cost            sql.NullInt64
	times           int // that it is there
}

// readLedger reads a whole ledger: of SQLite, or of PostgreSQL if a connection
// string is given.
func (s *site) readLedger(ctx context.Context, postgres string) (map[string]entry, error) {
	driver, source := "pgx", postgres
	if postgres == "" {
		file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.Join(s.ledger(), "usage.db"), RawQuery: "mode=ro&_pragma=busy_timeout(5000)"}
		driver, source = "sqlite", file.String()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT id, tenant, outcome, cost FROM spillway_usage")
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	defer rows.Close()
	list := map[string]entry{}
	for rows.Next() {
		var id string
		var e entry
		if err := rows.Scan(&id, &e.tenant, &e.outcome, &e.cost); err != nil {
			return nil, err
		}
		e.times = list[id].times + 1
		list[id] = e
	}
	return list, rows.Err()
}

// spent is what the ledger knows that a tenant spent, in micro-dollars.
func spent(rows map[string]entry, tenant string) (sum int64) {
	for _, e := range rows {
		if e.tenant == tenant {
			sum += e.cost.Int64 * int64(e.times)
		}
	}
	return sum
}

// audit compares the ledger with what callers had.
type audit struct {
	rows     int
	complete int // answers that callers had to their end
	missing  int // of these, in no row
	doubled  int // rows that are there more than once
	wrong    int // rows with another cost, or without one
	unknown  int // calls that the provider began and no row tells of
}

func (s *site) audit(rows map[string]entry, list []outcome) audit {
	a := audit{rows: len(rows), unknown: int(s.provider.calls.Load()) - len(rows)}
	for _, e := range rows {
		if e.times > 1 {
			a.doubled++
		}
	}
	for _, o := range list {
		if !o.complete {
			continue
		}
		a.complete++
		e, ok := rows[o.id]
		switch {
		case !ok:
			a.missing++
		case !e.cost.Valid || e.cost.Int64 != o.cost:
			a.wrong++
		}
	}
	return a
}

// err says what is wrong with the books.
func (a audit) err() error {
	if a.complete == 0 || a.missing+a.doubled+a.wrong > 0 {
		return fmt.Errorf("of %d complete answers %d are missing in the ledger, %d are there twice and %d have a wrong cost", a.complete, a.missing, a.doubled, a.wrong)
	}
	return nil
}

func (a audit) String() string {
	return fmt.Sprintf("%d complete answers, %d rows: %d missing, %d doubled, %d with a wrong cost", a.complete, a.rows, a.missing, a.doubled, a.wrong)
}

// spooled lists what is left in the spool.
func (s *site) spooled() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(s.ledger(), "spool"))
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".rows") {
			names = append(names, e.Name())
		}
	}
	return names, err
}
