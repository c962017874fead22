package sim

import (
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Ten a minute, all asked for at once and then again: when the next one fits.
func TestLimitKinds(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		limit  Limit
		at     time.Duration // of the burst
		fits   int
		wait   time.Duration
		scarce admit.Scarce
	}{
		"rolling: when the first leaves":          {Limit{Requests: 10}, 50 * s, 10, 60 * s, admit.ScarceRequests},
		"fixed: when the minute ends":             {Limit{Requests: 10, Kind: Fixed}, 50 * s, 10, 10 * s, admit.ScarceRequests},
		"bucket: when one has come":               {Limit{Requests: 10, Kind: Bucket}, 50 * s, 10, 6 * s, admit.ScarceRequests},
		"bucket with a burst of half a minute":    {Limit{Requests: 10, Kind: Bucket, Burst: 30 * s}, 50 * s, 5, 6 * s, admit.ScarceRequests},
		"tokens, a hundred each":                  {Limit{Tokens: 350}, 0, 3, 60 * s, admit.ScarceTokens},
		"tokens of a day, until midnight":         {Limit{Daily: 350}, time.Hour, 3, 23 * time.Hour, admit.ScarceDay},
		"the longer of two waits says what lacks": {Limit{Requests: 3, Daily: 300}, 0, 3, 24 * time.Hour, admit.ScarceDay},
	} {
		t.Run(name, func(t *testing.T) {
			m := newLimiter(tt.limit)
			now := epoch.Add(tt.at)
			fits := 0
			for {
				wait, scarce := m.take(now, 100)
				if wait == 0 {
					fits++
					continue
				}
				if fits != tt.fits || wait != tt.wait || scarce != tt.scarce {
					t.Errorf("%d fit, the next after %v for %d; want %d, %v, %d", fits, wait, scarce, tt.fits, tt.wait, tt.scarce)
				}
				if again, _ := m.take(now.Add(wait), 100); again != 0 {
					t.Errorf("after the wait it must wait another %v", again)
				}
				return
			}
		})
	}
}

// A limit that changes keeps what was counted.
func TestLimitChanges(t *testing.T) {
	for _, kind := range []LimitKind{Rolling, Bucket, Fixed} {
		s := newServer(Upstream{Limit: Limit{Requests: 10, Kind: kind}})
		for range 6 {
			s.key(0).take(epoch, 1)
		}
		s.enforce(epoch, Limit{Requests: 5, Kind: kind})
		if kind == Bucket {
			continue // four are left of ten, whatever comes in
		}
		if told := s.told(epoch, 0).Requests; told.Limit != 5 || told.Remaining != 0 {
			t.Errorf("%v: told %+v", kind, told)
		}
	}
}

// Where refused calls count, who goes on calling does not get in again.
func TestRefusedCallsCount(t *testing.T) {
	for _, kind := range []LimitKind{Rolling, Bucket, Fixed} {
		for _, counts := range []bool{false, true} {
			s := newServer(Upstream{Slots: 1000, Limit: Limit{Requests: 10, Per: time.Second, Kind: kind, Refused: counts}})
			in := 0
			for i := range 400 { // twenty a second
				if _, _, ok := s.admit(epoch.Add(time.Duration(i)*50*time.Millisecond), 0, 1, nil); ok {
					in++
				}
			}
			if counts && kind != Fixed && in > 20 || !counts && in < 190 {
				t.Errorf("%v, refused calls count %v: %d of 400 got in", kind, counts, in)
			}
		}
	}
}

// Keys have limits of their own.
func TestLimitByKey(t *testing.T) {
	s := newServer(Upstream{Limit: Limit{Requests: 1}})
	for key := range 2 {
		if wait, _ := s.key(key).take(epoch, 1); wait != 0 {
			t.Errorf("key %d waits %v for what the other used", key, wait)
		}
	}
}
