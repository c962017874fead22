package store

import (
	"fmt"
	"testing"
)

// A batch of any size is there as it was given, whatever its rows share with
// each other and with those of the batch before: each row with its own values,
// and rows that were there once.
func TestBatchesOfAnySize(t *testing.T) {
	backends(t, func(t *testing.T, o Options) {
		l := open(t, o)
		flush(t, l) // the tables are there, and nothing else writes
		next := 0
		var want []string
		for _, n := range []int{1, severalRows - 1, severalRows, severalRows + 1, 2*severalRows + 5} {
			rows := make([]Row, 0, n+2)
			for range n {
				r := *row(next)
				r.User, r.Output, r.Priced = []string{"ann", "", "bob"}[next%3], int64(next%5), next%4 > 0
				cost := "unknown"
				if r.Cost = int64(next % 7); r.Priced {
					cost = fmt.Sprint(r.Cost)
				}
				want = append(want, fmt.Sprintf("%s %q %d %s", r.ID, r.User, r.Output, cost))
				rows = append(rows, r)
				next++
			}
			again, before := rows[n/2], *row(0)
			again.User, before.User = "again", "before"
			rows = append(rows, again, before)
			added, err := l.db.insert(in(t), l.db.DB, rows)
			if err != nil || added != int64(n) {
				t.Fatalf("%d rows of %d new ones were added: %v", added, n, err)
			}
		}
		rows, err := l.db.QueryContext(in(t), "SELECT id, end_user, output, cost FROM spillway_usage ORDER BY at")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got []string
		for rows.Next() {
			var id, user string
			var output int64
			var cost *int64
			if err := rows.Scan(&id, &user, &output, &cost); err != nil {
				t.Fatal(err)
			}
			known := "unknown"
			if cost != nil {
				known = fmt.Sprint(*cost)
			}
			got = append(got, fmt.Sprintf("%s %q %d %s", id, user, output, known))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	})
}
