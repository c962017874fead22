package breaker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// provider is a limit as a provider may keep it.
type provider struct {
	kind   string // rolling, bucket, fixed
	limit  float64
	span   time.Duration
	window *meter.Window
	level  float64
	at     time.Time
	used   float64
}

func (p *provider) set(limit float64) {
	p.limit = limit
	if p.window == nil {
		p.window = meter.NewWindow(int64(limit), p.span)
		p.level = limit
	}
	p.window.SetLimit(int64(limit))
}

func (p *provider) take(now time.Time) (ok bool, t Told) {
	switch p.kind {
	case "rolling":
		if ok = p.window.Fits(now, 1); ok {
			p.window.Reserve(now, 1)
		}
		return ok, Told{int64(p.limit), max(int64(p.limit)-p.window.Used(now), 0), p.window.Empty(now)}
	case "bucket":
		if !p.at.IsZero() {
			p.level = min(p.limit, p.level+p.limit*now.Sub(p.at).Seconds()/p.span.Seconds())
		}
		p.at = now
		if ok = p.level >= 1; ok {
			p.level--
		}
		return ok, Told{int64(p.limit), int64(p.level), time.Duration((p.limit - p.level) / p.limit * float64(p.span))}
	}
	begin := now.Truncate(p.span)
	if begin != p.at {
		p.at, p.used = begin, 0
	}
	if ok = p.used < p.limit; ok {
		p.used++
	}
	return ok, Told{int64(p.limit), int64(p.limit - p.used), begin.Add(p.span).Sub(now)}
}

// TestPace: a limit that halves for a minute and comes back, with more demand
// than it lets through, whatever the provider tells.
func TestPace(t *testing.T) {
	for _, kind := range []string{"rolling", "bucket", "fixed"} {
		for _, span := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
			for _, tells := range []string{"headers", "retry-after", "nothing"} {
				t.Run(fmt.Sprint(kind, span, tells), func(t *testing.T) {
					pace(t, kind, span, tells)
				})
			}
		}
	}
}

func pace(t *testing.T, kind string, span time.Duration, tells string) {
	perSecond := 10.0
	full := perSecond * span.Seconds()
	up := &provider{kind: kind, span: span}
	up.set(full)
	var p Pacer
	rng := rand.New(rand.NewPCG(1, 2))
	now, pausedUntil := t0, time.Time{}
	var sends, limited, good [600]int
	type answer struct {
		at time.Time
		ok bool
		t  Told
	}
	var due []answer
	next := now
	for sec := 0; sec < 600; {
		now = now.Add(time.Millisecond)
		sec = int(now.Sub(t0) / time.Second)
		if sec >= 600 {
			break
		}
		switch {
		case sec == 200 && up.limit == full:
			up.set(full / 2)
		case sec == 400 && up.limit < full:
			up.set(full)
		}
		for len(due) > 0 && !now.Before(due[0].at) {
			a := due[0]
			due = due[1:]
			if tells == "headers" {
				p.Hear(now, a.t)
			}
			if !a.ok {
				if tells == "retry-after" {
					w := up.window.Wait(now, 1)
					if kind != "rolling" {
						w = a.t.Reset / 4
					}
					w = max(w, 100*time.Millisecond)
					pausedUntil = later(pausedUntil, now.Add(w))
					p.Refused(now, 1, now.Add(w))
				} else {
					p.Refused(now, 1, time.Time{})
				}
			}
		}
		for !now.Before(next) && !now.Before(pausedUntil) && p.Wait(now, 1) == 0 {
			p.Take(now, 1)
			ok, told := up.take(now)
			sends[sec]++
			if ok {
				good[sec]++
			} else {
				limited[sec]++
			}
			due = append(due, answer{now.Add(50 * time.Millisecond), ok, told})
			next = next.Add(time.Duration(rng.ExpFloat64() * float64(time.Second) / (1.5 * perSecond)))
			if next.Before(now.Add(-time.Second)) {
				next = now.Add(-time.Second) // what waits longer gives up
			}
		}
	}
	share := func(from, to int) (limit, use float64) {
		s, l, g := 0, 0, 0
		for i := from; i < to; i++ {
			s, l, g = s+sends[i], l+limited[i], g+good[i]
		}
		return float64(l) / float64(max(s, 1)), float64(g) / float64(to-from)
	}
	l1, u1 := share(60, 200)
	l2, u2 := share(260, 400)
	l3, _ := share(0, 600)
	recovered := -1
	for s := 400; s < 590; s++ {
		if _, u := share(s, s+10); u >= 0.95*perSecond {
			recovered = s - 400
			break
		}
	}
	t.Logf("full: 429 %.2f %%, used %.1f %%; half: 429 %.2f %%, used %.1f %%; over all 429 %.2f %%; back in %d s",
		100*l1, 100*u1/perSecond, 100*l2, 200*u2/perSecond, 100*l3, recovered)
	switch {
	case tells == "headers" && (l3 > 0.01 || u1 < 0.95*perSecond || u2 < 0.475*perSecond):
		t.Error("with headers: want at most 1 % of 429 and 95 % used")
	case kind == "bucket" && (l3 > 0.03 || u1 < 0.97*perSecond || u2 < 0.48*perSecond):
		t.Error("a bucket: want at most 3 % of 429 and 97 % used")
	case (kind == "bucket" || tells == "headers") && (recovered < 0 || recovered > 15):
		t.Error("want 95 % of the limit within 15 s of its return")
	}
}

