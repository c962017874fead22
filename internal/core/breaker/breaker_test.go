package breaker

import (
	"math/rand/v2"
	"testing"
	"time"
)

func newBreaker(change func(*Policy)) *Breaker {
	var p Policy
	if change != nil {
		change(&p)
	}
	p.Defaults()
	b := new(Breaker)
	b.Configure(p)
	return b
}

func at(d time.Duration) time.Time { return t0.Add(d) }

func (b *Breaker) is(t *testing.T, now time.Time, s State) {
	t.Helper()
	if got, why := b.State(now); got != s {
		t.Fatalf("after %v it is %v (%v), want %v", now.Sub(t0), got, why, s)
	}
}

// TestOutage (B065) is the whole life: failures in a row, the cooldown that grows with
// the outage, one probe, ten steps that are earned.
func TestOutage(t *testing.T) {
	const s = time.Second
	b := newBreaker(nil)
	for i := range 30 {
		b.Success(at(time.Duration(i)*s), 10)
	}
	for i := range 4 {
		b.is(t, at(30*s), Closed)
		b.Failure(at(30*s+time.Duration(i)), false, 0)
	}
	b.is(t, at(30*s+9), Open)
	if b.Calls(at(31*s), 100) != 0 || b.Share(at(31*s)) != 0 {
		t.Error("something passes an open breaker")
	}
	b.is(t, at(60*s), Open)
	b.is(t, at(61*s), HalfOpen)
	if b.Calls(at(61*s), 100) != 1 || b.Share(at(61*s)) != 0 {
		t.Error("want one probe, which is no capacity")
	}
	b.Failure(at(62*s), false, 0) // 32 s of outage: 64 s of cooldown
	b.is(t, at(125*s), Open)
	b.is(t, at(127*s), HalfOpen)
	b.Failure(at(127*s), false, 0) // 97 s: 194 s
	b.is(t, at(320*s), Open)
	b.is(t, at(322*s), HalfOpen)
	b.Failure(at(322*s), false, 0) // 292 s: at most 300 s
	b.is(t, at(621*s), Open)
	now := at(623 * s)
	b.is(t, now, HalfOpen)
	b.Success(now, 1)
	for step := 1; step < 10; step++ {
		b.is(t, now, Recovering)
		if b.Step(now) != step || b.Calls(now, 100) != 10*step {
			t.Fatalf("step %d with %d calls, want %d", b.Step(now), b.Calls(now, 100), step)
		}
		began := now
		for range 3 { // three good ones within the time of a step are not enough
			b.Success(now.Add(s), 10)
		}
		if b.Step(now.Add(s)) != step {
			t.Fatal("a step took less than its time")
		}
		now = began.Add(2 * s)
		b.Success(now, 10)
	}
	b.is(t, now, Closed)
	if b.Calls(now, 100) != 100 {
		t.Error("not all is back")
	}
}

func TestOpening(t *testing.T) {
	const s = time.Second
	fail := func(b *Breaker, n int, now time.Time) {
		for range n {
			b.Failure(now, false, 0)
		}
	}
	for name, tt := range map[string]struct {
		play func(*Breaker)
		want State
	}{
		"three failures":             {func(b *Breaker) { fail(b, 3, t0) }, Closed},
		"four failures":              {func(b *Breaker) { fail(b, 4, t0) }, Open},
		"a success between":          {func(b *Breaker) { fail(b, 3, t0); b.Success(t0, 1); fail(b, 3, t0) }, Closed},
		"memory full once":           {func(b *Breaker) { b.Failure(t0, true, 0) }, Closed},
		"memory full twice":          {func(b *Breaker) { b.Failure(t0, true, 0); b.Failure(t0, true, 0) }, Open},
		"alone, it needs more":       {func(b *Breaker) { b.Alone(t0, true); fail(b, 11, t0) }, Closed},
		"alone, all fail":            {func(b *Breaker) { b.Alone(t0, true); fail(b, 12, t0) }, Open},
		"half fail":                  {func(b *Breaker) { alternate(b, 20, 2) }, Open},
		"half fail, alone":           {func(b *Breaker) { b.Alone(t0, true); alternate(b, 60, 2) }, Closed},
		"a fifth fails":              {func(b *Breaker) { alternate(b, 200, 5) }, Closed},
		"a row that chance explains": {func(b *Breaker) { alternate(b, 60, 4); fail(b, 5, t0) }, Closed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(nil)
			tt.play(b)
			b.is(t, t0, tt.want)
		})
	}
	t.Run("out of memory heals slowly", func(t *testing.T) {
		b := newBreaker(nil)
		b.Failure(t0, true, 0)
		b.Failure(t0, true, 0)
		b.is(t, at(119*s), Open)
		b.is(t, at(120*s), HalfOpen)
	})
	t.Run("the later of two deadlines", func(t *testing.T) {
		b := newBreaker(nil)
		fail(b, 3, t0)
		b.Failure(t0, false, 50*s)
		b.is(t, at(49*s), Open)
		b.is(t, at(50*s), HalfOpen)
		b = newBreaker(nil)
		fail(b, 3, t0)
		b.Failure(t0, false, 5*s)
		b.is(t, at(29*s), Open)
	})
	t.Run("alone, it asks sooner", func(t *testing.T) {
		b := newBreaker(nil)
		b.Alone(t0, true)
		fail(b, 12, t0)
		b.is(t, at(2*s), HalfOpen)
		b.Failure(at(3*s), false, 20*s) // but not against the upstream's wish
		b.is(t, at(22*s), Open)
		b.is(t, at(23*s), HalfOpen)
	})
}

