package mock

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

func TestParseInjection(t *testing.T) {
	for _, test := range []struct {
		text string
		want injection
		err  string
	}{
		{text: "429", want: injection{fault: RateLimited}},
		{text: "429;retry-after=7", want: injection{fault: RateLimited, retryAfter: "7"}},
		{text: "429;retry-after=1.5;retry-after-ms=1500;should-retry=false", want: injection{fault: RateLimited, retryAfter: "1.5", retryAfterMS: "1500", shouldRetry: "false"}},
		{text: "429;remaining-tokens=0;reset-tokens=6m0s", want: injection{fault: RateLimited, remainingTokens: "0", resetTokens: "6m0s"}},
		{text: "503 retry-after=9", want: injection{fault: Unavailable, retryAfter: "9"}},
		{text: " Late ", want: injection{fault: Late, arg: 3}},
		{text: "late=250ms", want: injection{fault: Late, arg: 0.25}},
		{text: "cut=0", want: injection{fault: Cut}},
		{text: "brownout=1.5", want: injection{fault: Brownout, arg: 1.5}},
		{text: "", err: "no fault named; known: 400, 401, 429"},
		{text: "explode", err: `unknown fault "explode"; known: 400, 401, 429`},
		{text: "none", err: `unknown fault "none"`},
		{text: "late=soon", err: "fault late=soon: a duration such as 3s is needed"},
		{text: "late=-1s", err: "fault late=-1s: a duration"},
		{text: "cut=x", err: "fault cut=x: a whole number"},
		{text: "slow=0", err: "fault slow=0: a factor from 0.001"},
		{text: "slow=NaN", err: "fault slow=NaN: a factor"},
		{text: "reset=3", err: `fault reset takes no argument, got "3"`},
		{text: "reset;retry-after=3", err: `fault reset: unknown parameter "retry-after=3"`},
		{text: "429;later=3", err: `fault 429: unknown parameter "later=3"`},
	} {
		got, err := parseInjection(test.text)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: error %v, want %q", test.text, err, test.err)
			}
		} else if err != nil || got != test.want {
			t.Errorf("%q: %+v, %v; want %+v", test.text, got, err, test.want)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add("429=0.1,late=3s=0.05")
	f.Add("20s-40s brownout=3; 50s- 429 retry-after=7 p=0.5")
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) ([]rule, error){parseFaults, parseSchedule} {
			rules, err := parse(text)
			for _, r := range rules {
				if err != nil || r.injection.fault == NoFault || r.p < 0 || r.p > 1 || r.from >= r.to {
					t.Fatalf("%q: %+v, %v", text, r, err)
				}
			}
		}
	})
}

