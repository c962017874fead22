package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

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
	return &database{DB: db, name: path, file: path, dialect: goose.DialectSQLite3, insert: insertEach}, nil
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

// columns are those of the texts and then of the numbers of a row, without
// priced: a cost that is not known is NULL.
var columns = []string{
	"id", "tenant", "api_key", "end_user", "session", "surface", "model_asked", "model_used", "model_upstream", "deployment", "class", "decision", "rung", "outcome",
	"at", "status", "attempts", "input", "output", "cached", "cache_write", "reasoning", "cost", "estimated", "queued", "service", "total",
}

const insertInto = "INSERT INTO spillway_usage (%s) %s ON CONFLICT (id) DO NOTHING"

// values are those of the number columns.
func values(r *Row) (v [numNumbers - 1]*int64) {
	const cost, priced = 8, 9
	n := r.numbers()
	for i := range n {
		switch {
		case i == cost && n[priced] == 0, i == priced:
		case i < priced:
			v[i] = &n[i]
		default:
			v[i-1] = &n[i]
		}
	}
	return v
}

var insertOne = fmt.Sprintf(insertInto, strings.Join(columns, ", "), "VALUES ("+strings.Repeat("?, ", len(columns)-1)+"?)")

// insertEach is for a database in the process: a call for each row.
func insertEach(ctx context.Context, db *sql.DB, rows []Row) (added int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx, insertOne)
	if err != nil {
		return 0, err
	}
	defer insert.Close()
	args := make([]any, len(columns))
	for i := range rows {
		for j, text := range rows[i].texts() {
			args[j] = *text
		}
		for j, n := range values(&rows[i]) {
			if args[numTexts+j] = nil; n != nil {
				args[numTexts+j] = *n
			}
		}
		result, err := insert.ExecContext(ctx, args...)
		if err != nil {
			return 0, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, tx.Commit()
}

var insertAll = func() string {
	var types []string
	for i := range columns {
		of := "bigint"
		if i < numTexts {
			of = "text"
		}
		types = append(types, fmt.Sprintf("$%d::%s[]", i+1, of))
	}
	return fmt.Sprintf(insertInto, strings.Join(columns, ", "), "SELECT * FROM unnest("+strings.Join(types, ", ")+")")
}()

// insertArrays is for a database behind a network: one call for all rows.
func insertArrays(ctx context.Context, db *sql.DB, rows []Row) (int64, error) {
	var texts [numTexts][]string
	var numbers [numNumbers - 1][]*int64
	for i := range rows {
		for j, text := range rows[i].texts() {
			texts[j] = append(texts[j], *text)
		}
		for j, n := range values(&rows[i]) {
			numbers[j] = append(numbers[j], n)
		}
	}
	var args []any
	for _, column := range texts {
		args = append(args, column)
	}
	for _, column := range numbers {
		args = append(args, column)
	}
	result, err := db.ExecContext(ctx, insertAll, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
