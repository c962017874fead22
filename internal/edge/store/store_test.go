package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_APPENDER"); dir != "" {
		appendUntilKilled(dir)
		return
	}
	code := m.Run()
	if thePostgres != nil {
		thePostgres.remove()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var t0 = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

// rowAt is a row with something in each field.
func rowAt(i int, at time.Time) *Row {
	return &Row{
		ID: fmt.Sprintf("req-%d", i), Time: at, Tenant: "acme", Key: "ci", User: "ann", Session: "s1", Surface: "chat", ModelAsked: "chat-large", ModelUsed: "chat", UpstreamModel: "m-70b",
		Deployment: "eu", Class: "interactive", Decision: "run", Rung: "trim,cheaper", Outcome: "answered", Status: 200, Attempts: 2,
		Input: 1000, Output: 100, Cached: 500, CacheWrite: 20, Reasoning: 30, Cost: 1234, Priced: true, Estimated: true,
		Queued: 5 * time.Millisecond, Service: 700 * time.Millisecond, Total: 706 * time.Millisecond,
	}
}

func row(i int) *Row { return rowAt(i, t0.Add(time.Duration(i)*time.Second)) }

// messages is a log whose lines can be waited for.
type messages chan string

func (m messages) Enabled(context.Context, slog.Level) bool { return true }
func (m messages) WithAttrs([]slog.Attr) slog.Handler       { return m }
func (m messages) WithGroup(string) slog.Handler            { return m }
func (m messages) Handle(_ context.Context, r slog.Record) error {
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	select {
	case m <- text:
	default:
	}
	return nil
}

// wait gives the next line that has a text in it.
func (m messages) wait(t *testing.T, text string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line := <-m:
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			t.Fatalf("it never logged %q", text)
		}
	}
}

func (m messages) options(directory string) Options {
	return Options{Directory: directory, Log: slog.New(m)}
}

func newLog() messages { return make(messages, 10_000) }

func open(t testing.TB, o Options) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

// in is a minute: no test waits so long unless something is wrong.
func in(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func add(t testing.TB, l *Ledger, rows ...*Row) {
	t.Helper()
	for _, r := range rows {
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t testing.TB, l *Ledger) {
	t.Helper()
	if err := l.Flush(in(t)); err != nil {
		t.Fatal(err)
	}
}

// stored are the IDs in the database in order, each as often as it is there.
func stored(t testing.TB, l *Ledger) (ids []string) {
	t.Helper()
	rows, err := l.db.QueryContext(in(t), "SELECT id FROM spillway_usage ORDER BY at, id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

func ids(from, to int) (ids []string) {
	for i := from; i < to; i++ {
		ids = append(ids, row(i).ID)
	}
	return ids
}

func same(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%d rows, want %d:\n%.200q\n%.200q", len(got), len(want), got, want)
	}
}
