package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/spillway-llm/spillway/internal/core/queue"
)

// serveGen merges the arrivals of its clients as they are drawn.
type serveGen struct {
	order *queue.Heap[*genClient]
}

// genClient is one client that draws its next arrival.
type genClient struct {
	name    string
	tenant  string
	last    time.Duration // of the windows read
	total   float64       // of the rates
	windows []rateWindow
	lengths []lengthWindow

	index    int // ties go by it
	place    int
	options  *TraceOptions
	key      uint64 // of the seed
	pcg      *rand.PCG
	rng      *rand.Rand
	window   int     // index of the present one
	at       float64 // seconds into it
	span     float64 // seconds it lasts
	due      time.Duration
	lengthAt int // index into lengths
}

func newServeGen(clients []*genClient, o *TraceOptions) *serveGen {
	g := &serveGen{order: queue.NewHeap(func(a, b *genClient) bool {
		if a.due != b.due {
			return a.due < b.due
		}
		return a.index < b.index
	}, func(c *genClient) *int { return &c.place })}
	for i, c := range clients {
		c.index, c.options = i, o
		c.tenant = c.name
		if o.Tenant != "" {
			c.tenant = o.Tenant + "-" + c.name
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.name)) // never fails
		c.key = o.Seed ^ h.Sum64()
		c.pcg = rand.NewPCG(0, 0)
		c.rng = rand.New(c.pcg)
		c.span = rateSpan.Seconds() / o.Compress
		c.enter(0)
		if c.advance() {
			g.order.Push(c)
		}
	}
	return g
}

// Next implements Source.
func (g *serveGen) Next() (Arrival, bool, error) {
	if g.order.Len() == 0 {
		return Arrival{}, false, nil
	}
	c := g.order.Min()
	a := c.arrival()
	if c.at += c.windows[c.window].gap(c.rng); c.advance() {
		g.order.Fix(c)
	} else {
		g.order.Remove(c)
	}
	return a, true, nil
}

// enter begins a window, if there is one, with its first arrival: the wait for
// it is what is left of a gap at a random moment, so that the rate is right
// from the start of the window.
func (c *genClient) enter(i int) {
	c.window = i
	if i == len(c.windows) {
		return
	}
	w := &c.windows[i]
	c.pcg.Seed(c.key, uint64(w.at))
	c.at = w.rest(c.rng)
}

// advance goes on until an arrival is due in the part asked for; false means
// that there is none.
func (c *genClient) advance() bool {
	o := c.options
	for c.window < len(c.windows) {
		w := &c.windows[c.window]
		if c.at >= c.span {
			c.enter(c.window + 1)
			continue
		}
		start := time.Duration(float64(w.at-o.From) / o.Compress)
		c.due = start + time.Duration(c.at*1e9)
		if o.Duration > 0 && c.due >= time.Duration(float64(o.Duration)/o.Compress) {
			return false
		}
		if c.due >= 0 {
			return true
		}
		c.draw() // as it would be drawn by a reader of the whole
		c.at += w.gap(c.rng)
	}
	return false
}

func (c *genClient) arrival() Arrival {
	a := Arrival{At: c.due, Tenant: c.tenant, Model: c.options.Model, Class: c.options.Class}
	a.Input, a.Output = c.draw()
	return a
}

// draw gives the lengths of the next request: those of the last window of
// lengths that began, or of the first.
func (c *genClient) draw() (input, output int64) {
	for c.lengthAt+1 < len(c.lengths) && c.lengths[c.lengthAt+1].at <= c.windows[c.window].at {
		c.lengthAt++
	}
	l := &c.lengths[c.lengthAt]
	for _, law := range l.input {
		input += law.draw(c.rng)
	}
	return max(input, 1), max(l.output.draw(c.rng), 1)
}

// gap draws the time between two arrivals, in seconds.
func (w *rateWindow) gap(rng *rand.Rand) float64 { return w.law.gap(rng) / w.rate }

// rest draws the time to the first arrival: a random share of a gap that a
// random moment falls into, which is more often a long one.
func (w *rateWindow) rest(rng *rand.Rand) float64 { return rng.Float64() * w.law.met(rng) / w.rate }
