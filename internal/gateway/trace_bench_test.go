package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// BenchmarkTraces is a request whose answer comes in one piece, by the share of
// traces that is kept. cpu-ns/op is the time of all goroutines, the making and
// sending of spans and the upstream of the benchmark included.
func BenchmarkTraces(b *testing.B) {
	answer := answerOf("application/json", wholeAnswer)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	for _, share := range []string{"off", "0%", "1%", "100%"} {
		b.Run(share, func(b *testing.B) {
			conf := ""
			if share != "off" {
				conf = "traces: {endpoint: '" + collector.URL + "', sample: " + share + "}"
			}
			before := cpu(b)
			benchHandler(b, answer, `{"model":"up","messages":[{"role":"user","content":"Say something."}]}`, conf)
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpu is what the process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