// Every fault shows, asked for in the header or in the body, streamed or not.
func TestEveryFaultShows(t *testing.T) {
	const total = 200 * time.Millisecond // of a request without a fault: 3 tokens, 9 bytes or more each
	sse := func(p *tape) bool { return strings.HasPrefix(p.header.Get("Content-Type"), "text/event-stream") }
	valid := func(p *tape) bool { return json.Valid(p.body) }
	status := func(want int, code string) func(*tape) bool {
		return func(p *tape) bool {
			return p.status == want && p.end == 0 && gjson.GetBytes(p.body, "error.code").Str == code && gjson.GetBytes(p.body, "error.param").Raw == "null"
		}
	}
	nothing := func(after time.Duration) func(*tape) bool {
		return func(p *tape) bool { return p.aborted && len(p.body) == 0 && p.status == 0 && p.end == after }
	}
	about := func(got, want time.Duration) bool { return (got - want).Abs() < time.Microsecond }
	checks := map[Fault]struct {
		text          string
		stream, plain func(*tape) bool
	}{
		BadRequest:     {"400", status(400, "context_length_exceeded"), status(400, "context_length_exceeded")},
		Unauthorized:   {"401", status(401, "invalid_api_key"), status(401, "invalid_api_key")},
		RateLimited:    {"429", status(429, "rate_limit_exceeded"), status(429, "rate_limit_exceeded")},
		ServerError:    {"500", status(500, "internal_error"), status(500, "internal_error")},
		BadGateway:     {"502", status(502, "bad_gateway"), status(502, "bad_gateway")},
		Unavailable:    {"503", status(503, "server_is_overloaded"), status(503, "server_is_overloaded")},
		GatewayTimeout: {"504", status(504, "timeout"), status(504, "timeout")},
		Overloaded:     {"529", status(529, "overloaded"), status(529, "overloaded")},
		NoMemory:       {"oom", status(500, "internal_error"), status(500, "internal_error")},
		Filtered:       {"filter", status(400, "content_filter"), status(400, "content_filter")},
		Unpaid:         {"unpaid", status(429, "insufficient_quota"), status(429, "insufficient_quota")},
		Reset:          {"reset", nothing(0), nothing(0)},
		Outage:         {"outage", nothing(0), nothing(0)},
		Silence:        {"silence", nothing(patience), nothing(patience)},
		HTML: {"html",
			func(p *tape) bool {
				return p.status == 200 && strings.HasPrefix(p.header.Get("Content-Type"), "text/html")
			},
			func(p *tape) bool { return p.status == 200 && !valid(p) && len(p.body) > 0 }},
		Empty: {"empty",
			func(p *tape) bool { return p.status == 200 && len(p.body) == 0 && !p.aborted },
			func(p *tape) bool { return p.status == 200 && len(p.body) == 0 && !p.aborted }},
		Late: {"late=5s",
			func(p *tape) bool {
				return about(p.flushes[0].at, total/5+5*time.Second) && about(p.end, total+5*time.Second)
			},
			func(p *tape) bool { return about(p.end, total+5*time.Second) }},
		Slow: {"slow=4",
			func(p *tape) bool { return about(p.flushes[0].at, 4*total/5) && about(p.end, 4*total) },
			func(p *tape) bool { return about(p.end, 4*total) }},
		Brownout: {"brownout=2",
			func(p *tape) bool { return about(p.end, 2*total) },
			func(p *tape) bool { return about(p.end, 2*total) }},
		Cut: {"cut=3",
			func(p *tape) bool {
				return p.aborted && len(p.events()) == 3 && bytes.HasSuffix(p.body, []byte("\n\n"))
			},
			func(p *tape) bool { return p.aborted && len(p.body) > 100 && !valid(p) }},
		Stall: {"stall=3",
			func(p *tape) bool { return p.aborted && len(p.events()) == 3 && p.end > patience },
			func(p *tape) bool { return p.aborted && !valid(p) && p.end > patience }},
		Malformed: {"malformed=2",
			func(p *tape) bool {
				e := p.events()
				return !p.aborted && !json.Valid([]byte(e[2])) && json.Valid([]byte(e[3])) && e[len(e)-1] == "[DONE]"
			},
			func(p *tape) bool { return !p.aborted && !valid(p) && len(p.body) > 100 }},
		ErrorEvent: {"error-event=2",
			func(p *tape) bool {
				e := p.events()
				return p.status == 200 && len(e) == 3 && gjson.Get(e[2], "error.type").Str == "server_error" && !p.aborted
			},
			func(p *tape) bool {
				return p.status == 200 && gjson.GetBytes(p.body, "error.type").Str == "server_error"
			}},
		NoDone: {"no-done",
			func(p *tape) bool {
				return !strings.Contains(string(p.body), "[DONE]") && strings.Contains(string(p.body), `"stop"`)
			},
			valid},
		NoFinish: {"no-finish",
			func(p *tape) bool {
				return strings.Contains(string(p.body), "[DONE]") && !strings.Contains(string(p.body), `"stop"`)
			},
			func(p *tape) bool { return valid(p) && gjson.GetBytes(p.body, "choices.0.finish_reason").Raw == "null" }},
		CRLF: {"crlf", // as in B003
			func(p *tape) bool { return strings.Count(string(p.body), "\r\n\r\n") == len(p.events()) },
			valid},
		Comments: {"comments", // as in B007
			func(p *tape) bool {
				return strings.Count(string(p.body), ": PROCESSING\n\n") == len(p.events()) && len(p.events()) == 6
			},
			valid},
		Gzip: {"gzip", // as in B136: a flush per event
			func(p *tape) bool {
				z, err := gzip.NewReader(bytes.NewReader(p.body))
				text, err2 := io.ReadAll(z)
				return err == nil && err2 == nil && strings.HasSuffix(string(text), "[DONE]\n\n") && p.header.Get("Content-Encoding") == "gzip" && len(p.flushes) == 3
			},
			func(p *tape) bool {
				z, err := gzip.NewReader(bytes.NewReader(p.body))
				text, err2 := io.ReadAll(z)
				return err == nil && err2 == nil && json.Valid(text) && p.header.Get("Content-Length") == ""
			}},
		Bytewise: {"bytewise", // as in B001
			func(p *tape) bool { return len(p.flushes) >= len(p.body) },
			func(p *tape) bool { return valid(p) && len(p.flushes) == len(p.body) }},
		Big: {"big=70000", // as in B017
			func(p *tape) bool { return len(p.events()[1]) > 70000 && len(p.events()[2]) < 1000 },
			func(p *tape) bool { return valid(p) && len(p.body) > 70000 }},
	}
	for f := NoFault + 1; f < faultCount; f++ {
		test, ok := checks[f]
		if !ok {
			t.Errorf("fault %s is not tested", f)
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, Settings{ServiceMean: total, Noise: new(0.0), OutputMean: 3})
				show := func(p *tape) string {
					return string(p.body[:min(len(p.body), 2000)])
				}
				if p := askChat(s, streamed, FaultHeader, test.text); !test.stream(p) {
					t.Errorf("streamed: %d, aborted %v, end %v, %v\n%s", p.status, p.aborted, p.end, p.header, show(p))
				} else if len(p.body) > 0 && p.status == 200 && f != HTML && !sse(p) {
					t.Errorf("streamed: %v", p.header)
				}
				inBody := strings.Replace(plainAsk, "{", `{"metadata":{"mock_fault":"`+test.text+`"},`, 1)
				if p := askChat(s, inBody); !test.plain(p) {
					t.Errorf("not streamed: %d, aborted %v, end %v, %v\n%s", p.status, p.aborted, p.end, p.header, show(p))
				}
				st := s.Stats()
				if st.Faulted != 2 || st.Inflight != 0 {
					t.Errorf("stats %+v", st)
				}
				if takesNoSlot := faultTable[f].status != 0 || f == Reset || f == Outage || f == Silence || f == HTML || f == Empty; takesNoSlot != (st.Started == 0) {
					t.Errorf("stats %+v", st)
				}
				if p := askChat(s, streamed); p.aborted || len(p.events()) != 6 || !about(p.end, total) {
					t.Errorf("the next request, without a fault: %s", show(p))
				}
			})
		})
	}
}

