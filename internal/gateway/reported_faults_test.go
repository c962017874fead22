package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// B051: an upstream that answers after 65 s, where 60 s are allowed, is asked
// once: it may be working on it still.
func TestSilenceIsNotRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := inTurn(then(pause(65*time.Second), events(chunk("a"), finish, done)))
		r := setup(t, timeouts("first_token: 60s")+"retry: {attempts: 4}", up)
		if a := r.ask(chatPath, streamAsk); a.status != 504 || a.took != 60*time.Second || up.count() != 1 {
			t.Errorf("%d after %v and %d calls", a.status, a.took, up.count())
		}
	})
}

// B052: an attempt that timed out is over before the next one begins, and the
// next one is within the budget.
func TestTimedOutAttemptIsCancelledFirst(t *testing.T) {
	long := strings.Replace(streamAsk, "hello", strings.Repeat("word ", 80_000), 1)
	for conf, calls := range map[string]int{"": 1, "retry: {failover: {percent: 0, reserve: 0}}": 0} {
		bubble(t, func(t *testing.T) {
			s := placed(t, plainAnswers("0s- silence"), plainAnswers(""), ", timeouts: {first_token: 2s}", "", conf)
			a := s.ask(chatPath, long)
			if len(s.first.at) != 1 || s.first.took[0] != 2*time.Second || len(s.second.at) != calls || calls > 0 && s.second.at[0] != 2*time.Second {
				t.Errorf("%q: calls at %v for %v, then at %v", conf, s.first.at, s.first.took, s.second.at)
			}
			if want := map[int]int{0: 504, 1: 200}[calls]; a.status != want {
				t.Errorf("%q: %d", conf, a.status)
			}
		})
	}
}

// B058: a caller that times out and comes again does not hold two slots.
func TestRetryOfAnImpatientCallerHoldsOneSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers("0s- late=5s"), plainAnswers("0s- late=5s"), "", "", "")
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			s.askCtx(ctx, chatPath, streamAsk, "X-Stainless-Retry-Count", strconv.Itoa(i))
			cancel()
			synctest.Wait()
		}
		if s.first.most != 1 || len(s.first.at) != 3 || len(s.second.at) != 0 {
			t.Errorf("%d at once of %d calls, %d elsewhere", s.first.most, len(s.first.at), len(s.second.at))
		}
		if d := s.deployment("first"); d.Tally.Left != 3 || d.State.String() != "closed" {
			t.Errorf("%+v", d)
		}
	})
}

// B070, B071, B082: what a provider asks for is kept to the moment: fractions
// of a second, minutes, and the reset of the limit that has nothing left.
func TestPauseIsKept(t *testing.T) {
	for fault, c := range map[string]struct{ pause, gap time.Duration }{
		"429 retry-after=1.5":     {1500 * time.Millisecond, 100 * time.Millisecond},
		"429 retry-after=299.997": {299997 * time.Millisecond, 10 * time.Second},
		"429 remaining-tokens=0 reset-tokens=6m0s remaining-requests=50 reset-requests=1h": {6 * time.Minute, 10 * time.Second},
		"429 remaining-requests=0 reset-requests=12s":                                      {12 * time.Second, 500 * time.Millisecond},
	} {
		t.Run(fault, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := placed(t, plainAnswers("0s-10ms "+fault), plainAnswers(""), "", "", "")
				all := s.every(int(c.pause/c.gap)+10, c.gap)
				if early := s.first.between(1, c.pause); len(early) > 0 {
					t.Errorf("calls within %v: %v", c.pause, early)
				}
				if soon := s.first.between(c.pause, c.pause+2*c.gap); len(soon) == 0 {
					t.Errorf("no call after %v", c.pause)
				}
				for _, a := range all {
					s.told(a)
				}
			})
		})
	}
	for _, odd := range []string{"inf", "nan", "1e10000", "-5"} {
		t.Run(odd, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := placed(t, plainAnswers("0s-10ms 429 retry-after="+odd), plainAnswers(""), "", "", "")
				s.every(10, time.Second)
				if n := len(s.first.between(1, 5*time.Second)); n == 0 {
					t.Error("no call in five seconds")
				}
			})
		})
	}
}