// TestPacerConfigured: a limit that is known is never exceeded in any minute,
// estimates are settled, and an amount above the burst passes with a debt.
func TestPacerConfigured(t *testing.T) {
	var p Pacer
	p.Configure(600)
	sent := meter.NewWindow(1<<40, time.Minute)
	most := int64(0)
	for now := t0; now.Before(t0.Add(5 * time.Minute)); now = now.Add(7 * time.Millisecond) {
		if p.Wait(now, 1) == 0 {
			p.Take(now, 1)
			sent.Reserve(now, 1)
		}
		most = max(most, sent.Used(now))
	}
	if most > 600 || most < 590 {
		t.Errorf("%d in a minute, the limit is 600", most)
	}

	var tokens Pacer
	tokens.Configure(6000)
	now := t0
	if w := tokens.Wait(now, 3000); w != 0 {
		t.Errorf("a first large amount waits %v", w)
	}
	tokens.Take(now, 3000)
	if w := tokens.Wait(now, 10); w < 29*time.Second || w > 31*time.Second {
		t.Errorf("after half a minute's tokens the next waits %v, want about 30 s", w)
	}
	tokens.Settle(now, 3000, 1000)
	if w := tokens.Wait(now, 10); w < 9*time.Second || w > 11*time.Second {
		t.Errorf("settled at a sixth of a minute's tokens the next waits %v, want about 10 s", w)
	}
}

// TestPacerGarbage: whatever is told, the pace is a number and never stands for good.
func TestPacerGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var p Pacer
	now := t0
	for range 20000 {
		now = now.Add(time.Duration(rng.Int64N(int64(3*time.Second)) - int64(time.Second)))
		switch rng.IntN(5) {
		case 0:
			p.Hear(now, Told{rng.Int64N(1000) - 100, rng.Int64N(2000) - 500, time.Duration(rng.Int64N(int64(time.Minute)) - int64(time.Second))})
		case 1:
			p.Refused(now, rng.Int64N(5), now.Add(time.Duration(rng.Int64N(int64(5*time.Second)))))
		case 2:
			p.Configure(rng.Int64N(3) * 600)
		default:
			p.Take(now, rng.Int64N(20))
		}
		if r := p.Rate(now); r != r || r < 0 {
			t.Fatalf("rate %v", r)
		}
		if w := p.Wait(now, 1); w < 0 || w > 10*time.Minute {
			t.Fatalf("wait %v with %+v", w, p)
		}
	}
}
