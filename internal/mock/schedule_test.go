package mock

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

func TestParseSchedule(t *testing.T) {
	got, err := parseSchedule("20s-40s brownout=3; 50s-55s  outage;1m- 429 retry-after=7 p=0.25; ")
	want := []rule{
		{20 * time.Second, 40 * time.Second, 1, true, injection{fault: Brownout, arg: 3}},
		{50 * time.Second, 55 * time.Second, 1, true, injection{fault: Outage}},
		{time.Minute, forever, 0.25, true, injection{fault: RateLimited, retryAfter: "7"}},
	}
	if err != nil || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%+v, %v", got, err)
	}
	for _, test := range []struct{ text, want string }{
		{"outage", `schedule: "outage": a window such as 20s-40s comes first`},
		{"20-40s outage", `begin "20": a duration such as 20s is needed`},
		{"20s-40 outage", `end "40": a duration such as 40s is needed, or nothing for no end`},
		{"40s-20s outage", "the window ends at 20s, not after its begin 40s"},
		{"20s-20s outage", "not after its begin"},
		{"20s-40s", "no fault named; known: 400"},
		{"20s-40s flood", `unknown fault "flood"; known: 400`},
		{"20s-40s 429 p=2", `probability "2": a number from 0 to 1 is needed`},
		{"20s-40s brownout=3 p=0.5", "a brownout slows the whole server and takes no p"},
		{"20s-40s outage 5", `fault outage: unknown parameter "5"`},
		{"1s-2s outage; x", `schedule: "x"`},
	} {
		if _, err := parseSchedule(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestParseFaults(t *testing.T) {
	got, err := parseFaults("429;retry-after=7=0.1, late=3s=0.05,reset=0")
	want := []rule{
		{0, forever, 0.1, false, injection{fault: RateLimited, retryAfter: "7"}},
		{0, forever, 0.05, false, injection{fault: Late, arg: 3}},
		{0, forever, 0, false, injection{fault: Reset}},
	}
	if err != nil || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%+v, %v", got, err)
	}
	for _, test := range []struct{ text, want string }{
		{"429", `faults: "429" has no probability; write it as 429=0.1`},
		{"429=often", `faults: "429=often": probability "often": a number from 0 to 1`},
		{"429=1.1", "a number from 0 to 1"},
		{"429=NaN", "a number from 0 to 1"},
		{"flood=0.1", `unknown fault "flood"; known: 400`},
		{"429=0.6,500=0.6", "the probabilities add up to 1.2: at most 1"},
	} {
		if _, err := parseFaults(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

// A brownout stretches what is under way, and its end speeds it up again.
func TestScheduledBrownout(t *testing.T) {
	for _, body := range []string{plainAsk, streamed} {
		synctest.Test(t, func(t *testing.T) {
			settings := constant()
			settings.Schedule = "500ms-2s brownout=3; 1s-1250ms brownout=2"
			s := setup(t, settings)
			factors := map[time.Duration]float64{}
			var wg sync.WaitGroup
			wg.Go(func() {
				for _, at := range []time.Duration{400, 900, 1100, 1500, 2100} {
					time.Sleep(at*time.Millisecond - s.since())
					factors[at] = s.Stats().Brownout
				}
			})
			// Work: 0.5 s until 0.5 s, a third of 0.5 s until 1 s, a sixth of 0.25 s
			// until 1.25 s, and 0.75 s at a third until 2 s make 0.958.
			p := askChat(s, body)
			near(t, "the end", p.end.Seconds(), 2+1-(0.5+0.5/3+0.25/6+0.75/3), 1e-6)
			if got := gjson.GetBytes(p.body, "mock.service_s"); body == plainAsk {
				near(t, "service_s", got.Float(), p.end.Seconds(), 1e-3)
			}
			wg.Wait()
			for at, want := range map[time.Duration]float64{400: 1, 900: 3, 1100: 6, 1500: 3, 2100: 1} {
				if factors[at] != want {
					t.Errorf("brownout at %d ms is %v, want %v", at, factors[at], want)
				}
			}
		})
	}
}

func (s *Server) since() time.Duration { return time.Since(s.started) }

func TestScheduledFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, Settings{ServiceMean: time.Millisecond, Schedule: "1s-2s outage; 3s-4s 429 retry-after=7; 5s-6s outage", Seed: 1})
		for _, test := range []struct {
			at     time.Duration
			down   bool
			status int
		}{
			{0, false, 200}, {1100, true, 0}, {2100, false, 200}, {3100, false, 429}, {4100, false, 200}, {5100, true, 0}, {6100, false, 200},
		} {
			time.Sleep(test.at*time.Millisecond - s.since())
			p := askChat(s, plainAsk)
			if p.aborted != test.down || p.status != test.status {
				t.Errorf("at %d ms: aborted %v, status %d", test.at, p.aborted, p.status)
			}
			if test.status == 429 && p.header.Get("Retry-After") != "7" {
				t.Errorf("headers %v", p.header)
			}
			for _, path := range []string{"/healthz", "/v1/models"} {
				if p := ask(t.Context(), s, "GET", path, ""); p.aborted != test.down {
					t.Errorf("at %d ms: %s aborted %v", test.at, path, p.aborted)
				}
			}
			if p := ask(t.Context(), s, "GET", "/stats", ""); p.status != 200 {
				t.Errorf("at %d ms: /stats is down", test.at)
			}
		}
	})
}

func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		post := func(body string) *tape { return ask(t.Context(), s, "POST", "/control", body) }
		go func() {
			time.Sleep(500 * time.Millisecond)
			post(`{"brownout":3}`)
		}()
		near(t, "the end", askChat(s, plainAsk).end.Seconds(), 0.5+1.5, 1e-6)
		if got := s.Stats().Brownout; got != 3 {
			t.Errorf("brownout %v", got)
		}
		post(`{"brownout":1,"service_mean":"100ms"}`)
		near(t, "the end", askChat(s, plainAsk).end.Seconds(), 0.1, 1e-6)

		post(`{"schedule":"1s-2s 500"}`) // counts from now
		if p := askChat(s, plainAsk); p.status != 200 {
			t.Errorf("before the window: %d", p.status)
		}
		time.Sleep(time.Second)
		if p := askChat(s, plainAsk); p.status != 500 {
			t.Errorf("inside the window: %d", p.status)
		}
		p := post(`{"schedule":"","faults":"503=1"}`)
		if gjson.GetBytes(p.body, "faults").Str != "503=1" || gjson.GetBytes(p.body, "service_mean").Str != "100ms" {
			t.Errorf("state %s", p.body)
		}
		if p := askChat(s, plainAsk); p.status != 503 {
			t.Errorf("status %d, want 503", p.status)
		}
		for _, body := range []string{`{"faults":"flood=1"}`, `{"brownout":0}`, `{"service_mean":"soon"}`, `{"noise":9}`, `{"output_mean":-1}`, `{"speed":1}`, `[`, `{"brownout":2,"faults":"429"}`} {
			if p := post(body); p.status != 400 || !strings.HasPrefix(gjson.GetBytes(p.body, "error.message").Str, "Nothing was changed: ") {
				t.Errorf("%s: %d %s", body, p.status, p.body)
			}
		}
		if p := post(""); p.status != 200 || gjson.GetBytes(p.body, "faults").Str != "503=1" || gjson.GetBytes(p.body, "brownout").Float() != 1 {
			t.Errorf("state %d %s", p.status, p.body)
		}
	})
}
