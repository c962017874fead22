// Package ops is the operators' surface: health, metrics, the state of the
// gateway and why it decides as it does, over HTTP, for those who may see it.
package ops

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops/console"
)

const (
	maxBody    = 32 << 20         // of a request: as large as the largest that is explained
	answerTime = 30 * time.Second // for an operator to take an answer
)

// Options are what a Surface needs beside the gateway.
type Options struct {
	// Loopback says that only this machine reaches the surface. Without tokens,
	// only then anybody may look.
	Loopback bool
	Log      *slog.Logger
	// Settings are the file and what is changed beside it. Nil lets nothing be changed.
	Settings *Settings
	// Forecast works out what would have come of other settings; nil cannot. The
	// simulator is above this package, so whoever makes the surface gives it.
	Forecast Forecast
}

// Surface is the handler of the listener for operators. It is safe for
// concurrent use.
type Surface struct {
	gateway  *gateway.Gateway
	loopback bool
	log      *slog.Logger
	settings *Settings
	sessions *sessions
	failures *failures
	stage    *stage
	mux      *http.ServeMux

	forecast    Forecast
	forecasting sync.Mutex // one at a time
}

// New makes the surface of a gateway.
func New(g *gateway.Gateway, o Options) *Surface {
	s := &Surface{gateway: g, loopback: o.Loopback, log: o.Log, settings: o.Settings, sessions: newSessions(), failures: newFailures(), stage: newStage(g.Picture, o.Log), mux: http.NewServeMux(), forecast: o.Forecast}
	for _, r := range s.routes() {
		s.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, q *http.Request) { s.serve(w, q, r) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) { s.serve(w, q, route{need: toLook, serve: s.nothing}) })
	return s
}

// need is what somebody must be allowed to do for a route.
type need uint8

const (
	aPage    need = iota // everybody may have it, by any name: it holds no data
	nothing              // everybody who reaches the listener may
	toLook               // viewers and admins
	toChange             // admins only
	toLogIn              // everybody, but not before a pause after too many failures
)

// route is one method and path. serve answers, or says what was wrong.
type route struct {
	pattern string
	need    need
	serve   func(http.ResponseWriter, *http.Request, identity) error
}

// routes are all there is. Each has its description in described.go, and its row
// in the test of who may do what.
func (s *Surface) routes() []route {
	page := console.New()
	metrics := promhttp.HandlerFor(s.gateway.Metrics(), promhttp.HandlerOpts{EnableOpenMetrics: true})
	return []route{
		{"GET /healthz", nothing, s.health},
		{"GET /readyz", nothing, s.ready},
		{"GET /metrics", nothing, func(w http.ResponseWriter, r *http.Request, _ identity) error {
			metrics.ServeHTTP(w, r)
			return nil
		}},
		{"GET /{$}", aPage, toConsole},
		{"GET " + console.Prefix, aPage, func(w http.ResponseWriter, r *http.Request, _ identity) error {
			page.ServeHTTP(w, r)
			return nil
		}},
		{"GET /debug/events", toLook, s.events},
		{"POST /admin/v1/session", toLogIn, s.logIn},
		{"GET /admin/v1/session", toLook, s.whoAmI},
		{"DELETE /admin/v1/session", toLook, s.logOut},
		{"GET /admin/v1/snapshot", toLook, s.snapshot},
		{"GET /admin/v1/history", toLook, s.history},
		{"GET /admin/v1/live", toLook, s.live},
		{"GET /admin/v1/upstreams", toLook, s.upstreams},
		{"POST /admin/v1/upstreams/{name}", toChange, s.changeUpstream},
		{"GET /admin/v1/settings", toLook, s.listSettings},
		{"GET /admin/v1/changes", toLook, s.listChanges},
		{"POST /admin/v1/changes", toChange, s.changeSettings},
		{"POST /admin/v1/changes/{id}/revert", toChange, s.revertChange},
		{"POST /admin/v1/reload", toChange, s.reload},
		{"GET /admin/v1/tenants", toLook, s.listTenants},
		{"PUT /admin/v1/tenants/{name}", toChange, s.putTenant},
		{"DELETE /admin/v1/tenants/{name}", toChange, s.deleteTenant},
		{"POST /admin/v1/tenants/{name}/keys", toChange, s.createKey},
		{"POST /admin/v1/tenants/{name}/keys/{key}/rotate", toChange, s.rotateKey},
		{"DELETE /admin/v1/tenants/{name}/keys/{key}", toChange, s.revokeKey},
		{"GET /admin/v1/refusals", toLook, s.refusals},
		{"POST /admin/v1/explain", toLook, s.explain},
		{"POST /admin/v1/whatif", toLook, s.whatIf},
		{"GET /admin/v1/openapi.json", toLook, s.describe},
	}
}

// ServeHTTP answers an operator.
func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	s.mux.ServeHTTP(w, r)
}

// serve lets those through who may, within bounds of size and time.
func (s *Surface) serve(w http.ResponseWriter, r *http.Request, to route) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // not every writer of a test can
	who, err := s.admit(r, to.need)
	if err == nil {
		err = to.knows(r)
	}
	if err == nil {
		// Not before: net/http would wait for the body of a stranger, who is not to be answered late.
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err = to.serve(w, r, who)
	}
	if err != nil {
		problemOf(err).write(w, r)
	}
}

// protect sets what a browser must hold itself to. The policy of content is that
// of a page whose scripts and styles come from here alone.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
}

// toConsole sends a browser that knows only the address on to the page.
func toConsole(w http.ResponseWriter, r *http.Request, _ identity) error {
	http.Redirect(w, r, console.Prefix, http.StatusFound)
	return nil
}

func (s *Surface) nothing(_ http.ResponseWriter, r *http.Request, _ identity) error {
	return &problem{status: http.StatusNotFound, detail: "there is nothing at " + r.Method + " " + r.URL.Path, remedy: "GET /admin/v1/openapi.json and docs/admin.md list what there is"}
}

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body) // whoever asked may be gone, and there is nobody else to tell
	return nil
}
