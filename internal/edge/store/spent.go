package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Scope is whose spending is summed up.
type Scope uint8

// The scopes.
const (
	SpentByAll Scope = iota
	SpentByTenant
	SpentByTenantModel
	SpentByTenantKey
	SpentByTenantUser
	SpentByTenantSession
	numScopes
)

var scopes = [numScopes]struct {
	name    string
	columns []string
}{
	{"all", nil}, {"tenant", []string{"tenant"}}, {"tenant and model", []string{"tenant", "model_used"}}, {"tenant and key", []string{"tenant", "api_key"}},
	{"tenant and user", []string{"tenant", "end_user"}}, {"tenant and session", []string{"tenant", "session"}},
}

func (s Scope) String() string {
	if s < numScopes {
		return scopes[s].name
	}
	return fmt.Sprintf("scope %d", uint8(s))
}

// Spend is what somebody spent in a bucket of time.
type Spend struct {
	// Tenant, and Name of its model, key, user or session, as far as the scope
	// tells them apart.
	Tenant, Name string
	// Start of the bucket: a multiple of its length since 1970 in UTC.
	Start time.Time
	// Cost in micro-dollars, of the rows with a price.
	Cost int64
}

// Spent sums up what requests cost that arrived from from to before to, for
// each bucket, in order of time. Rows without a price count for nothing, and buckets
// without cost are left out; so are users and sessions that nobody named. It
// sees what is in the database: Flush before has it see everything.
func (r *reader) Spent(ctx context.Context, from, to time.Time, bucket time.Duration, by Scope) ([]Spend, error) {
	if by >= numScopes || bucket < time.Microsecond {
		return nil, fmt.Errorf("sum up what was spent: by %v in buckets of %v is not possible", by, bucket)
	}
	columns := scopes[by].columns
	named := ""
	if by > SpentByTenant {
		named = " AND " + columns[1] + " <> ''"
	}
	rows, err := r.db.QueryContext(ctx, fmt.Sprintf(
		"SELECT at / $1, CAST(SUM(cost) AS BIGINT)%s FROM spillway_usage WHERE at >= $2 AND at < $3 AND cost <> 0%s GROUP BY 1%s ORDER BY 1",
		strings.Join(append([]string{""}, columns...), ", "), named, strings.Join(append([]string{""}, columns...), ", ")),
		bucket.Microseconds(), from.UnixMicro(), to.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("sum up what was spent: %w", err)
	}
	defer rows.Close()
	var spent []Spend
	for rows.Next() {
		var s Spend
		var n int64
		into := []any{&n, &s.Cost, &s.Tenant, &s.Name}[:2+len(columns)]
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("sum up what was spent: %w", err)
		}
		s.Start = time.UnixMicro(n * bucket.Microseconds()).UTC()
		spent = append(spent, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sum up what was spent: %w", err)
	}
	return spent, nil
}
