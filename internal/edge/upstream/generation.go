package upstream

import (
	"hash/fnv"
	"math/rand/v2"
	"net/http"
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
// An HTTP/2 connection is closed when it has been without a stream for
// IdleConnTimeout, as is one that was just being opened for a call when the
// transport was replaced.
type generations struct {
	open func() *http.Transport
	age  time.Duration // of a generation, give or take a tenth; 0 means for ever

	current atomic.Pointer[generation]

	mu     sync.Mutex // held to replace current
	chance *rand.Rand // so that clients of one age do not open their connections together
}

type generation struct {
	*http.Transport
	until time.Time // zero means for ever
}

func newGenerations(name string, age time.Duration, open func() *http.Transport) *generations {
	h := fnv.New64a()
	h.Write([]byte(name))
	now := time.Now()
	g := &generations{open: open, age: max(age, 0), chance: rand.New(rand.NewPCG(h.Sum64(), uint64(now.UnixNano())))}
	g.current.Store(g.next(now))
	return g
}

// at returns the transport for a call that begins now.
func (g *generations) at(now time.Time) *http.Transport {
	if cur := g.current.Load(); cur.until.IsZero() || now.Before(cur.until) {
		return cur.Transport
	}
	return g.replace(now)
}

func (g *generations) replace(now time.Time) *http.Transport {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.current.Load()
	if now.Before(old.until) { // another call was first
		return old.Transport
	}
	cur := g.next(now)
	g.current.Store(cur)
	// From here on the old one keeps no connection: it closes those that are
	// unused, and any other when its call ends.
	old.CloseIdleConnections()
	return cur.Transport
}

func (g *generations) next(now time.Time) *generation {
	cur := &generation{Transport: g.open()}
	if g.age > 0 {
		tenth := int64(g.age) / 10
		cur.until = now.Add(g.age + time.Duration(g.chance.Int64N(2*tenth+1)-tenth))
	}
	return cur
}

// CloseIdleConnections closes what is unused of the current generation; of
// older ones nothing unused is kept.
func (g *generations) CloseIdleConnections() { g.current.Load().CloseIdleConnections() }