// alternate lets every k-th of n calls fail.
func alternate(b *Breaker, n, k int) {
	for i := range n {
		if i%k == k-1 {
			b.Failure(t0, false, 0)
		} else {
			b.Success(t0, 10)
		}
	}
}

// TestShare falls with failures beyond the accepted tenth, and comes back when
// the window has passed.
func TestShare(t *testing.T) {
	b := newBreaker(nil)
	alternate(b, 100, 10)
	if got := b.Share(t0); got != 1 {
		t.Errorf("share %v at the threshold", got)
	}
	b = newBreaker(nil)
	alternate(b, 100, 4)
	if got := b.Share(t0); got < 0.82 || got > 0.84 {
		t.Errorf("share %v with a quarter failing, want 0.75/0.9", got)
	}
	if got := b.Calls(t0, 12); got != 10 {
		t.Errorf("%d calls of 12", got)
	}
	if got := b.Share(at(66 * time.Second)); got != 1 {
		t.Errorf("share %v after the window", got)
	}
}

// TestOldCalls: what began before the opening says nothing any more; the
// controller compares epochs.
func TestOldCalls(t *testing.T) {
	b := newBreaker(nil)
	before := b.Epoch()
	alternate(b, 40, 2)
	if b.Epoch() == before {
		t.Error("opening began no epoch")
	}
}

func TestLatency(t *testing.T) {
	const ms = time.Millisecond
	feed := func(b *Breaker, n int, d time.Duration) (more bool) {
		for range n {
			more = b.Good(t0, 10, Latencies{First: d}) || more
		}
		return more
	}
	for name, tt := range map[string]struct {
		change func(*Policy)
		play   func(*Breaker)
		want   State
		warned bool
	}{
		"as ever":                       {nil, func(b *Breaker) { feed(b, 100, 200*ms) }, Closed, false},
		"one slow call":                 {nil, func(b *Breaker) { feed(b, 100, 200*ms); feed(b, 1, 20000*ms) }, Closed, false},
		"warned":                        {nil, func(b *Breaker) { feed(b, 100, 200*ms); feed(b, 20, 2600*ms) }, Closed, true},
		"slow":                          {nil, func(b *Breaker) { feed(b, 100, 200*ms); feed(b, 10, 5000*ms) }, Open, false},
		"a model that thinks":           {nil, func(b *Breaker) { feed(b, 300, 20000*ms) }, Closed, false},
		"a threshold that was set":      {func(p *Policy) { p.First.Open = 3 * time.Second }, func(b *Breaker) { feed(b, 30, 20000*ms) }, Open, false},
		"switched off":                  {func(p *Policy) { p.First = Latency{-1, -1, -1} }, func(b *Breaker) { feed(b, 100, 200*ms); feed(b, 50, 20000*ms) }, Closed, false},
		"slow tokens are not looked at": {nil, func(b *Breaker) { b.Good(t0, 1, Latencies{PerToken: time.Minute}) }, Closed, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(tt.change)
			tt.play(b)
			b.is(t, t0, tt.want)
			if b.Warned() != tt.warned {
				t.Errorf("warned %v", b.Warned())
			}
		})
	}
	t.Run("a probe that is slow has failed", func(t *testing.T) {
		b := newBreaker(func(p *Policy) { p.First.Open = 3 * time.Second })
		feed(b, 30, 5000*ms)
		now := at(31 * time.Second)
		b.is(t, now, HalfOpen)
		b.Good(now, 1, Latencies{First: 4 * time.Second})
		b.is(t, now, Open)
		now = at(200 * time.Second)
		b.Good(now, 1, Latencies{First: time.Second})
		b.is(t, now, Recovering)
	})
	t.Run("more capacity", func(t *testing.T) {
		b := newBreaker(nil)
		feed(b, 30, 200*ms)
		if !feed(b, 1, 11*time.Second) || feed(b, 5, 11*time.Second) {
			t.Error("want to be told once a minute")
		}
	})
}

