package store

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// ErrNone says that there is no ledger yet: no gateway has written one.
var ErrNone = errors.New("there is no usage ledger yet")

// reader asks a database what it holds. It is safe for concurrent use.
type reader struct{ db *database }

// Reader reads the ledger of a gateway, which may be running. It is safe for
// concurrent use.
type Reader struct{ reader }

// OpenReader opens the database of a ledger to read it. Rows that are still in
// the spool of the gateway are not seen. Without a ledger it gives ErrNone.
func OpenReader(ctx context.Context, o Options) (*Reader, error) {
	db, err := o.openDatabase(true)
	if err != nil {
		return nil, fmt.Errorf("read the usage ledger: %w", err)
	}
	if err := db.there(ctx); err != nil {
		db.Close()
		if errors.Is(err, os.ErrNotExist) {
			err = ErrNone
		}
		return nil, fmt.Errorf("read the usage ledger in %s: %w", db.name, err)
	}
	return &Reader{reader{db}}, nil
}

// Close frees the database.
func (r *Reader) Close() error { return r.db.Close() }

// there tells whether the database is and has the tables.
func (d *database) there(ctx context.Context) error {
	find := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ANY (current_schemas(false)) AND table_name = 'spillway_usage'"
	if d.file != "" {
		// SQLite says of a file that is not there only that it cannot open it.
		if _, err := os.Stat(d.file); err != nil {
			return err
		}
		find = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'spillway_usage'"
	}
	var n int
	if err := d.QueryRowContext(ctx, find).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return ErrNone
	}
	return nil
}
