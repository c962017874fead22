package ops

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
)

const (
	mostListeners = 32               // of the live picture; each has a connection
	heartbeat     = 15 * time.Second // between comments, while there is no picture
	takeTime      = 10 * time.Second // for a listener to take a picture
	mostSeconds   = 900              // of history
)

// snapshot is the picture of now.
func (s *Surface) snapshot(w http.ResponseWriter, _ *http.Request, _ identity) error {
	return writeJSON(w, s.gateway.Picture())
}

// History is the answer of GET /admin/v1/history, oldest first.
type History struct {
	Seconds []gateway.Second `json:"seconds"`
}

func (s *Surface) history(w http.ResponseWriter, r *http.Request, _ identity) error {
	n := mostSeconds
	if text := r.URL.Query().Get("seconds"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > mostSeconds {
			return bad("seconds", "seconds is not a number from 1 to 900", "leave it out for 900")
		}
	}
	return writeJSON(w, History{s.gateway.History(n)})
}

// live sends a picture each second, the first at once, until the listener leaves,
// may no longer look, or the gateway has ended. Draining is part of the picture.
func (s *Surface) live(w http.ResponseWriter, r *http.Request, _ identity) error {
	pictures, leave, ok := s.stage.join()
	if !ok {
		return &problem{
			status: http.StatusServiceUnavailable, detail: "there are " + strconv.Itoa(mostListeners) + " listeners already",
			remedy: "close one, or ask for GET /admin/v1/snapshot now and then", retry: 5 * time.Second,
		}
	}
	defer leave()
	out := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	idle := time.NewTimer(heartbeat)
	defer idle.Stop()
	for {
		event := []byte(": nothing yet\n\n")
		select {
		case <-r.Context().Done():
			return nil
		case <-s.gateway.Over():
			return nil
		case event = <-pictures:
		case <-idle.C:
		}
		if !s.still(r) {
			return nil
		}
		out.SetWriteDeadline(time.Now().Add(takeTime))
		if _, err := w.Write(event); err != nil || out.Flush() != nil {
			return nil // whoever listened is gone
		}
		idle.Reset(heartbeat)
	}
}

// still says that whoever was let in may look on: the token is in the file and
// the session is not over. It counts no failures.
func (s *Surface) still(r *http.Request) bool {
	admin := &s.gateway.Config().Admin
	switch header := r.Header.Get("Authorization"); {
	case len(admin.Tokens) == 0:
		_, err := s.admitAnybody(r, toLook)
		return err == nil
	case header != "":
		_, token, _ := strings.Cut(header, " ")
		_, ok := admin.Lookup(strings.TrimSpace(token))
		return ok
	}
	_, err := s.identify(r, admin)
	return err == nil
}