// B077: with two deployments that pause for 8 and 20 s, the wait is that for the
// first of them. Who cannot wait so long is told to come back when the rest of
// it fits, and is then answered.
func TestSoonestRecoveryIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers("0s-10ms 429 retry-after=8"), plainAnswers("0s-10ms 429 retry-after=20"), "", "", "retry: {attempts: 2}")
		s.ask(chatPath, streamAsk, "X-Spillway-Deadline-Ms", "5000")
		a := s.ask(chatPath, streamAsk, "X-Spillway-Deadline-Ms", "5000")
		wait := gjson.Get(a.body, "error.estimated_wait_ms").Int()
		back := time.Duration(gjson.Get(a.body, "error.retry_after_ms").Int()) * time.Millisecond
		if a.status != 429 || wait < 7900 || wait > 8200 || back < 2500*time.Millisecond || back > 6*time.Second {
			t.Errorf("%d %s", a.status, a.body)
		}
		time.Sleep(max(back, 3500*time.Millisecond))
		if a := s.ask(chatPath, streamAsk, "X-Spillway-Deadline-Ms", "5000"); a.status != 200 || s.first.at[1] != 8*time.Second {
			t.Errorf("%d, calls at %v", a.status, s.first.at)
		}
		if len(s.second.at) > 1 {
			t.Errorf("second at %v", s.second.at)
		}
	})
}

// B086: every status of a class goes the way of its class, known or not.
func TestFailoverByClassOfStatus(t *testing.T) {
	for status, over := range map[int]bool{500: true, 502: true, 503: true, 504: true, 520: true, 529: true, 599: true, 408: true, 501: false, 505: false, 404: false, 418: false} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := placed(t, plainAnswers(""), plainAnswers(""), "", "", "")
				s.first.next = fails(status)
				a := s.ask(chatPath, streamAsk)
				if (a.status == 200) != over || len(s.first.at) != 1 || (len(s.second.at) == 1) != over {
					t.Errorf("%d; calls %v, %v", a.status, s.first.at, s.second.at)
				}
			})
		})
	}
}

// B100: figures that say that nothing is known limit nothing.
func TestUnknownLimitsLimitNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers(""), plainAnswers(""), "", "", "")
		s.first.next = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			h := w.Header()
			h.Set("X-Ratelimit-Limit-Tokens", "100000")
			h.Set("X-Ratelimit-Remaining-Tokens", "-1")
			h.Set("X-Ratelimit-Reset-Tokens", "0")
			s.first.mock.ServeHTTP(w, q)
		})
		s.every(100, 50*time.Millisecond)
		if len(s.first.at) != 100 {
			t.Errorf("%d of 100 calls", len(s.first.at))
		}
	})
}

// B117: models that fall back to each other are no loop: a request comes to
// each of them once.
func TestFallbackCycle(t *testing.T) {
	for _, fault := range []string{"429 retry-after=3600", "503", "400", "silence"} {
		t.Run(fault, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := placed(t, plainAnswers("0s- "+fault), plainAnswers("0s- "+fault), ", timeouts: {first_token: 5s}",
					"    fallback: {overloaded: [other], context: [other], error: [other]}\n", "retry: {attempts: 10}")
				conf := s.g.state.Load().config
				conf.Models["other"].Fallback.Overloaded = []string{"chat"}
				conf.Models["other"].Fallback.Context = []string{"chat"}
				conf.Models["other"].Fallback.Error = []string{"chat"}
				if err := s.g.Apply(conf); err != nil {
					t.Fatal(err)
				}
				s.other.next = s.first.mock
				a := s.ask(chatPath, streamAsk, "X-Spillway-Deadline-Ms", "300000")
				if a.status < 400 {
					t.Errorf("%d %s", a.status, a.body)
				}
				if n := len(s.first.at) + len(s.second.at) + len(s.other.at); n > 10 || len(s.other.at) == 0 {
					t.Errorf("calls %v, %v, %v", s.first.at, s.second.at, s.other.at)
				}
				if n := len(s.first.at) + len(s.second.at); n != 2 && fault != "400" && fault != "503" { // the latter after pauses
					t.Errorf("calls %v, %v: want each once", s.first.at, s.second.at)
				}
				last := time.Duration(0) // of the model the request began with
				for _, at := range append(append([]time.Duration{}, s.first.at...), s.second.at...) {
					last = max(last, at)
				}
				if len(s.other.at) > 0 && last > s.other.at[0] {
					t.Errorf("it came back: %v, %v, %v", s.first.at, s.second.at, s.other.at)
				}
			})
		})
	}
}

// B119: after its cooldown a failing deployment is tried by one request at a
// time, which then goes on elsewhere.
func TestBoundedTrialAfterCooldown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers("0s- 503"), plainAnswers(""), "", "    breaker: {cooldown: 1s, cooldown_max: 1s}\n", "")
		s.first.delay = 50 * time.Millisecond
		all := s.every(300, 50*time.Millisecond)
		for _, a := range all {
			if w := s.told(a); w != "200, complete, by the second" {
				t.Error(w)
			}
		}
		trials := s.first.between(2*time.Second, time.Hour)
		for i, at := range trials {
			if i > 0 && at-trials[i-1] < time.Second {
				t.Errorf("trials at %v and %v", trials[i-1], at)
			}
		}
		if n := len(trials); n < 8 || n > 13 {
			t.Errorf("%d trials in 13 s", n)
		}
	})
}

