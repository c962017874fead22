package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dimension is what usage is told apart by.
type Dimension uint8

// The dimensions. Model is the pool that served the request, Day the calendar
// day on which it arrived.
const (
	ByTenant Dimension = iota
	ByModel
	ByDay
	ByDeployment
	ByKey
	ByUser
	ByClass
	ByRung
	numDimensions
)

var dimensions = [numDimensions]struct{ name, column string }{
	{"tenant", "tenant"}, {"model", "model_used"}, {"day", "day"}, {"deployment", "deployment"}, {"key", "api_key"}, {"user", "end_user"}, {"class", "class"}, {"rung", "rung"},
}

func (d Dimension) String() string {
	if d < numDimensions {
		return dimensions[d].name
	}
	return fmt.Sprintf("dimension %d", uint8(d))
}

// ParseDimension finds the dimension of that name.
func ParseDimension(name string) (Dimension, bool) {
	for d := range numDimensions {
		if d.String() == name {
			return d, true
		}
	}
	return 0, false
}

// DimensionNames lists all of them.
func DimensionNames() (names []string) {
	for d := range numDimensions {
		names = append(names, d.String())
	}
	return names
}

// Query says which rows are summed up, and how.
type Query struct {
	// From and To bound the time of arrival: from From to before To, at most
	// 3,660 days.
	From, To time.Time
	// By says which rows stand in one line. Without it there is one line.
	By []Dimension
	// Tenant and Model, the pool, select rows; "" is all.
	Tenant, Model string
	// Zone decides what a day is. Nil is UTC.
	Zone *time.Location
}

// maxDays bounds a query.
const maxDays = 3660

// Line is the sum of some rows.
type Line struct {
	// Group has a word for each dimension of the query, in its order. A day is
	// written 2006-01-02.
	Group []string
	// Requests are the rows. Of them Unpriced have no known price, Estimated no
	// tokens told by the provider.
	Requests, Unpriced, Estimated int64
	// Tokens.
	Input, Output, Cached, CacheWrite, Reasoning int64
	// Cost of the rows with a price, in micro-dollars.
	Cost int64
}

// Usage sums up the rows in the database, by groups in the order of their words.
// A query without rows gives no line.
func (r *reader) Usage(ctx context.Context, q Query) ([]Line, error) {
	text, args, err := q.sql()
	if err != nil {
		return nil, fmt.Errorf("sum up usage: %w", err)
	}
	rows, err := r.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, fmt.Errorf("sum up usage: %w", err)
	}
	defer rows.Close()
	var lines []Line
	for rows.Next() {
		l := Line{Group: make([]string, len(q.By))}
		into := []any{&l.Requests, &l.Unpriced, &l.Estimated, &l.Input, &l.Output, &l.Cached, &l.CacheWrite, &l.Reasoning, &l.Cost}
		for i := range l.Group {
			into = append(into, &l.Group[i])
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("sum up usage: %w", err)
		}
		if l.Requests > 0 { // without groups, SQL gives a line for nothing too
			lines = append(lines, l)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sum up usage: %w", err)
	}
	// Here and not in SQL, where the order of words is up to the database.
	slices.SortFunc(lines, func(a, b Line) int { return slices.CompareFunc(a.Group, b.Group, cmp.Compare[string]) })
	return lines, nil
}

// sums are what a line has before its groups. A sum of whole numbers is not one
// in PostgreSQL without being told so.
const sums = `COUNT(*), COUNT(*) - COUNT(cost), CAST(COALESCE(SUM(estimated), 0) AS BIGINT), ` +
	`CAST(COALESCE(SUM(input), 0) AS BIGINT), CAST(COALESCE(SUM(output), 0) AS BIGINT), CAST(COALESCE(SUM(cached), 0) AS BIGINT), ` +
	`CAST(COALESCE(SUM(cache_write), 0) AS BIGINT), CAST(COALESCE(SUM(reasoning), 0) AS BIGINT), CAST(COALESCE(SUM(cost), 0) AS BIGINT)`

func (q Query) sql() (text string, args []any, err error) {
	if !q.From.Before(q.To) {
		return "", nil, fmt.Errorf("from %s to %s is no time", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339))
	}
	if q.To.Sub(q.From) > maxDays*24*time.Hour {
		return "", nil, fmt.Errorf("from %s to %s are more than %d days", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339), maxDays)
	}
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	var b strings.Builder
	var groups []string
	for i, d := range q.By {
		if d >= numDimensions || slices.Contains(q.By[:i], d) {
			return "", nil, fmt.Errorf("%v twice, or no such dimension", d)
		}
		groups = append(groups, dimensions[d].column)
	}
	byDay := slices.Contains(q.By, ByDay)
	if byDay {
		b.WriteString("WITH days (day, first, next) AS (VALUES ")
		b.WriteString(q.days())
		b.WriteString(") ")
	}
	b.WriteString("SELECT " + strings.Join(append([]string{sums}, groups...), ", ") + " FROM ")
	if byDay {
		b.WriteString("days JOIN spillway_usage ON at >= first AND at < next")
	} else {
		b.WriteString("spillway_usage")
	}
	b.WriteString(" WHERE at >= " + arg(q.From.UnixMicro()) + " AND at < " + arg(q.To.UnixMicro()))
	if q.Tenant != "" {
		b.WriteString(" AND tenant = " + arg(q.Tenant))
	}
	if q.Model != "" {
		b.WriteString(" AND model_used = " + arg(q.Model))
	}
	if len(groups) > 0 {
		b.WriteString(" GROUP BY " + strings.Join(groups, ", "))
	}
	return b.String(), args, nil
}

// days are the days that the query touches, as rows of SQL: the day's word, its
// first micro-second and that of the next. The database is told them, and needs
// not know of zones.
func (q Query) days() string {
	zone := q.Zone
	if zone == nil {
		zone = time.UTC
	}
	var rows []string
	day := dayOf(q.From.In(zone))
	for first := day.begins(zone); first.Before(q.To); {
		next := day.next()
		end := next.begins(zone)
		rows = append(rows, fmt.Sprintf("('%04d-%02d-%02d', %d, %d)", day.year, day.month, day.day, first.UnixMicro(), end.UnixMicro()))
		day, first = next, end
	}
	return strings.Join(rows, ", ")
}
