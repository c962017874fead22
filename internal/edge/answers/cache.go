package answers

import (
	"crypto/sha256"
	"math"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"
)

// Key stands for a request: two have the same key only if they ask the same, of
// the same pool, for the same tenant. It is SHA-256, so that no caller can make a
// request that meets another's answer.
type Key [sha256.Size]byte

// shares is the part of the cache that one answer may take: an eighth.
const shares = 8

// Cache holds answers within a number of bytes and an age. What is asked for
// often stays longest (W-TinyLFU). It is safe for concurrent use. Close it, as a
// goroutine frees what is too old.
type Cache struct {
	table *otter.Cache[Key, *Answer]
	most  atomic.Int64 // bytes of one answer; 0: nothing is kept
	ttl   atomic.Int64 // nanoseconds

	stored, refused atomic.Uint64
	hits, misses    atomic.Uint64
}

// New returns a cache of so many bytes, keys and all, for answers younger than
// ttl. It keeps nothing if one of them is zero or less.
func New(bytes int64, ttl time.Duration) *Cache {
	c := new(Cache)
	c.bound(bytes, ttl)
	c.table = otter.Must(&otter.Options[Key, *Answer]{
		MaximumWeight: uint64(max(bytes, 1)),
		Weigher:       func(_ Key, a *Answer) uint32 { return uint32(a.weight()) }, // at most what Put lets pass
		ExpiryCalculator: otter.ExpiryWritingFunc(func(otter.Entry[Key, *Answer]) time.Duration {
			return time.Duration(max(c.ttl.Load(), 1))
		}),
		StatsRecorder: stats.NewCounter(),
	})
	return c
}

// bound sets what one answer may have.
func (c *Cache) bound(bytes int64, ttl time.Duration) {
	most := min(max(bytes, 0)/shares, math.MaxUint32)
	if ttl <= 0 {
		most = 0
	}
	c.most.Store(most)
	c.ttl.Store(int64(ttl))
}

// Get returns the answer of a request and its age, which is not negative and
// less than the bound of the cache. Whether it is young enough for the caller is
// for others to say.
func (c *Cache) Get(now time.Time, k Key) (a *Answer, age time.Duration, ok bool) {
	a, ok = c.table.GetIfPresent(k)
	if ok {
		age = max(now.Sub(a.Stored), 0)
		ok = age < time.Duration(c.ttl.Load())
	}
	if !ok {
		c.misses.Add(1)
		return nil, 0, false
	}
	c.hits.Add(1)
	return a, age, true
}

// Put keeps an answer in place of an older one, and says whether it did. It does
// not if the answer has no time, or takes more than an eighth of the bytes. The
// answer must not be changed after it.
func (c *Cache) Put(k Key, a *Answer) bool {
	if a.Stored.IsZero() || a.weight() > c.most.Load() {
		c.refused.Add(1)
		return false
	}
	c.stored.Add(1)
	c.table.Set(k, a)
	c.table.CleanUp() // at once, so that the bound holds
	return true
}

// Resize changes the bounds of a running cache. What no longer fits is dropped;
// what is there may grow older if the bound is wider.
func (c *Cache) Resize(now time.Time, bytes int64, ttl time.Duration) {
	c.bound(bytes, ttl)
	c.table.SetMaximum(uint64(max(bytes, 1)))
	for k, a := range c.table.All() {
		if left := ttl - now.Sub(a.Stored); left > 0 && a.weight() <= c.most.Load() {
			c.table.SetExpiresAfter(k, left)
		} else {
			c.table.Invalidate(k)
		}
	}
	c.table.CleanUp()
}

// Close ends the goroutine of the cache. Answers can still be looked up.
func (c *Cache) Close() { c.table.StopAllGoroutines() }

// Stats is what a cache did so far and what it holds.
type Stats struct {
	Hits, Misses uint64 // look-ups
	Stored       uint64 // answers kept
	Refused      uint64 // answers that were too large, or came without a time
	Evicted      uint64 // answers dropped for others or for their age
	Answers      int    // held
	Bytes        int64  // held, with keys
}

// Stats returns the counts. They may be a moment apart from each other.
func (c *Cache) Stats() Stats {
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(),
		Stored: c.stored.Load(), Refused: c.refused.Load(),
		Evicted: c.table.Stats().Evictions,
		Answers: c.table.EstimatedSize(), Bytes: int64(c.table.WeightedSize()),
	}
}
