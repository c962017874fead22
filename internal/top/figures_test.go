package top

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
)

func TestFigures(t *testing.T) {
	for s, want := range map[float64]string{
		0: "-", -1: "-", 0.0001: "1ms", 0.04: "40ms", 0.9999: "999ms", 1: "1.0s", 9.94: "9.9s", 9.96: "10s", 99.4: "99s", 100: "1m40s", 5999: "99m59s",
		6000: "1h40m", 172799: "48h00m", 172800: "2d", 1e15: "53375d", math.Inf(1): "53375d", math.NaN(): "-",
	} {
		if got := seconds(s); got != want {
			t.Errorf("%v s: %s, want %s", s, got, want)
		}
	}
	for r, want := range map[float64]string{0: "-", 0.04: "0.0", 0.3: "0.3", 9.94: "9.9", 12.4: "12", 12345: "12345"} {
		if got := rate(r); got != want {
			t.Errorf("%v/s: %s, want %s", r, got, want)
		}
	}
	if a, b := money(49.999), money(12000); a != "$50.00" || b != "$12000" {
		t.Error(a, b)
	}
}

func TestCurve(t *testing.T) {
	for _, tt := range []struct {
		figures []float64
		want    string
	}{
		{nil, "    "},
		{[]float64{0, 0}, "  ▁▁"},
		{[]float64{0, 1, 100}, " ▁▂█"}, // what is above nothing is seen
		{[]float64{9, 9, 1, 2, 3, 4}, "▃▅▆█"},
	} {
		if got := curve(tt.figures, 4); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.figures, got, tt.want)
		}
	}
}

// Who looks at a gateway in trouble reads the worst of it first.
func TestHealth(t *testing.T) {
	s := idle()
	p := s.picture
	says := func(want string) {
		t.Helper()
		if got := health(p, t0)[0].text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says("all is well: slots are free, and nobody waits")
	p.Models[0].Running = 4
	says("all is well: every slot is in use, and nobody waits")
	p.Models[0].Classes[0].Waiting, p.Models[0].Classes[0].Wait = 3, 0.5
	p.Lanes = []gateway.LanePicture{{Tenant: "shop", Waiting: 2, Wait: 0.6}, {Tenant: "light", Waiting: 1, Wait: 0.5}}
	says("all is well: 3 wait, at most 600ms by prediction")
	p.Second.Started, p.Second.Wait, p.Second.Foretold = 2, 5, 1
	says("waits are 5.0s, and 1.0s were predicted")
	p.Budgets = busy().picture.Budgets
	p.Budgets[0].Alarm = "exhausted"
	says("budget tenant tenant-007 day is exhausted: what does not fit is refused")
	p.Models[0].Classes[0].High = 0.4
	says("model chat, held back: interactive (predicted wait 500ms, above 400ms)")
	p.Upstream[0].Usable = 0
	says("model chat: no upstream is left")
	p.Draining = true
	says("it is draining: new requests are refused")
}

// An upstream's keys count as much as its breaker.
func TestTrusted(t *testing.T) {
	s := busy()
	u := &s.picture.Upstream[0]
	later, before := t0.Add(time.Minute), t0.Add(-time.Minute)
	says := func(want string) {
		t.Helper()
		if got := trusted(u, t0).text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	u.Keys = make([]gateway.KeyReport, 2)
	says("closed")
	u.Keys[0].Paused = &later
	says("closed")
	u.Keys[1].Paused = &later
	says("paused by its limits")
	u.Keys[1].Refused = &later
	says("1 of 2 keys refused")
	u.Keys[1].Refused, u.Keys[1].Paused = &before, &before // it is over
	u.Breaker.Warned = true
	says("closed, slow")
	u.Slower = 2.6
	says("closed, takes 2.6 times as long as others")
	u.Breaker.Share = 0.8
	says("closed, fails too often")
	u.Breaker.State = "half_open"
	says("half open")
	u.State = "drained"
	says("drained")
}
