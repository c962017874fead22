// Package mock simulates a model server that speaks the OpenAI API: limited
// slots, a queue, realistic times, and faults on demand. It is the upstream of
// tests, demos and benchmarks, and knows nothing of the rest of the project.
//
// Routes: POST /v1/chat/completions, /v1/completions and /v1/embeddings, GET
// /v1/models, GET /healthz; and, for whoever runs the experiment, GET /stats
// (counters, ?reset=1 zeroes them) and POST /control (see Control).
//
// An answer carries its own times in the member "mock": {"service_s", "queue_s"},
// a stream in its last chunk with a finish_reason. Prompt tokens are counted as
// a quarter of the bytes of the message text.
package mock

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
)

// Server is the simulated server. Make one with New. It is safe for concurrent
// use, as an http.Handler must be.
type Server struct {
	settings Settings // as at the start, defaults filled; live holds what may change
	started  time.Time
	mux      *http.ServeMux
	requests atomic.Uint64
	slots    *slots
	plain    *clock // work that does not slow with concurrency
	decode   *clock // output tokens of computed service times
	models   []byte
	live     atomic.Pointer[live]
	closed   chan struct{}

	mu    sync.Mutex  // held to change live, the pace and the timer
	timer *time.Timer // for the next scheduled change of pace
	done  bool
}

// live is what can change while the server runs.
type live struct {
	settings Settings
	faults   []rule
	schedule []rule
	rules    []rule  // the schedule, then the faults
	brownout float64 // set by control, beside those of the schedule
}

// New makes a server; its schedule begins now. Close it to stop its timers.
func New(settings Settings) (*Server, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	settings = settings.withDefaults()
	now := time.Now()
	s := &Server{
		settings: settings,
		started:  now,
		plain:    newClock(now),
		decode:   newClock(now),
		closed:   make(chan struct{}),
		models:   appendModels(settings.Models, now),
	}
	s.slots = &slots{limit: settings.Slots, places: *settings.Queue, since: now, changed: s.crowd}
	faults, _ := parseFaults(settings.Faults)       // Validate has parsed both
	schedule, _ := parseSchedule(settings.Schedule) // without an error
	s.mu.Lock()
	s.installLocked(live{settings: settings, faults: faults, schedule: schedule, brownout: 1})
	s.mu.Unlock()

	s.mux = http.NewServeMux()
	for _, r := range []route{chat, completions, embeddings} {
		s.mux.HandleFunc("POST /v1/"+r.String(), func(w http.ResponseWriter, req *http.Request) { s.infer(r, w, req) })
	}
	s.mux.HandleFunc("GET /v1/models", s.listModels)
	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /stats", s.showStats)
	s.mux.HandleFunc("POST /control", s.control)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, 404, "Unknown route: "+r.Method+" "+r.URL.Path+".", "invalid_request_error", "unknown_url")
	})
	return s, nil
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Stats returns the counters up to now.
func (s *Server) Stats() Stats { return s.stats(false) }

// Close stops the timers and breaks off whatever waits or runs. Later requests
// are answered with 503. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.done = true
	close(s.closed)
	if s.timer != nil {
		s.timer.Stop()
	}
	s.plain.stop()
	s.decode.stop()
}

// installLocked makes l what counts from now on.
func (s *Server) installLocked(l live) {
	l.rules = append(append([]rule(nil), l.schedule...), l.faults...)
	s.live.Store(&l)
	s.paceLocked()
}

// paceLocked sets the speed that counts now and arms the timer for its next change.
func (s *Server) paceLocked() {
	if s.done {
		return
	}
	at := time.Since(s.started)
	l := s.live.Load()
	factor, next := slowness(l.schedule, at)
	s.plain.setPace(1 / (factor * l.brownout))
	s.decode.setPace(1 / (factor * l.brownout))
	if s.timer != nil {
		s.timer.Stop()
	}
	if next != forever {
		s.timer = time.AfterFunc(next-at, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.paceLocked()
		})
	}
}

// crowd slows the output tokens of all as more requests run.
func (s *Server) crowd(running int) {
	slowdown, slots := s.settings.Slowdown, s.settings.Slots
	if slowdown > 0 && slots > 1 {
		s.decode.setShare(1 / (1 + slowdown*float64(max(0, running-1))/float64(slots-1)))
	}
}

// maxBody bounds a request body, in bytes.
const maxBody = 32 << 20

// infer serves the inference routes.
func (s *Server) infer(route route, w http.ResponseWriter, r *http.Request) {
	l := s.live.Load()
	job := newJob(s.settings.Seed, s.requests.Add(1))
	h := w.Header()
	h["X-Request-Id"] = []string{string(appendHex([]byte("req_"), job.id))}
	h["Openai-Version"] = []string{"2020-10-01"}
	if s.settings.RateLimitHeaders {
		s.rateLimit(h)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			writeError(w, 413, "The body is larger than "+strconv.Itoa(maxBody)+" bytes.", "invalid_request_error", "request_too_large")
			return
		}
		panic(http.ErrAbortHandler) // the caller did not finish sending
	}
	select {
	case <-s.closed:
		writeError(w, 503, "The server is shutting down.", "service_unavailable_error", "server_is_overloaded")
		return
	default:
	}
	fault := pick(l.rules, time.Since(s.started), job.chance)
	if fault.fault == Outage && outage(l.schedule, time.Since(s.started)) {
		s.slots.faulted()
		reset(w)
		return
	}
	call, err := parseCall(route, body)
	if err != nil {
		writeError(w, 400, "Invalid request: "+err.Error()+".", "invalid_request_error", "invalid_request")
		return
	}
	if !s.offers(call.model) {
		writeError(w, 404, "The model `"+call.model+"` does not exist.", "invalid_request_error", "model_not_found")
		return
	}
	if asked := r.Header.Get(FaultHeader); asked != "" {
		call.fault = asked
	}
	if call.fault != "" {
		if fault, err = parseInjection(call.fault); err != nil {
			writeError(w, 400, err.Error(), "invalid_request_error", "unknown_fault")
			return
		}
	}
	job.plan(l.settings, call)
	(&exchange{server: s, w: w, r: r, call: call, job: job, fault: fault}).serve()
}

func (s *Server) offers(model string) bool {
	for _, m := range s.settings.Models {
		if m == model {
			return true
		}
	}
	return len(s.settings.Models) == 0
}

// rateLimit reports the slots in the headers that hosted providers send.
func (s *Server) rateLimit(h http.Header) {
	st := s.slots.stats(false)
	h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(st.Slots))
	h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(st.Slots-st.Inflight))
	h.Set("X-Ratelimit-Reset-Requests", "1s")
}

func appendModels(names []string, created time.Time) []byte {
	if len(names) == 0 {
		names = []string{"mock"}
	}
	b := []byte(`{"object":"list","data":[`)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = gjson.AppendJSONString(append(b, `{"id":`...), name)
		b = strconv.AppendInt(append(b, `,"object":"model","created":`...), created.Unix(), 10)
		b = append(b, `,"owned_by":"mock"}`...)
	}
	return append(b, "]}"...)
}
