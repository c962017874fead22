package store

import (
	"context"
	"fmt"
	"time"
)

const (
	expireEvery = time.Hour
	// Old rows are deleted a few at a time, so that rows which are written do
	// not wait long behind them.
	expireRows  = 1000
	expirePause = 50 * time.Millisecond
)

// expireEachHour deletes what is older than keep, from when the database is
// there.
func (l *Ledger) expireEachHour(ctx context.Context) {
	if l.keep <= 0 {
		return
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		n, err := l.db.expire(ctx, time.Now().Add(-l.keep))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.log.Warn("usage ledger: old rows could not be deleted; it is tried again in an hour", "error", err, "deleted", n)
		case n > 0:
			l.log.Info("usage ledger: old rows were deleted", "rows", n, "keep", l.keep)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// expire deletes the rows of requests that arrived before a time, and says how
// many, also when it fails.
func (d *database) expire(ctx context.Context, before time.Time) (deleted int64, err error) {
	pause := time.NewTicker(expirePause)
	defer pause.Stop()
	for {
		result, err := d.ExecContext(ctx, "DELETE FROM spillway_usage WHERE id IN (SELECT id FROM spillway_usage WHERE at < $1 ORDER BY at LIMIT $2)", before.UnixMicro(), expireRows)
		if err != nil {
			return deleted, fmt.Errorf("delete old rows: %w", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return deleted, fmt.Errorf("delete old rows: %w", err)
		}
		if deleted += n; n < expireRows {
			return deleted, nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return deleted, ctx.Err()
		}
	}
}
