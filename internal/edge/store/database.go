package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite"
)

// database is SQLite or PostgreSQL. It is safe for concurrent use.
type database struct {
	*sql.DB
	name    string // for people
	file    string // of SQLite
	dialect goose.Dialect
	// insert adds rows in one transaction, leaves out those whose ID is there,
	// and says how many it added.
	insert func(ctx context.Context, db *sql.DB, rows []Row) (int64, error)
}

// openSQLite does not touch the file yet. A commit is on disk when it returns
// (synchronous FULL): the spool gives up rows after it. With batches that is a
// few syncs a second, off the path of requests.
func openSQLite(path string, readOnly bool) (*database, error) {
	q := url.Values{"_pragma": {"busy_timeout(1000)"}}
	if readOnly {
		q.Set("mode", "ro")
	} else {
		q["_pragma"] = append(q["_pragma"], "journal_mode(WAL)", "synchronous(FULL)")
		q.Set("_txlock", "immediate")
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	return &database{DB: db, name: path, file: path, dialect: goose.DialectSQLite3, insert: new(sqliteInserter).insert}, nil
}

// openPostgres does not connect yet. Its errors do not repeat the DSN, which
// may hold a password.
func openPostgres(dsn string) (*database, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("not a connection string of PostgreSQL; write it like postgres://user:${PASSWORD}@host:5432/database")
	}
	if _, ok := c.RuntimeParams["application_name"]; !ok {
		c.RuntimeParams["application_name"] = "spillway"
	}
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(4)
	return &database{DB: db, name: "PostgreSQL", dialect: goose.DialectPostgres, insert: insertArrays}, nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the tables to this version. Processes that do so at once wait
// for each other.
func (d *database) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithTableName("spillway_migrations"), goose.WithDisableGlobalRegistry(true)}
	if d.dialect == goose.DialectPostgres {
		one, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(one))
	}
	p, err := goose.NewProvider(d.dialect, d.DB, files, options...)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the tables up to date: %w", err)
	}
	return nil
}
