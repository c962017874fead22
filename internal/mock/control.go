package mock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Control is the body of POST /control: what to change while the server runs.
// A member left out stays as it is; an invalid one changes nothing. The answer
// is the state after the change, in the same form.
type Control struct {
	// Faults and Schedule are as in Settings; the schedule counts from now and
	// replaces the old one. "" ends them.
	Faults   *string `json:"faults,omitempty"`
	Schedule *string `json:"schedule,omitempty"`
	// Brownout is how many times slower everything runs, the work under way
	// included; 1 ends it. It multiplies with brownouts of the schedule.
	Brownout *float64 `json:"brownout,omitempty"`
	// ServiceMean ("250ms", "0s" for computed times), Noise and OutputMean
	// count for requests that arrive from now on.
	ServiceMean *string  `json:"service_mean,omitempty"`
	Noise       *float64 `json:"noise,omitempty"`
	OutputMean  *int     `json:"output_mean,omitempty"`
}

// Control changes the running server. It returns an error, and changes nothing,
// if a value is not valid.
func (s *Server) Control(c Control) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := *s.live.Load()
	if c.Faults != nil {
		l.settings.Faults = *c.Faults
	}
	if c.Schedule != nil {
		l.settings.Schedule = *c.Schedule
	}
	if c.Brownout != nil {
		if !(*c.Brownout >= 1e-3 && *c.Brownout <= 1e6) {
			return fmt.Errorf("brownout is %v: a factor from 0.001 to 1000000, 1 for full speed", *c.Brownout)
		}
		l.brownout = *c.Brownout
	}
	if c.ServiceMean != nil {
		d, err := time.ParseDuration(*c.ServiceMean)
		if err != nil {
			return fmt.Errorf("service_mean is %q: a duration such as 250ms", *c.ServiceMean)
		}
		l.settings.ServiceMean = d
	}
	if c.Noise != nil {
		l.settings.Noise = new(*c.Noise)
	}
	if c.OutputMean != nil {
		l.settings.OutputMean = *c.OutputMean
	}
	if err := l.settings.Validate(); err != nil {
		return err
	}
	l.settings = l.settings.withDefaults()
	if c.Faults != nil {
		l.faults, _ = parseFaults(*c.Faults) // Validate has parsed it
	}
	if c.Schedule != nil {
		l.schedule, _ = parseSchedule(*c.Schedule) // Validate has parsed it
		shift(l.schedule, time.Since(s.started))
	}
	s.installLocked(l)
	return nil
}

// control serves POST /control.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	var c Control
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	dec.DisallowUnknownFields()
	err := dec.Decode(&c)
	if errors.Is(err, io.EOF) {
		err = nil // an empty body asks for the state
	}
	if err == nil {
		err = s.Control(c)
	}
	if err != nil {
		writeError(w, 400, "Nothing was changed: "+err.Error(), "invalid_request_error", "invalid_control")
		return
	}
	l := s.live.Load()
	mean := l.settings.ServiceMean.String()
	writeValue(w, Control{
		Faults: &l.settings.Faults, Schedule: &l.settings.Schedule, Brownout: &l.brownout,
		ServiceMean: &mean, Noise: l.settings.Noise, OutputMean: &l.settings.OutputMean,
	})
}

// showStats serves GET /stats.
func (s *Server) showStats(w http.ResponseWriter, r *http.Request) {
	writeValue(w, s.stats(r.URL.Query().Get("reset") == "1"))
}

func (s *Server) stats(reset bool) Stats {
	out := s.slots.stats(reset)
	up := time.Since(s.started)
	l := s.live.Load()
	factor, _ := slowness(l.schedule, up)
	out.UptimeS, out.Brownout = up.Seconds(), factor*l.brownout
	return out
}

// health serves GET /healthz, and listModels GET /v1/models. Both are down in a
// scheduled outage, as the whole server is.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	s.unlessDown(w, []byte(`{"status":"ok"}`))
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	s.unlessDown(w, s.models)
}

func (s *Server) unlessDown(w http.ResponseWriter, body []byte) {
	if outage(s.live.Load().schedule, time.Since(s.started)) {
		reset(w)
		return
	}
	writeJSON(w, 200, body)
}

func writeValue(w http.ResponseWriter, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		writeError(w, 500, "Encode the answer: "+err.Error(), "server_error", "internal_error")
		return
	}
	writeJSON(w, 200, b.Bytes())
}