// B120: a deployment that answers 429 for good is left alone for as long as it
// says; where it says nothing it is paced, and nobody waits for it.
func TestWeightedDeploymentIsLimited(t *testing.T) {
	for header, most := range map[string]int{" retry-after=15": 14, "": 40} {
		bubble(t, func(t *testing.T) {
			s := placed(t, plainAnswers("0s- 429"+header), plainAnswers(""), "", oneTier, "")
			s.every(40, 5*time.Second)
			if n := len(s.first.at); n > most || len(s.second.at) != 40 {
				t.Errorf("%q: %d calls, want at most %d; %d answers", header, n, most, len(s.second.at))
			}
			for i, at := range s.first.at {
				if header != "" && i > 0 && at-s.first.at[i-1] < 15*time.Second {
					t.Errorf("asked at %v and %v", s.first.at[i-1], at)
				}
			}
		})
	}
}

// B122, B123: callers with a deadline that no answer can meet, and callers who
// leave in the midst of one, say nothing of the deployment.
func TestImpatientCallersOpenNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers(""), plainAnswers(""), "", "", "")
		for _, header := range []string{"X-Litellm-Timeout", "X-Stainless-Timeout"} {
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				s.askCtx(ctx, chatPath, streamAsk, header, "0.1")
				cancel()
				synctest.Wait()
			}
		}
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond) // twenty tokens later
			s.askCtx(ctx, chatPath, streamAsk)
			cancel()
			synctest.Wait()
		}
		d := s.deployment("first")
		if d.State.String() != "closed" || d.Share != 1 || d.Tally.Left < 60 || d.Tally.Faults != [admit.NumFaults]int64{} {
			t.Errorf("%+v", d)
		}
		if w := s.told(s.ask(chatPath, streamAsk)); w != "200, complete, by the first" {
			t.Error(w)
		}
	})
}

// B125: a cooldown that ends under a crowd, with an upstream that hangs, costs
// one call at a time; afterwards the traffic comes back by steps.
func TestCrowdAfterCooldown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers("0s-1s 503; 1s-30s silence"), plainAnswers("0s- 503"), ", timeouts: {first_token: 3s}", oneTier, "retry: {attempts: 1}")
		var crowd []<-chan answer
		for range 60 { // opens both; some of them may wait for what comes after
			crowd = append(crowd, s.background(t.Context(), chatPath, streamAsk))
		}
		time.Sleep(time.Second - time.Since(s.first.begin))
		if a, b := s.deployment("first"), s.deployment("second"); a.State.String() == "closed" || b.State.String() == "closed" {
			t.Fatalf("%v and %v", a.State, b.State)
		}
		counts, most := map[int]int{}, 0
		for now := time.Second; now < 90*time.Second; now += 100 * time.Millisecond {
			for range 5 { // fifty a second
				crowd = append(crowd, s.background(t.Context(), chatPath, streamAsk))
			}
			time.Sleep(100 * time.Millisecond)
			s.first.mu.Lock()
			if now < 30*time.Second {
				most = max(most, s.first.open)
			}
			s.first.mu.Unlock()
		}
		for _, c := range crowd {
			a := <-c
			counts[a.status]++
		}
		probes := s.first.between(time.Second, 30*time.Second)
		if most != 1 || len(probes) < 3 || len(probes) > 12 {
			t.Errorf("%d calls at once while it hangs; probes at %v", most, probes)
		}
		if d := s.deployment("first"); d.State.String() != "closed" || counts[200] < 500 {
			t.Errorf("%v; %v", d.State, counts)
		}
		back := s.first.between(30*time.Second, 90*time.Second)[0]
		if n := len(s.first.between(back, back+2*time.Second)); n > 16 {
			t.Errorf("%d calls in the first two seconds", n)
		}
	})
}

// B126: nothing listens at the first deployment. No caller notices, and after
// four refused connections in a row it is left alone.
func TestRefusedConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers(""), plainAnswers(""), "", "", "")
		s.net.mu.Lock()
		delete(s.net.hosts, upstreamAddr)
		s.net.mu.Unlock()
		for _, a := range s.every(50, 200*time.Millisecond) {
			if w := s.told(a); w != "200, complete, by the second" || a.took > 1500*time.Millisecond {
				t.Errorf("%s after %v", w, a.took)
			}
		}
		if d := s.deployment("first"); d.Tally.Sent != 4 || d.State.String() != "open" {
			t.Errorf("%d calls, %v", d.Tally.Sent, d.State)
		}
	})
}
