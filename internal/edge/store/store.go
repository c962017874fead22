// Package store keeps what outlives a process: the ledger of what each request
// used and cost.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/claim"
)

// Ledger keeps a row for each request, first in a spool on disk and from there
// in a database, each row exactly once, whatever happens to the process or the
// database in between. A row whose Append returned nil is not lost when the
// process is killed; a failure of power loses those of about the last second.
// It is safe for concurrent use.
//
// Rows are in the database a little after Append, or when it is back. Flush
// waits for that.
type Ledger struct {
	reader
	db    *database
	spool *spool
	keep  time.Duration
	log   *slog.Logger

	appended, written, lost, failures atomic.Int64
	up                                atomic.Bool
	flushing                          atomic.Int32 // calls of Flush that wait
	hurry                             chan struct{}
	ready                             chan struct{} // closed when the tables are there
	closing                           chan struct{} // closed by Close
	writerDone                        chan struct{}
	stop                              context.CancelFunc
	tasks                             sync.WaitGroup
	closed                            sync.Once
	complaints                        seldom

	mu      sync.Mutex
	settled position      // all before it is in the database
	changed chan struct{} // closed when settled moves
	failure error         // of the last attempt to write; nil: it worked
}

// Options of a ledger.
type Options struct {
	// Directory for the spool and the SQLite file, of this process alone. It is
	// made if it is not there.
	Directory string
	// Postgres is the connection string of a PostgreSQL database. Empty: the
	// file usage.db in Directory.
	Postgres string
	// Keep is how long rows stay, by their Time. Zero: for ever.
	Keep time.Duration
	// Spool bounds the rows that wait for the database, in bytes. Beyond it rows
	// are lost. Zero: 1 GiB.
	Spool int64
	// Log is told when the database goes and comes, and of rows that are lost.
	// Nil: nobody.
	Log *slog.Logger
}

const (
	defaultSpool = 1 << 30
	// leastSpool holds two of the largest rows in each of its eight segments.
	leastSpool = 16 * maxFrame
)

func (o *Options) setDefaults() {
	if o.Spool == 0 {
		o.Spool = defaultSpool
	}
	o.Spool = max(o.Spool, leastSpool)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) openDatabase(readOnly bool) (*database, error) {
	if o.Postgres != "" {
		return openPostgres(o.Postgres)
	}
	return openSQLite(filepath.Join(o.Directory, "usage.db"), readOnly)
}

// Open begins a ledger and has what an earlier process left in the spool
// written. It does not wait for the database, nor fail without it: it fails if
// the directory cannot be used or is used by another process, or if the
// connection string is none. Ctx bounds nothing that goes on after Open.
func Open(ctx context.Context, o Options) (*Ledger, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open the usage ledger: %w", err)
	}
	o.setDefaults()
	db, err := o.openDatabase(false)
	if err != nil {
		return nil, fmt.Errorf("open the usage ledger: %w", err)
	}
	s, err := openSpool(filepath.Join(o.Directory, "spool"), o.Spool)
	if err != nil {
		db.Close()
		remedy := "name one that can be written in ledger.directory, or write ledger: {enabled: false}"
		if errors.Is(err, claim.ErrTaken) {
			remedy = "give each gateway a ledger.directory of its own, or end the other one"
		}
		return nil, fmt.Errorf("open the usage ledger: %w; %s", err, remedy)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Ledger{
		reader: reader{db}, db: db, spool: s, keep: o.Keep, log: o.Log,
		hurry: make(chan struct{}, 1), ready: make(chan struct{}), closing: make(chan struct{}), writerDone: make(chan struct{}), changed: make(chan struct{}), stop: stop,
	}
	l.tasks.Go(func() { defer close(l.writerDone); l.write(running) })
	l.tasks.Go(func() { l.syncEachSecond(running) })
	l.tasks.Go(func() { l.expireEachHour(running) })
	return l, nil
}

