package mock

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// discard is a writer that costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) Flush()                      {}

// What a request costs the process, besides HTTP: times are next to nothing.
func benchmark(b *testing.B, body string, outputs int) { benchmarkPath(b, chatPath, body, outputs) }

func benchmarkPath(b *testing.B, path, body string, outputs int) {
	s, err := New(Settings{Slots: 1 << 20, ServiceMean: time.Nanosecond, OutputMean: outputs, TokenByToken: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequest("POST", path, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		s.ServeHTTP(&discard{http.Header{}}, r)
	}
}

func BenchmarkPlain(b *testing.B)     { benchmark(b, plainAsk, 200) }
func BenchmarkStream200(b *testing.B) { benchmark(b, streamed, 200) }