// TestNoFlapping: an hour at failures around the threshold opens nothing.
func TestNoFlapping(t *testing.T) {
	for _, percent := range []int{9, 10, 11, 15, 20} {
		opened := 0
		for seed := range uint64(10) {
			b := newBreaker(nil)
			rng := rand.New(rand.NewPCG(seed, 5))
			for i := range 36_000 {
				now := at(time.Duration(i) * 100 * time.Millisecond)
				if s, _ := b.State(now); s == Open {
					opened++
					b = newBreaker(nil)
				}
				if rng.IntN(100) < percent {
					b.Failure(now, false, 0)
				} else {
					b.Success(now, 10)
				}
			}
		}
		if opened > 3 { // of ten hours
			t.Errorf("opened %d times in ten hours at %d %%", opened, percent)
		}
	}
}

func TestAuto(t *testing.T) {
	// An upstream of 20 slots: beyond, calls wait inside.
	a := NewAuto(4)
	now := t0
	var most, least int
	for range 4000 {
		n := a.Limit()
		now = now.Add(50 * time.Millisecond)
		wait := 200 * time.Millisecond
		if n > 20 {
			wait += time.Duration(n-20) * 50 * time.Millisecond
		}
		a.Sample(now, Latencies{First: wait, PerToken: 20 * time.Millisecond}, n, 1000)
		if now.After(at(60 * time.Second)) {
			if least == 0 {
				least = n
			}
			most, least = max(most, a.Limit()), min(least, a.Limit())
		}
	}
	if least < 16 || most > 26 {
		t.Errorf("between %d and %d calls, want about 20", least, most)
	}
	a.Full(now, 9, 1000)
	if a.Limit() != 9 {
		t.Errorf("limit %d after it was full with 9 running", a.Limit())
	}
	idle := NewAuto(10)
	for i := range 1000 {
		idle.Sample(at(time.Duration(i)*time.Second), Latencies{First: time.Second}, 2, 1000)
	}
	if idle.Limit() != 10 {
		t.Errorf("limit %d without need", idle.Limit())
	}
}

// TestAsking: whoever asks a breaker, and whenever, changes nothing of it, so that
// who looks at an upstream decides nothing about it.
func TestAsking(t *testing.T) {
	b := newBreaker(nil)
	for range 4 {
		b.Failure(t0, false, 0)
	}
	b.Alone(t0, true)
	for _, at := range []time.Duration{0, time.Second, 3 * time.Second, time.Minute, time.Hour} {
		now, before := t0.Add(at), *b
		b.State(now)
		b.Opens(now)
		b.Step(now)
		b.Share(now)
		b.Calls(now, 5)
		b.Failing(now)
		if *b != before {
			t.Fatalf("after %v asking changed\n%+v to\n%+v", at, before, *b)
		}
	}
	now := t0.Add(3 * time.Second)
	if s, _ := b.State(now); s != HalfOpen {
		t.Fatalf("%v: alone it is probed after two seconds", s)
	}
	before, was := *b, b.Standing()
	b.Alone(now, false)
	if s, _ := b.State(now); s != HalfOpen {
		t.Errorf("%v: a cooldown that is over stays over when another upstream is back", s)
	}
	if b.Restore(was); *b != before {
		t.Errorf("%+v is not %+v again", *b, before)
	}
}