// Append adds a row. It writes to a file once and waits for nothing else. An
// error means that the row is lost; it is counted and logged already.
func (l *Ledger) Append(r *Row) error {
	err := l.add(r)
	if err == nil {
		l.appended.Add(1)
		return nil
	}
	lost := l.lost.Add(1)
	if l.complaints.may(time.Now()) {
		s := l.Stats()
		l.log.Error("usage ledger: rows are lost", "error", err, "lost", lost, "spool_bytes", s.SpoolBytes, "spool_bound", l.spool.bound, "database", l.state(),
			"remedy", "bring the database back, or see that the disk has room and raise ledger.spool")
	}
	return err
}

func (l *Ledger) add(r *Row) error {
	if r.ID == "" || len(r.ID) > maxText {
		return fmt.Errorf("the ID of a row has %d bytes, want 1 to %d", len(r.ID), maxText)
	}
	return l.spool.add(r)
}

// Flush waits until the database is there and has every row that was added
// before the call.
func (l *Ledger) Flush(ctx context.Context) error {
	target := l.spool.end()
	l.flushing.Add(1)
	defer l.flushing.Add(-1)
	tell(l.hurry)
	wait := func(c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case <-l.writerDone:
			return fmt.Errorf("flush the usage ledger: %w", ErrClosed)
		case <-ctx.Done():
			return fmt.Errorf("flush the usage ledger: %w; the database is %s", ctx.Err(), l.state())
		}
	}
	if err := wait(l.ready); err != nil {
		return err
	}
	for {
		l.mu.Lock()
		settled, changed := l.settled, l.changed
		l.mu.Unlock()
		if !settled.before(target) || !l.spool.holds(settled) {
			return nil
		}
		if err := wait(changed); err != nil {
			return err
		}
	}
}

// Close writes to the database what it can until ctx is done. What remains
// stays in the spool for the next process, and the error says so. If the
// database fails, Close does not wait for it.
func (l *Ledger) Close(ctx context.Context) (err error) {
	l.closed.Do(func() { err = l.close(ctx) })
	return err
}

func (l *Ledger) close(ctx context.Context) error {
	l.spool.refuse()
	close(l.closing)
	select {
	case <-l.writerDone:
	case <-ctx.Done():
	}
	l.stop()
	l.tasks.Wait()
	l.mu.Lock()
	settled := l.settled
	l.mu.Unlock()
	err := errors.Join(l.spool.close(settled), l.db.Close())
	if l.spool.holds(settled) {
		err = errors.Join(err, fmt.Errorf("rows stay in the spool for the next start, %d bytes; the database is %s", l.Stats().SpoolBytes, l.state()))
	}
	if err != nil {
		return fmt.Errorf("close the usage ledger: %w", err)
	}
	return nil
}

// state is what to say of the database.
func (l *Ledger) state() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != nil:
		return "down: " + l.failure.Error()
	case l.up.Load():
		return "up"
	default:
		return "not reached yet"
	}
}

// Stats are the figures of a ledger since it was opened.
type Stats struct {
	// Appended rows are in the spool or the database, Lost rows in neither.
	Appended, Lost int64
	// Written rows were added to the database, also those that an earlier
	// process had left in the spool.
	Written int64
	// Failures of writing to the database.
	Failures int64
	// SpoolBytes is what the spool takes on disk. A part may be written already.
	SpoolBytes int64
	// Oldest is when the oldest request ended whose row is not in the database,
	// the zero time if all are.
	Oldest time.Time
	// Up says that the last attempt to write to the database worked.
	Up bool
}

// Stats says how the ledger does.
func (l *Ledger) Stats() Stats {
	s := Stats{Appended: l.appended.Load(), Lost: l.lost.Load(), Written: l.written.Load(), Failures: l.failures.Load(), Up: l.up.Load()}
	s.SpoolBytes, s.Oldest = l.spool.figures()
	return s
}

// seldom keeps a message that is true all the time from filling a log.
type seldom struct {
	mu   sync.Mutex
	next time.Time
}

func (s *seldom) may(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		return false
	}
	s.next = now.Add(5 * time.Second)
	return true
}
