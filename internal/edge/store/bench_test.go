package store

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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

// What rows cost on their way into the database, in processor time of the
// process: with IDs in order of time, as requests have them, and without, as
// each then goes to another page of the index.
func BenchmarkWrite(b *testing.B) {
	ids := map[string]func(n [16]byte, i int) string{
		"ordered": func(n [16]byte, i int) string {
			binary.BigEndian.PutUint64(n[:], uint64(t0.UnixMicro()+int64(i)*100)<<8)
			return "req_" + hex.EncodeToString(n[:])
		},
		"random": func(n [16]byte, _ int) string { return "req_" + hex.EncodeToString(n[:]) },
	}
	for _, name := range []string{"SQLite/ordered", "SQLite/random", "PostgreSQL/ordered", "PostgreSQL/random"} {
		b.Run(name, func(b *testing.B) {
			backend, order, _ := strings.Cut(name, "/")
			o := Options{Directory: b.TempDir(), Spool: 64 << 30}
			if backend == "PostgreSQL" {
				o.Postgres = postgresServer(b).database(b)
			}
			l := open(b, o)
			flush(b, l)
			rnd := rand.NewChaCha8([32]byte{})
			b.ReportAllocs()
			b.ResetTimer()
			before := processorTime(b)
			for i := range b.N {
				var n [16]byte
				rnd.Read(n[:])
				r := row(i)
				r.ID = ids[order](n, i)
				add(b, l, r)
			}
			flush(b, l)
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
