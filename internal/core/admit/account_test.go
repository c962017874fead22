package admit

import (
	"math/rand/v2"
	"testing"
	"time"
)

// An account that looks at its limits only when something may have been passed
// says the same as one that always looks.
func TestAccountLooksOftenEnough(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		b := &Budget{Calendar: rng.IntN(2) == 0, Pace: 20 + rng.IntN(300), Soft: 50 + rng.IntN(50)}
		b.Limits[Minute], b.Limits[Hour], b.Limits[Day] = rng.Int64N(3)*1000, rng.Int64N(3)*10_000, rng.Int64N(3)*100_000
		b.Raised = Override{Limits: [NumSpans]int64{Hour: 25_000}, Until: after(time.Duration(rng.Int64N(int64(time.Hour))))}
		if b.Hold[Batch] = rng.IntN(101); rng.IntN(2) == 0 {
			b.Hold[Batch] = 0
		}
		b.defaults()
		lazy, eager := newAccount(t0, ScopeTenant, "a", "", b), newAccount(t0, ScopeTenant, "a", "", b)
		look := func(now time.Time, a *account) {
			if a == eager || a.slack <= 0 {
				a.alarm, a.level, _ = a.judge(now)
			}
			if a == eager {
				a.slack = 0
			}
		}
		now := t0
		var held []charge
		for range 400 {
			now = now.Add(time.Duration(rng.ExpFloat64() * float64(10*time.Second)))
			likely, class := rng.Int64N(400), Class(rng.IntN(NumClasses))
			amount := charge{likely, likely + rng.Int64N(2)*rng.Int64N(400)}
			b1, p1 := lazy.over(now, class, amount)
			b2, p2 := eager.over(now, class, amount)
			if (b1 == nil) != (b2 == nil) || (p1 == nil) != (p2 == nil) {
				t.Fatalf("seed %d: one refuses, the other does not", seed)
			}
			if b1 == nil && p1 == nil {
				held = append(held, amount)
				lazy.take(now, amount)
				eager.take(now, amount)
				look(now, lazy)
				look(now, eager)
			}
			for len(held) > 0 && rng.IntN(3) == 0 {
				spent := rng.Int64N(600)
				lazy.settle(now, held[0], spent)
				eager.settle(now, held[0], spent)
				held = held[1:]
				look(now, lazy)
				look(now, eager)
			}
			if lazy.alarm != eager.alarm || lazy.level != eager.level {
				t.Fatalf("seed %d: %v and level %d, want %v and %d", seed, lazy.alarm, lazy.level, eager.alarm, eager.level)
			}
		}
	}
}
