// Package mock simulates a model server that speaks as the providers do: limited
// slots, a queue, realistic times, and faults on demand. It is the upstream of
// tests, demos and benchmarks, and knows nothing of the rest of the project.
//
// The path chooses the dialect of answers, errors and headers; slots, times,
// faults and counters are the same for all:
//
//	openai     POST /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/responses
//	azure      POST /openai/deployments/{name}/chat/completions?api-version=…, also
//	           completions and embeddings; /openai/v1/… with the paths of openai
//	anthropic  POST /v1/messages, /v1/messages/count_tokens
//	gemini     POST /v1beta/models/{model}:generateContent, :streamGenerateContent
//	           (?alt=sse, else one JSON array), :countTokens
//
// Besides GET /v1/models, GET /healthz; and, for whoever runs the experiment, GET
// /stats (counters, ?reset=1 zeroes them) and POST /control (see Control).
//
// An answer carries its own times in the member "mock": {"service_s", "queue_s"},
// a stream in its last chunk with a finish_reason, or what stands for it. Prompt
// tokens are counted as a quarter of the bytes of the message text. Keys are not
// asked for. A tool is called when the caller wants it to be: see ToolHeader.
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
	s.handle()
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

// read reads a request's body; if it cannot, it has answered.
func (s *Server) read(at endpoint, w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		return body, true
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		at.dialect.writeError(w, 413, "The body is larger than "+strconv.Itoa(maxBody)+" bytes.", "invalid_request_error", "request_too_large")
		return nil, false
	}
	panic(http.ErrAbortHandler) // the caller did not finish sending
}

// infer serves the inference routes.
func (s *Server) infer(at endpoint, w http.ResponseWriter, r *http.Request) {
	l := s.live.Load()
	job := newJob(s.settings.Seed, s.requests.Add(1))
	at.dialect.identify(w.Header(), job.id)
	if s.settings.RateLimitHeaders {
		at.dialect.rateLimit(w.Header(), s.slots.stats(false))
	}
	body, ok := s.read(at, w, r)
	if !ok {
		return
	}
	select {
	case <-s.closed:
		at.dialect.writeError(w, 503, "The server is shutting down.", "service_unavailable_error", "server_is_overloaded")
		return
	default:
	}
	fault := pick(l.rules, time.Since(s.started), job.chance)
	if fault.fault == Outage && outage(l.schedule, time.Since(s.started)) {
		s.slots.faulted()
		reset(w)
		return
	}
	call, err := parseCall(at, body)
	if err != nil {
		at.dialect.writeError(w, 400, "Invalid request: "+err.Error()+".", "invalid_request_error", "invalid_request")
		return
	}
	if !s.offers(call.model) {
		at.dialect.writeError(w, 404, "The model `"+call.model+"` does not exist.", "invalid_request_error", "model_not_found")
		return
	}
	if s.settings.Strict {
		if bad := strict(at.route, call.model, body); bad != "" {
			at.dialect.writeError(w, 400, bad, "invalid_request_error", "invalid_request")
			return
		}
	}
	call.thinks = call.thinks && s.settings.Thoughts
	if asked := r.Header.Get(FaultHeader); asked != "" {
		call.fault = asked
	}
	if call.fault != "" {
		if fault, err = parseInjection(call.fault); err != nil {
			at.dialect.writeError(w, 400, err.Error(), "invalid_request_error", "unknown_fault")
			return
		}
	}
	if wish := r.Header.Get(ToolHeader); wish != "" {
		call.wish(wish)
	}
	job.plan(l.settings, call)
	(&exchange{server: s, w: w, r: r, at: at, call: call, job: job, fault: fault}).serve()
}

func (s *Server) offers(model string) bool {
	for _, m := range s.settings.Models {
		if m == model {
			return true
		}
	}
	return len(s.settings.Models) == 0
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
