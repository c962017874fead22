package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

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

// severalRows are inserted by one statement, as far as there are as many.
const severalRows = 20

var insertOne, insertSeveral = insertValues(1), insertValues(severalRows)

func insertValues(rows int) string {
	row := "(" + strings.Repeat("?, ", len(columns)-1) + "?)"
	return fmt.Sprintf(insertInto, strings.Join(columns, ", "), "VALUES "+strings.Repeat(row+", ", rows-1)+row)
}

// sqliteInserter is for a database in the process: a call for a few rows. It
// keeps its statements, so that few rows at a time do not pay for reading them.
// It is for one goroutine.
type sqliteInserter struct{ several, one *sql.Stmt }

func (s *sqliteInserter) insert(ctx context.Context, db *sql.DB, rows []Row) (added int64, err error) {
	if err := errors.Join(prepare(ctx, db, &s.several, insertSeveral), prepare(ctx, db, &s.one, insertOne)); err != nil {
		return 0, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	args := make([]any, severalRows*len(columns))
	several, one := tx.StmtContext(ctx, s.several), tx.StmtContext(ctx, s.one)
	for len(rows) > 0 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		insert, n := several, severalRows
		if len(rows) < n {
			insert, n = one, 1
		}
		for i := range n {
			bind(args[i*len(columns):], &rows[i])
		}
		// The driver starts a goroutine for each call that may be cancelled. This
		// one waits for nothing: the lock was taken when the transaction began.
		result, err := insert.ExecContext(context.WithoutCancel(ctx), args[:n*len(columns)]...)
		if err != nil {
			return 0, err
		}
		inserted, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		added += inserted
		rows = rows[n:]
	}
	return added, tx.Commit()
}

func prepare(ctx context.Context, db *sql.DB, into **sql.Stmt, text string) (err error) {
	if *into == nil {
		*into, err = db.PrepareContext(ctx, text)
	}
	return err
}

// bind sets the values of a row. What is there from a row before and is the same
// is left, as to put it into an interface again takes memory.
func bind(args []any, r *Row) {
	for i, text := range r.texts() {
		if args[i] != any(*text) {
			args[i] = *text
		}
	}
	for i, n := range values(r) {
		if args[numTexts+i] = nil; n != nil {
			args[numTexts+i] = *n
		}
	}
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
