package store

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestUsage(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		a, b, c, d := row(1), row(2), row(3), row(4)
		b.Tenant, c.Tenant = "Beta", "Beta"
		c.ModelUsed, c.Priced = "other", false
		d.Estimated = false
		add(t, l, a, b, c, d)
		flush(t, l)
		for _, tt := range []struct {
			name string
			q    Query
			want []Line
		}{
			{"all in one", Query{}, []Line{{Group: []string{}, Requests: 4, Unpriced: 1, Estimated: 3, Input: 4000, Output: 400, Cached: 2000, CacheWrite: 80, Reasoning: 120, Cost: 3702}}},
			{"by tenant and model, in the order of bytes", Query{By: []Dimension{ByTenant, ByModel}}, []Line{
				{Group: []string{"Beta", "chat"}, Requests: 1, Estimated: 1, Input: 1000, Output: 100, Cached: 500, CacheWrite: 20, Reasoning: 30, Cost: 1234},
				{Group: []string{"Beta", "other"}, Requests: 1, Unpriced: 1, Estimated: 1, Input: 1000, Output: 100, Cached: 500, CacheWrite: 20, Reasoning: 30},
				{Group: []string{"acme", "chat"}, Requests: 2, Estimated: 1, Input: 2000, Output: 200, Cached: 1000, CacheWrite: 40, Reasoning: 60, Cost: 2468},
			}},
			{"of one tenant and model", Query{By: []Dimension{ByUser}, Tenant: "Beta", Model: "other"}, []Line{
				{Group: []string{"ann"}, Requests: 1, Unpriced: 1, Estimated: 1, Input: 1000, Output: 100, Cached: 500, CacheWrite: 20, Reasoning: 30},
			}},
			{"from is in, to is not", Query{From: row(2).Time, To: row(3).Time, By: []Dimension{ByKey, ByDeployment, ByClass, ByRung}}, []Line{
				{Group: []string{"ci", "eu", "interactive", "trim,cheaper"}, Requests: 1, Estimated: 1, Input: 1000, Output: 100, Cached: 500, CacheWrite: 20, Reasoning: 30, Cost: 1234},
			}},
			{"nothing", Query{From: row(5).Time}, nil},
			{"nobody", Query{Tenant: "x' OR '1'='1"}, nil},
		} {
			if tt.q.From.IsZero() {
				tt.q.From = t0
			}
			if tt.q.To.IsZero() {
				tt.q.To = t0.Add(time.Hour)
			}
			got, err := l.Usage(in(t), tt.q)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s: %v\n%+v\n%+v", tt.name, err, got, tt.want)
			}
		}
	})
}

// In Berlin the 29th of March 2026 has 23 hours, the 25th of October 25.
func TestDaysAcrossSummerTime(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		zone := berlin(t)
		n := 0
		for _, day := range []time.Time{time.Date(2026, 3, 28, 0, 0, 0, 0, zone), time.Date(2026, 10, 24, 0, 0, 0, 0, zone)} {
			for h := range 3 * 24 {
				n++
				add(t, l, rowAt(n, day.Add(time.Duration(h)*time.Hour)))
			}
		}
		flush(t, l)
		lines, err := l.Usage(in(t), Query{From: t0.AddDate(0, 0, -1), To: t0.AddDate(1, 0, 0), By: []Dimension{ByDay, ByTenant}, Zone: zone})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, l := range lines {
			got[l.Group[0]] = l.Requests
		}
		want := map[string]int64{"2026-03-28": 24, "2026-03-29": 23, "2026-03-30": 24, "2026-03-31": 1, "2026-10-24": 24, "2026-10-25": 25, "2026-10-26": 23}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n%v", got, want)
		}
	})
}

// A day is where its first second says so, also where midnight is left out.
func TestDaysOfManyZones(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Cairo", "Asia/Beirut", "America/Havana", "America/Asuncion", "Pacific/Apia", "Pacific/Kiritimati"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for day := (date{2009, 1, 1}); day.before(date{2027, 1, 1}); day = day.next() {
			first := day.begins(zone)
			if dayOf(first.In(zone)).before(day) || !dayOf(first.Add(-time.Second).In(zone)).before(day) {
				t.Fatalf("%s: %v begins at %v", name, day, first.In(zone))
			}
		}
	}
}

