package gateway

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxOperators are connections of operators at once. Each is a descriptor of the
// process, and callers need those.
const maxOperators = 256

// guests bound the connections of a server. When there is no room for one more, they
// close one on which nothing is being answered: of the address that has most of
// them the one that has been so longest. So connections that idle keep out neither
// probes nor each other, and who opens many closes its own. If all are being
// answered, the new one is closed. They are safe for concurrent use.
type guests struct {
	most int

	mu   sync.Mutex
	all  map[net.Conn]*guest
	from map[string]int // connections by address
}

// guest is one connection.
type guest struct {
	address string
	busy    bool
	since   time.Time // when it came, or its last answer ended
}

type guestKey struct{}

func newGuests(most int) *guests {
	return &guests{most: most, all: map[net.Conn]*guest{}, from: map[string]int{}}
}

// bound makes a server keep to them. It must not have begun.
func (c *guests) bound(s *http.Server) {
	handler := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
			c.set(g, true)
			defer c.set(g, false)
		}
		handler.ServeHTTP(w, r)
	})
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, guestKey{}, c.arrive(time.Now(), conn))
	}
	s.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			c.leave(conn)
		}
	}
}

func (c *guests) set(g *guest, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g.busy, g.since = busy, time.Now()
}

func (c *guests) arrive(now time.Time, conn net.Conn) *guest {
	g := &guest{address: conn.RemoteAddr().String(), since: now}
	if host, _, err := net.SplitHostPort(g.address); err == nil {
		g.address = host
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= c.most {
		victim := c.idlestLocked()
		if victim == nil {
			conn.Close() // the server finds that out by itself
			return g
		}
		victim.Close()
		c.leaveLocked(victim)
	}
	c.all[conn] = g
	c.from[g.address]++
	return g
}

// idlestLocked is the connection that makes room; nil if all are busy.
func (c *guests) idlestLocked() (victim net.Conn) {
	var most *guest
	for conn, g := range c.all {
		if g.busy {
			continue
		}
		n, m := c.from[g.address], 0
		if most != nil {
			m = c.from[most.address]
		}
		if n > m || n == m && g.since.Before(most.since) {
			victim, most = conn, g
		}
	}
	return victim
}

func (c *guests) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveLocked(conn)
}

func (c *guests) leaveLocked(conn net.Conn) {
	g, ok := c.all[conn]
	if !ok {
		return
	}
	delete(c.all, conn)
	if c.from[g.address]--; c.from[g.address] == 0 {
		delete(c.from, g.address)
	}
}
