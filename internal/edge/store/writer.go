package store

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// A batch is as many rows, or what came within the time after the first.
	batchRows = 500
	batchWait = 100 * time.Millisecond

	// A failing database is tried again after a time that grows to the last.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second

	// What one attempt may take.
	insertTimeout  = 30 * time.Second
	migrateTimeout = 10 * time.Minute
)

// write carries rows from the spool to the database until the ledger is closed
// and the spool empty, or ctx ends.
func (l *Ledger) write(ctx context.Context) {
	c := &cursor{spool: l.spool, log: l.log}
	defer c.close()
	w := &writer{Ledger: l}
	if !w.insist(ctx, nil) {
		return
	}
	close(l.ready)
	rows := make([]Row, 0, batchRows)
	for l.gather(ctx, c.at, len(rows) == batchRows) {
		rows = rows[:0]
		if !w.retry(ctx, func() (err error) { rows, err = c.read(rows, batchRows); return err }) {
			return
		}
		if len(rows) > 0 {
			l.spool.took(rows[0].ended())
			if !w.insist(ctx, rows) {
				return
			}
		}
		l.settle(c.at)
	}
}

// gather waits for rows, and then for more of them if few are worth the wait.
// It gives false when there is nothing more to do.
func (l *Ledger) gather(ctx context.Context, at position, more bool) bool {
	for l.spool.waits(at) {
		more = false
		select {
		case <-l.spool.arrived:
		case <-l.closing:
			return l.spool.holds(at)
		case <-ctx.Done():
			return false
		}
	}
	if more || at.segment < l.spool.own || l.flushing.Load() > 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(batchWait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.spool.full:
	case <-l.hurry:
	case <-l.closing:
	case <-ctx.Done():
		return false
	}
	return true
}

// settle notes that all before a position is in the database.
func (l *Ledger) settle(at position) {
	if err := l.spool.wrote(at); err != nil {
		l.log.Warn("usage ledger: a segment of the spool that is done with cannot be removed; it will be read again at the next start", "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = at
	close(l.changed)
	l.changed = make(chan struct{})
}

// writer is the state of the goroutine that writes.
type writer struct {
	*Ledger
	migrated bool
	since    time.Time // when the database went down
}

// insist inserts rows, however often it takes. It gives false if the ledger is
// closed or ctx ends before.
func (w *writer) insist(ctx context.Context, rows []Row) bool {
	return w.retry(ctx, func() error { return w.insert(ctx, rows) })
}

func (w *writer) insert(ctx context.Context, rows []Row) error {
	if !w.migrated {
		within, cancel := context.WithTimeout(ctx, migrateTimeout)
		defer cancel()
		if err := w.db.migrate(within); err != nil {
			return err
		}
		w.migrated = true
	}
	if len(rows) == 0 {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, insertTimeout)
	defer cancel()
	added, err := w.db.insert(within, w.db.DB, rows)
	if err != nil {
		w.migrated = false // it may be another database after this
		return err
	}
	w.written.Add(added)
	return nil
}

// retry does something until it works. Once the ledger is closed, a failure is
// the end.
func (w *writer) retry(ctx context.Context, do func() error) bool {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = firstRetry, lastRetry
	for {
		err := do()
		if err == nil {
			w.works()
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		w.fails(err)
		select {
		case <-w.closing:
			return false
		default:
		}
		timer := time.NewTimer(pause.NextBackOff())
		select {
		case <-timer.C:
		case <-w.closing: // once more
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

func (w *writer) fails(err error) {
	w.failures.Add(1)
	w.mu.Lock()
	first := w.failure == nil
	w.failure = err
	w.mu.Unlock()
	w.up.Store(false)
	if first {
		w.since = time.Now()
		w.log.Error("usage ledger: rows cannot be written to the database; they wait in the spool, and it is tried again", "database", w.db.name, "error", err,
			"spool_bytes", w.Stats().SpoolBytes, "spool_bound", w.spool.bound)
	}
}

func (w *writer) works() {
	w.mu.Lock()
	was := w.failure
	w.failure = nil
	w.mu.Unlock()
	w.up.Store(true)
	if was != nil {
		w.log.Info("usage ledger: rows can be written to the database again", "database", w.db.name, "after", time.Since(w.since).Round(time.Millisecond), "spool_bytes", w.Stats().SpoolBytes, "lost", w.lost.Load())
	}
}

// syncEachSecond bounds what a failure of power loses.
func (l *Ledger) syncEachSecond(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := l.spool.sync(); err != nil && l.complaints.may(time.Now()) {
			l.log.Error("usage ledger: the spool cannot be brought to the disk; a failure of power would lose rows", "error", err, "remedy", "look at the disk of ledger.directory")
		}
	}
}
