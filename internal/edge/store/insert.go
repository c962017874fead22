package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
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

// sqliteInserter is for a database in the process: a call of the driver for a
// few rows. It keeps the values, and is for one goroutine.
type sqliteInserter struct{ values []driver.NamedValue }

func (s *sqliteInserter) insert(ctx context.Context, db *sql.DB, rows []Row) (added int64, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	err = conn.Raw(func(c any) (err error) {
		added, err = s.each(ctx, c.(driver.Conn), rows)
		return err
	})
	if err != nil {
		return 0, err
	}
	return added, tx.Commit()
}

// each inserts rows within a transaction. It holds the connection, so that the
// transaction does not end meanwhile.
func (s *sqliteInserter) each(ctx context.Context, c driver.Conn, rows []Row) (added int64, err error) {
	if s.values == nil {
		s.values = make([]driver.NamedValue, severalRows*len(columns))
		for i := range s.values {
			s.values[i].Ordinal = i + 1
		}
	}
	for _, by := range []struct {
		text string
		rows int
	}{{insertSeveral, severalRows}, {insertOne, 1}} {
		if len(rows) < by.rows {
			continue
		}
		statement, err := c.Prepare(by.text)
		if err != nil {
			return 0, err
		}
		defer statement.Close()
		insert := statement.(driver.StmtExecContext)
		for ; len(rows) >= by.rows; rows = rows[by.rows:] {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			for i := range by.rows {
				bind(s.values[i*len(columns):], &rows[i])
			}
			// The driver starts a goroutine for each call that may be cancelled. This
			// one waits for nothing: the lock was taken when the transaction began.
			result, err := insert.ExecContext(context.Background(), s.values[:by.rows*len(columns)])
			if err != nil {
				return 0, err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return 0, err
			}
			added += n
		}
	}
	return added, nil
}

// bind sets the values of a row. What is there from a row before and is the same
// is left, as to put it into an interface again takes memory.
func bind(into []driver.NamedValue, r *Row) {
	for i, text := range r.texts() {
		if into[i].Value != any(*text) {
			into[i].Value = *text
		}
	}
	for i, n := range values(r) {
		if into[numTexts+i].Value = nil; n != nil {
			into[numTexts+i].Value = *n
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