func TestQueriesThatCannotBe(t *testing.T) {
	l := open(t, Options{Directory: t.TempDir()})
	flush(t, l)
	for name, q := range map[string]Query{
		"backwards":    {From: t0, To: t0},
		"too long":     {From: t0, To: t0.AddDate(11, 0, 0)},
		"twice":        {From: t0, To: t0.Add(1), By: []Dimension{ByDay, ByDay}},
		"no dimension": {From: t0, To: t0.Add(1), By: []Dimension{numDimensions}},
	} {
		if _, err := l.Usage(in(t), q); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := l.Spent(in(t), t0, t0.Add(time.Hour), 0, SpentByAll); err == nil {
		t.Error("buckets of no length")
	}
	if _, err := l.Spent(in(t), t0, t0.Add(time.Hour), time.Hour, numScopes); err == nil {
		t.Error("no scope")
	}
}

func TestDimensionNames(t *testing.T) {
	for d := range numDimensions {
		if got, ok := ParseDimension(d.String()); !ok || got != d {
			t.Error(d, got, ok)
		}
	}
	if _, ok := ParseDimension("at"); ok {
		t.Error("a column is not a dimension")
	}
}

// Spent agrees with a sum over the rows themselves.
func TestSpent(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		chance := rand.New(rand.NewPCG(3, 4))
		of := func(words ...string) string { return words[chance.IntN(len(words))] }
		var rows []*Row
		for i := range 800 {
			r := rowAt(i, t0.Add(time.Duration(chance.Int64N(int64(6*time.Hour)))))
			r.Tenant, r.ModelUsed, r.Key, r.User, r.Session = of("a", "b"), of("m", "n"), of("k", "l"), of("", "u", "v"), of("", "s")
			r.Cost, r.Priced = chance.Int64N(1000), chance.IntN(5) > 0
			rows = append(rows, r)
		}
		add(t, l, rows...)
		flush(t, l)
		from, to := t0.Add(90*time.Minute+1000), t0.Add(5*time.Hour+1000)
		for by := range numScopes {
			want := map[Spend]int64{}
			for _, r := range rows {
				s := Spend{Start: r.Time.Truncate(time.Hour)}
				if by > SpentByAll {
					s.Tenant = r.Tenant
				}
				s.Name = map[Scope]string{SpentByTenantModel: r.ModelUsed, SpentByTenantKey: r.Key, SpentByTenantUser: r.User, SpentByTenantSession: r.Session}[by]
				if !r.Priced || r.Cost == 0 || r.Time.Truncate(time.Microsecond).Before(from) || !r.Time.Truncate(time.Microsecond).Before(to) || by > SpentByTenant && s.Name == "" {
					continue
				}
				want[s] += r.Cost
			}
			spent, err := l.Spent(in(t), from, to, time.Hour, by)
			if err != nil {
				t.Fatal(err)
			}
			got := map[Spend]int64{}
			for _, s := range spent {
				cost := s.Cost
				s.Cost = 0
				got[s] += cost
			}
			if !reflect.DeepEqual(got, want) || len(spent) != len(want) {
				t.Errorf("%v:\n%v\n%v", by, got, want)
			}
			if !slices.IsSortedFunc(spent, func(a, b Spend) int { return a.Start.Compare(b.Start) }) {
				t.Errorf("%v: not in order of time", by)
			}
		}
	})
}

// What budgets are restored from reads a stretch of an index, not the table.
func TestSpentUsesTheIndex(t *testing.T) {
	l := open(t, Options{Directory: t.TempDir()})
	flush(t, l)
	for _, text := range []string{
		"SELECT at / 60, tenant, SUM(cost) FROM spillway_usage WHERE at >= 5 AND at < 9 AND cost <> 0 GROUP BY 1, 2",
		"SELECT COUNT(*) FROM spillway_usage WHERE at >= 5 AND at < 6 AND tenant = 'a'",
		"DELETE FROM spillway_usage WHERE id IN (SELECT id FROM spillway_usage WHERE at < 5 ORDER BY at LIMIT 10)",
	} {
		rows, err := l.db.QueryContext(in(t), "EXPLAIN QUERY PLAN "+text)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		rows.Close()
		if all := strings.Join(plan, "; "); strings.Contains(all, "SCAN spillway_usage") || !strings.Contains(all, "USING INDEX spillway_usage_") && !strings.Contains(all, "USING COVERING INDEX spillway_usage_") {
			t.Errorf("%s\n%s", text, all)
		}
	}
}

// A reader looks beside a running gateway, and after it has ended.
func TestReader(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		if _, err := OpenReader(in(t), o); !errors.Is(err, ErrNone) {
			t.Fatal(err)
		}
		l := open(t, o)
		add(t, l, row(1))
		flush(t, l)
		look := func() {
			t.Helper()
			r, err := OpenReader(in(t), o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			lines, err := r.Usage(in(t), Query{From: t0, To: t0.Add(time.Hour)})
			if err != nil || len(lines) != 1 || lines[0].Requests != 1 {
				t.Errorf("%v %+v", err, lines)
			}
			if o.Postgres != "" {
				return // what a reader may do there is up to its user
			}
			if _, err := r.db.ExecContext(in(t), "DELETE FROM spillway_usage"); err == nil {
				t.Error("a reader changes the file")
			}
		}
		look()
		if err := l.Close(in(t)); err != nil {
			t.Fatal(err)
		}
		look()
	})
}
