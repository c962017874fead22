package gateway

import (
	"bytes"
	"compress/gzip"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrape is what Prometheus gets without compression.
func scrape(t testing.TB, g *Gateway) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(g.Metrics(), promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// BenchmarkScrape is one scrape of 200 tenants that use 20 models in all classes.
func BenchmarkScrape(b *testing.B) {
	g := crowded(b, 200, 20)
	body := scrape(b, g)
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	z.Write(body)
	z.Close()
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		defer onCPU(b)()
		for b.Loop() {
			scrape(b, g)
		}
		b.ReportMetric(float64(len(body)), "bytes")
		b.ReportMetric(float64(small.Len()), "gzip-bytes")
		b.ReportMetric(float64(bytes.Count(body, []byte("\n"))), "lines")
	})
	b.Run("states", func(b *testing.B) {
		b.ReportAllocs()
		defer onCPU(b)()
		for b.Loop() {
			g.states()
		}
	})
}
