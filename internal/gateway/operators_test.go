package gateway

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// operators says what operators are shown, without the guard of the package
// ops, which stands above this one.
func operators(g *Gateway) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, g.Health()) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if g.Draining() {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.Handle("/metrics", promhttp.HandlerFor(g.Metrics(), promhttp.HandlerOpts{}))
	mux.HandleFunc("/admin/v1/upstreams", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"upstreams": g.Upstreams()})
	})
	mux.HandleFunc("/debug/events", func(w http.ResponseWriter, _ *http.Request) { g.Dump(w) })
	return mux
}
