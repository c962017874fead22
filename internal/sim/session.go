package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// talk is one who goes on as long as the run does: sessions one after the
// other, each of turns, each of a request and those that follow from it when
// tools have answered. The next request is made when the one before has ended.
type talk struct {
	talker  *talker
	index   int
	session int // its number
	turn    int
	step    int    // of the turn
	model   string // that served the last request, where that is another than was asked for
}

const (
	toolTime     = 300 * time.Millisecond // until a tool has answered
	defaultPause = 10 * time.Second       // mean, between two turns
)

// talks are the callers of a Caller who come in sessions.
func talks(c *Caller, index int, seed uint64) (list []*talker) {
	for n := range c.Sessions {
		t := newTalker(c, index, rand.New(rand.NewPCG(seed, uint64(index+1)<<32|uint64(n+1))))
		t.talk = &talk{talker: t, index: n + 1}
		t.at = time.Duration(t.rng.Float64() * float64(c.pause()))
		t.draw()
		list = append(list, t)
	}
	return list
}

func (c *Caller) pause() time.Duration {
	if c.Pause > 0 {
		return c.Pause
	}
	return defaultPause
}

// name is that of the present session.
func (t *talk) name() string {
	return fmt.Sprintf("%s-%d-%d", t.talker.caller.Name, t.index, t.session+1)
}

// next goes to the next request, and says after how long it is made.
func (t *talk) next() time.Duration {
	c := t.talker.caller
	if t.step < c.Tools {
		t.step++
		return toolTime
	}
	t.step = 0
	if t.turn++; t.turn >= max(c.Turns, 1) {
		t.turn, t.model = 0, ""
		t.session++
		t.talker.draw()
	}
	return time.Duration(t.talker.rng.ExpFloat64() * float64(c.pause()))
}

// ends says that the caller has gone by then.
func (t *talk) ends(at time.Duration) bool {
	until := t.talker.caller.Until
	return until > 0 && at >= until
}

// hush is the end of a request of a session: another follows.
func (r *Run) hush(t *talk) {
	if at := r.now.Add(t.next()); at.Sub(epoch) < r.world.Length && !t.ends(at.Sub(epoch)) {
		r.at(at, event{kind: kindSpeak, talk: t})
	}
}

// speak is the next request of a session.
func (r *Run) speak(t *talk) {
	t.talker.at = r.now.Sub(epoch)
	r.arrive(t.talker.arrival())
}
