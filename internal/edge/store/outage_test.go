package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	saysDown = "rows cannot be written to the database"
	saysUp   = "rows can be written to the database again"
)

// The server is stopped while rows come, and started again.
func TestPostgresStopsAndComesBack(t *testing.T) {
	p := postgresServer(t)
	log := newLog()
	o := log.options(t.TempDir())
	o.Postgres = p.database(t)
	l := open(t, o)
	add(t, l, row(0), row(1))
	flush(t, l)

	p.stop()
	for i := 2; i < 2000; i++ {
		add(t, l, row(i))
	}
	line := log.wait(t, saysDown)
	if strings.Contains(line, "s3cr3t") || !strings.Contains(line, "spool_bytes") {
		t.Error(line)
	}
	if s := l.Stats(); s.Up || s.Oldest != row(2).ended() || s.Failures == 0 || s.SpoolBytes == 0 || s.Lost != 0 || s.Written != 2 {
		t.Errorf("%+v", s)
	}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	log.wait(t, saysUp)
	flush(t, l)
	same(t, stored(t, l), ids(0, 2000))
	if s := l.Stats(); !s.Up || !s.Oldest.IsZero() || s.Written != 2000 {
		t.Errorf("%+v", s)
	}
}

// blocked is a ledger whose SQLite file cannot be opened: in its place is a
// directory, until free.
func blocked(t *testing.T, o Options) (l *Ledger, free func()) {
	t.Helper()
	file := filepath.Join(o.Directory, "usage.db")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	return open(t, o), func() {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// The database is down from the start: the ledger opens, and the tables are
// made when it comes.
func TestTheDatabaseComesLate(t *testing.T) {
	log := newLog()
	l, free := blocked(t, log.options(t.TempDir()))
	for i := range 1200 {
		add(t, l, row(i))
	}
	log.wait(t, saysDown)
	free()
	log.wait(t, saysUp)
	flush(t, l)
	same(t, stored(t, l), ids(0, 1200))
}

// Somebody else holds the lock of the file for a while.
func TestALockedFile(t *testing.T) {
	log := newLog()
	l := open(t, log.options(t.TempDir()))
	flush(t, l)
	other, err := l.db.BeginTx(in(t), nil) // immediate: it takes the lock
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, row(0), row(1))
	log.wait(t, saysDown)
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	log.wait(t, saysUp)
	flush(t, l)
	same(t, stored(t, l), ids(0, 2))
}

// Without a database Close ends at once, and says what stays.
func TestWhatACloseLeavesIsWrittenNextTime(t *testing.T) {
	log := newLog()
	o := log.options(t.TempDir())
	l, free := blocked(t, o)
	add(t, l, row(0), row(1))
	log.wait(t, saysDown)
	err := l.Close(in(t))
	if err == nil || !strings.Contains(err.Error(), "rows stay in the spool for the next start") {
		t.Fatal(err)
	}
	if err := l.Append(row(2)); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	free()
	l = open(t, o)
	flush(t, l)
	same(t, stored(t, l), ids(0, 2))
}

// With a database Close writes everything, and leaves no row in the spool.
func TestCloseWritesEverything(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		for i := range 1700 {
			add(t, l, row(i))
		}
		if err := l.Close(in(t)); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(o.Directory, "spool", "*.rows")); len(left) > 0 {
			t.Error(left)
		}
		l = open(t, o)
		flush(t, l)
		same(t, stored(t, l), ids(0, 1700))
		if n := l.Stats().Written; n != 0 {
			t.Errorf("%d rows were written again", n)
		}
	})
}

// The spool is full: rows are lost, counted, and it is said once, with what to
// do. What was taken before is not lost.
func TestTheBoundIsSaid(t *testing.T) {
	log := newLog()
	o := log.options(t.TempDir())
	o.Spool = leastSpool
	l, free := blocked(t, o)
	log.wait(t, saysDown)
	var taken []string
	for i := range 3000 {
		if l.Append(row(i)) == nil {
			taken = append(taken, row(i).ID)
		}
	}
	s := l.Stats()
	if s.Appended != int64(len(taken)) || s.Lost != int64(3000-len(taken)) || s.Lost == 0 {
		t.Fatalf("%+v", s)
	}
	line := log.wait(t, "rows are lost")
	for _, part := range []string{"ERROR", "lost=1", "spool_bytes=", "spool_bound=262", "database=down: ", "raise ledger.spool"} {
		if !strings.Contains(line, part) {
			t.Errorf("%q is not in %s", part, line)
		}
	}
	free()
	log.wait(t, saysUp)
	flush(t, l)
	same(t, stored(t, l), taken)
	for {
		select {
		case line := <-log:
			if strings.Contains(line, "rows are lost") {
				t.Error("said again within the same second")
			}
			continue
		default:
		}
		break
	}
	add(t, l, row(9000)) // there is room again
}
