package ops

import (
	"net/http"

	"github.com/spillway-llm/spillway/internal/gateway"
)

// health answers while the process lives, with what it holds.
func (s *Surface) health(w http.ResponseWriter, _ *http.Request, _ identity) error {
	return writeJSON(w, s.gateway.Health())
}

// ready says whether new requests are welcome.
func (s *Surface) ready(w http.ResponseWriter, _ *http.Request, _ identity) error {
	if s.gateway.Draining() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return nil
	}
	w.Write([]byte("ready\n"))
	return nil
}

// Upstreams is the answer of GET /admin/v1/upstreams.
type Upstreams struct {
	Upstreams []gateway.UpstreamReport `json:"upstreams"`
}

func (s *Surface) upstreams(w http.ResponseWriter, _ *http.Request, _ identity) error {
	return writeJSON(w, Upstreams{s.gateway.Upstreams()})
}

// events writes the flight recorder.
func (s *Surface) events(w http.ResponseWriter, _ *http.Request, _ identity) error {
	w.Header().Set("Content-Type", "application/jsonl")
	if err := s.gateway.Dump(w); err != nil {
		s.log.Warn("write the flight recorder", "error", err.Error())
	}
	return nil
}
