package ops

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/gateway"
)

// pace is how often a picture is made.
const pace = time.Second

// stage shows the picture to all who look. One goroutine makes it while there is
// somebody, and none otherwise. A listener who is slow misses pictures rather
// than getting old ones. It is safe for concurrent use.
type stage struct {
	picture func() gateway.Picture
	log     *slog.Logger

	mu        sync.Mutex
	listeners map[chan []byte]bool
	last      []byte        // the event made last; nil before the first
	stop      chan struct{} // ends the goroutine
}

func newStage(picture func() gateway.Picture, log *slog.Logger) *stage {
	return &stage{picture: picture, log: log, listeners: map[chan []byte]bool{}}
}

// join gives the events for one more listener, who must leave in the end; false
// if there are too many. The first event is there at once, at most a second old.
func (s *stage) join() (events <-chan []byte, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) >= mostListeners {
		return nil, nil, false
	}
	c := make(chan []byte, 1)
	s.listeners[c] = true
	if s.last != nil {
		c <- s.last
	}
	if s.stop == nil {
		s.stop = make(chan struct{})
		go s.make(s.stop)
	}
	return c, func() { s.leave(c) }, true
}

func (s *stage) leave(c chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, c)
	if len(s.listeners) == 0 {
		close(s.stop)
		s.stop, s.last = nil, nil
	}
}

// make makes pictures until it is stopped.
func (s *stage) make(stop chan struct{}) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		if event, err := encode(s.picture()); err != nil {
			s.log.Error("encode the live picture", "error", err.Error())
		} else if !s.show(event, stop) {
			return
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// show gives an event to everybody, in place of one that was not taken yet; false
// if nobody is there any more.
func (s *stage) show(event []byte, stop chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != stop {
		return false
	}
	s.last = event
	for c := range s.listeners {
		select {
		case <-c:
		default:
		}
		c <- event // there is room: only this goroutine and join send, with the lock
	}
	return true
}

// encode writes a picture as an event.
func encode(p gateway.Picture) ([]byte, error) {
	body, err := json.Marshal(p)
	return slices.Concat([]byte("event: picture\ndata: "), body, []byte("\n\n")), err
}