// A limit that is exhausted is told in a provider's headers, and memory that is
// in the words of an engine.
func TestFaultsOfLimits(t *testing.T) {
	s := setup(t, Settings{RateLimitHeaders: true})
	p := askChat(s, plainAsk, FaultHeader, "429;remaining-requests=0;reset-requests=2s;remaining-tokens=-1;reset-tokens=0")
	for name, want := range map[string]string{"Remaining-Requests": "0", "Reset-Requests": "2s", "Remaining-Tokens": "-1", "Reset-Tokens": "0"} {
		if got := p.header.Get("X-Ratelimit-" + name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if p := askChat(s, plainAsk, FaultHeader, "oom"); !bytes.Contains(p.body, []byte("CUDA out of memory")) {
		t.Errorf("%s", p.body)
	}
}

func TestRetryAfterIsSentAsGiven(t *testing.T) { // B070, B071, B074: whole, fractional, past and senseless values
	s := setup(t, Settings{})
	for _, value := range []string{"7", "1.5", "299.997", "0", "-3", "soon"} {
		p := askChat(s, plainAsk, FaultHeader, "429;retry-after="+value+";should-retry=false")
		if p.header.Get("Retry-After") != value || p.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: headers %v", value, p.header)
		}
	}
	if p := askChat(s, plainAsk, FaultHeader, "429"); p.header.Values("Retry-After") != nil {
		t.Errorf("headers %v", p.header)
	}
}

func TestUnknownFaultIsRefused(t *testing.T) {
	s := setup(t, Settings{})
	p := askChat(s, plainAsk, FaultHeader, "explode")
	if p.status != 400 || !strings.Contains(gjson.GetBytes(p.body, "error.message").Str, `unknown fault "explode"; known: 400, `) {
		t.Errorf("%d %s", p.status, p.body)
	}
}

// Silence and stalls end with their caller (B034, B041, B042).
func TestSilenceEndsWithTheCaller(t *testing.T) {
	for _, fault := range []string{"silence", "stall=2", "late=1h"} {
		synctest.Test(t, func(t *testing.T) {
			s := setup(t, constant())
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			p := ask(ctx, s, "POST", chatPath, streamed, FaultHeader, fault)
			if p.end != 3*time.Second || s.Stats().Inflight != 0 {
				t.Errorf("%s: ended after %v, %+v", fault, p.end, s.Stats())
			}
		})
	}
}

func TestFaultShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, Settings{Slots: 1000, ServiceMean: time.Millisecond, Faults: "429=0.1, 500=0.05, slow=2=0.2", Seed: 4})
		const n = 4000
		count := map[int]int{}
		for range n {
			count[askChat(s, plainAsk).status]++
		}
		near(t, "share of 429", float64(count[429])/n, 0.1, 0.02)
		near(t, "share of 500", float64(count[500])/n, 0.05, 0.015)
		near(t, "share of faults", float64(s.Stats().Faulted)/n, 0.35, 0.03)
	})
}
