package ops

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/gateway"
)

// WhatIfAsk is the body of POST /admin/v1/whatif: settings to try on the requests
// of the last minutes.
type WhatIfAsk struct {
	Set     config.Overlay `json:"set,omitzero"`      // as in POST /admin/v1/changes; nothing compares today's settings with what was measured
	Minutes float64        `json:"minutes,omitempty"` // above 0, at most 10; default 5
}

// WhatIf is the answer: what would have come of the requests that were made
// from From to To. Now and Then are both simulated, under the settings in force
// and under those asked about; Measured is what really came.
type WhatIf struct {
	From     time.Time        `json:"from"`
	To       time.Time        `json:"to"`
	Requests int64            `json:"requests"` // first tries
	Now      Outcome          `json:"now"`
	Then     Outcome          `json:"then"`
	Classes  []ClassOutcomes  `json:"classes"`
	Tenants  []TenantOutcomes `json:"tenants"` // most changed first, at most 20
	Measured Outcome          `json:"measured"`
	Took     int64            `json:"took_ms"`
	Warnings []string         `json:"warnings"` // what is not known, in words
}

// Outcome is what came of requests. Times in seconds, money in dollars.
type Outcome struct {
	Offered  int64   `json:"offered"`
	Served   int64   `json:"served"`        // complete answers
	OnTime   int64   `json:"on_time"`       // of these before the deadline
	Refused  int64   `json:"refused"`       // ended in a refusal
	Degraded int64   `json:"degraded"`      // answers that are not as they were asked
	Late     int64   `json:"late"`          // answered after the deadline, or given up then
	Goodput  float64 `json:"goodput_per_s"` // answers in time
	WaitP50  float64 `json:"wait_p50_s"`    // in the queue, of answers in time
	WaitP99  float64 `json:"wait_p99_s"`
	FirstP50 float64 `json:"ttft_p50_s"` // of streams, from their arrival
	FirstP99 float64 `json:"ttft_p99_s"`
	Cost     float64 `json:"cost_dollars"`
}

// ClassOutcomes are those of one class.
type ClassOutcomes struct {
	Class string  `json:"class"`
	Now   Outcome `json:"now"`
	Then  Outcome `json:"then"`
}

// TenantOutcomes are those of one tenant.
type TenantOutcomes struct {
	Tenant string  `json:"tenant"`
	Now    Outcome `json:"now"`
	Then   Outcome `json:"then"`
}

// Forecast simulates both configurations of a question. It calls Pause often, and
// ends with its error.
type Forecast func(*Question) (*WhatIf, error)

// Question is what a Forecast is asked.
type Question struct {
	Now, Then *config.Config
	Each      map[string]*config.Config // with one of the settings alone, by its path; those that do not stand alone are missing
	Traffic   []gateway.Passed          // oldest first; more than Span, if there was more
	End       time.Time                 // the present, on the clock of the traffic
	Span      time.Duration             // before End, that is asked about
	Pause     func() error
}

const (
	usualSpan    = 5 * time.Minute
	mostSpan     = 10 * time.Minute // as far back as the gateway remembers
	leadSpan     = time.Minute      // before it, so that the simulation does not begin with empty queues
	forecastTime = 10 * time.Second // for a simulation, at most
	forecastEach = 10               // settings that are also tried alone, to say which show no effect: each reads the whole file
)

// whatIf tries settings on the traffic of the last minutes, for one operator at
// a time: a simulation takes half a processor from those who are served.
func (s *Surface) whatIf(w http.ResponseWriter, r *http.Request, _ identity) error {
	var ask WhatIfAsk
	if err := read(w, r, &ask, `{"set": {"models.chat.queue.total": 200}, "minutes": 5}`); err != nil {
		return err
	}
	span := usualSpan
	if ask.Minutes != 0 {
		span = time.Duration(ask.Minutes * float64(time.Minute))
	}
	switch {
	case !(ask.Minutes >= 0) || span <= 0 || span > mostSpan:
		return bad("minutes", "minutes is not above 0 and at most 10", "leave it out for 5")
	case s.forecast == nil || s.settings == nil:
		return &problem{status: http.StatusNotImplemented, detail: "there is no simulator here", remedy: "ask a gateway that was started with spillway serve"}
	case !s.forecasting.TryLock():
		return &problem{
			status: http.StatusTooManyRequests, detail: "another what-if is being worked out", remedy: "ask again when it has ended, in ten seconds at the latest",
			retry: forecastTime,
		}
	}
	defer s.forecasting.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), forecastTime)
	defer cancel()
	began := time.Now()
	var out *WhatIf
	q, missing, err := s.question(&ask, span, pauses(ctx))
	if err == nil {
		out, err = s.forecast(q)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &problem{status: http.StatusServiceUnavailable, detail: "the simulation took longer than " + forecastTime.String(), place: "minutes", remedy: "ask about fewer minutes, or when the machine has less to do", retry: forecastTime}
	case err != nil:
		return err
	case out.Requests == 0:
		return noTraffic
	}
	for _, path := range missing {
		out.Warnings = append(out.Warnings, path+" was not changed before, so there is nothing to take back")
	}
	out.Took = time.Since(began).Milliseconds()
	return writeJSON(w, out)
}

var noTraffic = &problem{
	status: http.StatusConflict, place: "minutes", detail: "no requests were made in that time",
	remedy: "ask about more minutes, at most 10, or try settings on a trace with spillway sim",
}

// question gathers what the simulation needs. missing are settings that were to
// be taken back, and were never changed.
func (s *Surface) question(ask *WhatIfAsk, span time.Duration, pause func() error) (q *Question, missing []string, err error) {
	name, file, today := s.settings.Today()
	propose := func(set config.Overlay) (*config.Config, []string, error) {
		next, missing, err := today.With(set)
		if err != nil {
			return nil, nil, err
		}
		c, err := next.Apply(name, file, s.settings.Env)
		return c, missing, err
	}
	q = &Question{Now: s.gateway.Config(), Each: map[string]*config.Config{}, Span: span, Pause: pause}
	if q.Then, missing, err = propose(ask.Set); err != nil {
		return nil, nil, problemsOf(err)
	}
	if q.Traffic, q.End = s.gateway.Traffic(span + leadSpan); len(q.Traffic) == 0 {
		return nil, nil, noTraffic
	}
	if len(ask.Set) > forecastEach {
		return q, missing, nil
	}
	for path, value := range ask.Set {
		if err := pause(); err != nil {
			return nil, nil, err
		}
		if c, _, err := propose(config.Overlay{path: value}); err == nil {
			q.Each[path] = c
		}
	}
	return q, missing, nil
}

const (
	workSlice = time.Millisecond // of a simulation, before it makes room
	restSlice = time.Millisecond
)

// pauses makes the func that a simulation calls between its steps: it works for
// a slice and rests for another, so that those who are served do not wait for
// it, and ends with ctx.
func pauses(ctx context.Context) func() error {
	since := time.Now()
	return func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(since) >= workSlice {
			time.Sleep(restSlice)
			since = time.Now()
		}
		return nil
	}
}
