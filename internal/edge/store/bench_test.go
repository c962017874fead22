package store

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// What a request pays for its row, with the database up and down. While it is
// down nothing but the spool grows, so the allocations are the same.
func BenchmarkAppend(b *testing.B) {
	for _, database := range []string{"up", "down"} {
		b.Run(database, func(b *testing.B) {
			o := Options{Directory: b.TempDir(), Spool: 64 << 30}
			if database == "down" {
				if err := os.Mkdir(filepath.Join(o.Directory, "usage.db"), 0o700); err != nil {
					b.Fatal(err)
				}
			}
			l := open(b, o)
			r := row(0)
			ids := make([]string, b.N)
			for i := range ids {
				ids[i] = strconv.Itoa(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, r.ID = range ids {
				if err := l.Append(r); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			s := l.Stats()
			b.ReportMetric(float64(s.SpoolBytes)/float64(b.N), "spool-B/op")
		})
	}
}

// How fast a full spool goes into the database.
func BenchmarkWrite(b *testing.B) {
	for _, backend := range []string{"SQLite", "PostgreSQL"} {
		b.Run(backend, func(b *testing.B) {
			o := Options{Directory: b.TempDir(), Spool: 64 << 30}
			if backend == "PostgreSQL" {
				o.Postgres = postgresServer(b).database(b)
			}
			l := open(b, o)
			flush(b, l)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				add(b, l, row(i))
			}
			flush(b, l)
		})
	}
}
