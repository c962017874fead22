package store

import (
	"strings"
	"testing"
	"time"
)

// backends runs a test on each database.
func backends(t *testing.T, test func(t *testing.T, o Options)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newLog().options(t.TempDir())) })
	t.Run("PostgreSQL", func(t *testing.T) {
		o := newLog().options(t.TempDir())
		o.Postgres = postgresServer(t).database(t)
		test(t, o)
	})
}

func TestRowsComeBackAsTheyWent(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		known, unknown := row(1), row(2)
		unknown.Priced = false // and Cost is not looked at
		add(t, l, known, unknown)
		flush(t, l)

		var cost *int64
		for _, tt := range []struct {
			id   string
			want int64
		}{{"req-1", 1234}, {"req-2", -1}} {
			var got Row
			var at, estimated, queued, service, total int64
			into := []any{}
			for _, text := range got.texts() {
				into = append(into, text)
			}
			into = append(into, &at, &got.Status, &got.Attempts, &got.Input, &got.Output, &got.Cached, &got.CacheWrite, &got.Reasoning, &cost, &estimated, &queued, &service, &total)
			err := l.db.QueryRowContext(in(t), "SELECT "+strings.Join(columns, ", ")+" FROM spillway_usage WHERE id = $1", tt.id).Scan(into...)
			if err != nil {
				t.Fatal(err)
			}
			got.Time, got.Queued, got.Service, got.Total, got.Estimated = time.UnixMicro(at).UTC(), micros(queued), micros(service), micros(total), estimated == 1
			want := *known
			if tt.want < 0 {
				want = *unknown
				want.Cost = 0
				if cost != nil {
					t.Errorf("a row without a price costs %d", *cost)
				}
			} else {
				got.Cost, got.Priced = *cost, true
			}
			if got != want {
				t.Errorf("\n%+v\n%+v", got, want)
			}
		}
	})
}

func TestARowIsThereOnce(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		add(t, l, row(1), row(2), row(1))
		flush(t, l)
		add(t, l, row(2), row(3))
		flush(t, l)
		same(t, stored(t, l), ids(1, 4))
		if s := l.Stats(); s.Written != 3 || s.Appended != 5 || !s.Up || !s.Oldest.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

// What callers put into a row cannot hold up those behind it.
func TestNoTextIsRefused(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		for i, text := range []string{"", "\x00", "a\x00b", "\xff\xfe", "'; DROP TABLE spillway_usage; --", strings.Repeat("ä", 4000), strings.Repeat("\xf0\x9f\x98\x80", 129), strings.Repeat("x", 511) + "ä", "{}\\,\"NULL"} {
			r := row(i)
			for _, field := range r.texts() {
				*field = text
			}
			r.ID = row(i).ID
			add(t, l, r)
		}
		flush(t, l)
		same(t, stored(t, l), ids(0, 9))
		for _, id := range []string{"", strings.Repeat("x", 513)} {
			if err := l.Append(&Row{ID: id}); err == nil {
				t.Errorf("a row is kept under an ID of %d bytes", len(id))
			}
		}
	})
}

func TestRetention(t *testing.T) { // B185
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		const old = 2500 // three steps
		for i := range old + 10 {
			add(t, l, row(i))
		}
		flush(t, l)
		n, err := l.db.expire(in(t), row(old).Time)
		if err != nil || n != old {
			t.Fatal(n, err)
		}
		same(t, stored(t, l), ids(old, old+10))
		if n, err := l.db.expire(in(t), row(old).Time); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	})
}

// The ledger does it by itself, with its own clock.
func TestRetentionRuns(t *testing.T) {
	log := newLog()
	o := log.options(t.TempDir())
	l := open(t, o)
	add(t, l, rowAt(1, time.Now().Add(-2*time.Hour)), rowAt(2, time.Now()))
	flush(t, l)
	if err := l.Close(in(t)); err != nil {
		t.Fatal(err)
	}
	o.Keep = time.Hour
	l = open(t, o)
	log.wait(t, "old rows were deleted")
	same(t, stored(t, l), ids(2, 3))
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		add(t, l, row(1))
		flush(t, l)
		for range 2 {
			if err := l.db.migrate(in(t)); err != nil {
				t.Fatal(err)
			}
		}
		same(t, stored(t, l), ids(1, 2))
	})
}
