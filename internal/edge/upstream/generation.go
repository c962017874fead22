package upstream

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// generations bounds the age of connections. A kept connection stays with the
// address that its name had when it was opened; where the name now leads is
// only seen by opening another. A transport cannot let go of single
// connections by age, so the whole of it is replaced by a new one, and its
// connections are closed: the unused at once, those in use as their calls end.
// Those calls notice nothing.
//
// Connections that work are worth more than new ones that cannot be had. So
// first one is opened to see that it can, and closed; while it cannot, as when
// names are not resolved, the old ones go on for up to twice their age.
//
// An HTTP/2 connection is closed when it has been without a stream for
// IdleConnTimeout, as is one that was just being opened for a call when the
// transport was replaced.
type generations struct {
	open  func() *http.Transport
	probe func() error  // opens a connection and closes it
	age   time.Duration // of a generation, give or take a tenth; 0 means for ever

	current atomic.Pointer[generation]

	mu     sync.Mutex // held to replace current
	chance *rand.Rand // so that clients of one age do not open their connections together
}

// generation is a transport, and when it is next looked at whether it is to be
// replaced. It is not changed.
type generation struct {
	*http.Transport
	born time.Time
	look time.Time // zero means never
}

func newGenerations(name string, age time.Duration, open func() *http.Transport, probe func() error) *generations {
	h := fnv.New64a()
	h.Write([]byte(name))
	now := time.Now()
	g := &generations{open: open, probe: probe, age: max(age, 0), chance: rand.New(rand.NewPCG(h.Sum64(), uint64(now.UnixNano())))}
	g.startLocked(now) // nobody else has it yet
	return g
}

// at returns the transport for a call that begins now.
func (g *generations) at(now time.Time) *http.Transport {
	if cur := g.current.Load(); cur.look.IsZero() || now.Before(cur.look) {
		return cur.Transport
	}
	return g.renew(now)
}

func (g *generations) renew(now time.Time) *http.Transport {
	g.mu.Lock()
	defer g.mu.Unlock()
	cur := g.current.Load()
	switch {
	case now.Before(cur.look): // another call was first
	case now.Sub(cur.born) >= 2*g.age:
		g.startLocked(now)
	default:
		// Should this look fail, the next is a tenth later, the last at twice the age.
		next := min(now.Sub(cur.born)+g.age/10, 2*g.age)
		g.current.Store(&generation{Transport: cur.Transport, born: cur.born, look: cur.born.Add(next)})
		go func() {
			if g.probe() == nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.current.Load().Transport == cur.Transport {
					g.startLocked(time.Now())
				}
			}
		}()
	}
	return g.current.Load().Transport
}

// startLocked begins a new generation. The old one keeps no connection from
// then on: it closes those that are unused, and any other when its call ends.
func (g *generations) startLocked(now time.Time) {
	next := &generation{Transport: g.open(), born: now}
	if g.age > 0 {
		tenth := int64(g.age) / 10
		next.look = now.Add(g.age + time.Duration(g.chance.Int64N(2*tenth+1)-tenth))
	}
	if old := g.current.Swap(next); old != nil {
		old.CloseIdleConnections()
	}
}

// CloseIdleConnections closes what is unused of the current generation; of
// older ones nothing unused is kept.
func (g *generations) CloseIdleConnections() { g.current.Load().CloseIdleConnections() }

// probeOf returns a func that opens a connection as t would for a call of u, and
// closes it. Nothing is sent.
func probeOf(t *http.Transport, u *url.URL) func() error {
	return func() error {
		to := u
		if proxy, err := t.Proxy(&http.Request{URL: u}); err != nil {
			return err
		} else if proxy != nil {
			to = proxy
		}
		port := to.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
		}
		if port == "" {
			port = "1080" // of SOCKS
		}
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		defer cancel()
		conn, err := t.DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// probeTime bounds a probe whose provider has no limit for dialing.
const probeTime = 30 * time.Second
