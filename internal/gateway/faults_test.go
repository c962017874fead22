package gateway

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

var update = flag.Bool("update", false, "write the table of faults into docs/upstreams.md")

// seen is what callers and both upstreams saw of a fault. Empty words of an
// upstream stand for its calls.
type seen struct {
	*site
	callers, first, second string
}

// faultCase is one way in which the first of two deployments fails.
type faultCase struct {
	id, name string
	steady   bool // at most four calls in three seconds reach the first upstream
	play     func(t *testing.T) seen
}

// once asks once.
func (s *site) once() seen {
	a := s.ask(chatPath, streamAsk)
	return seen{site: s, callers: s.told(a) + ", after " + seconds(a.took)}
}

// many asks n times.
func (s *site) many(n int, gap time.Duration) seen {
	return seen{site: s, callers: s.tell(s.every(n, gap))}
}

// single is a case of one request, with a schedule of faults, settings of the
// provider and the model.
func single(schedule, settings, model string) func(*testing.T) seen {
	return func(t *testing.T) seen {
		return placed(t, plainAnswers(schedule), plainAnswers(""), settings, model, "").once()
	}
}

var faultCases = []faultCase{
	{"1", "429 once with `Retry-After: 2`; a request every 0.5 s for 10 s", true, func(t *testing.T) seen {
		s := placed(t, plainAnswers("0s-100ms 429 retry-after=2"), plainAnswers(""), "", "", "")
		x := s.many(20, 500*time.Millisecond)
		if early := s.first.between(1, 2*time.Second); len(early) > 0 {
			t.Errorf("calls within the pause: %v", early)
		}
		x.first = fmt.Sprintf("1 call, then none for 2 s, then %d, no faster than one a second at first", len(s.first.at)-1)
		return x
	}},
	{"2", "429 for good, without a header; a request a second for 2 min", true, func(t *testing.T) seen {
		s := placed(t, plainAnswers("0s- 429"), plainAnswers(""), "", "", "")
		x := s.many(120, time.Second)
		n := len(s.first.at)
		x.first = fmt.Sprintf("%s; the last ones %s apart", &s.first, seconds((s.first.at[n-1]-s.first.at[n-5])/4))
		return x
	}},
	{"3", "500 once", true, single("0s-100ms 500", "", "")},
	{"4", "503 for good; a request every 0.2 s for 20 s", true, func(t *testing.T) seen {
		return placed(t, plainAnswers("0s- 503"), plainAnswers(""), "", "", "").many(100, 200*time.Millisecond)
	}},
	{"4b", "the same, both in one tier", true, func(t *testing.T) seen {
		return placed(t, plainAnswers("0s- 503"), plainAnswers(""), "", oneTier, "").many(100, 200*time.Millisecond)
	}},
	{"4c", "503 for good, each after 0.1 s; 30 requests at once", false, func(t *testing.T) seen {
		s := placed(t, plainAnswers("0s- 503"), plainAnswers(""), "", "", "")
		s.first.delay = 100 * time.Millisecond
		return s.many(30, 0)
	}},
	{"5", "reset before the headers", true, single("0s-100ms reset", "", "")},
	{"6", "silence for 120 s", true, single("0s-100ms silence", "", "")},
	{"6b", "the same, with `timeouts: {first_token: 5s}`", true, single("0s-100ms silence", ", timeouts: {first_token: 5s}", "")},
	{"6c", "silence for good, and callers with a deadline of 15 s; a request every 2 s for 2 min", true, func(t *testing.T) seen {
		s := placed(t, plainAnswers("0s- silence"), plainAnswers(""), "", "", "")
		var calls []<-chan answer
		for range 60 {
			calls = append(calls, s.background(t.Context(), chatPath, streamAsk, "X-Spillway-Deadline-Ms", "15000"))
			time.Sleep(2 * time.Second)
		}
		var all []answer
		for _, c := range calls {
			all = append(all, <-c)
		}
		return seen{site: s, callers: s.tell(all)}
	}},
	{"7", "first token after 20 s", true, single("0s-100ms late=20s", "", "")},
	{"7b", "the same from the first minute on; a request a second for 3 min", false, func(t *testing.T) seen {
		return placed(t, plainAnswers("60s- late=20s"), plainAnswers(""), "", "", "").many(180, time.Second)
	}},
	{"8", "cut after 40 of 60 tokens", true, single("0s-100ms cut=41", "", "")},
	{"8b", "cut after the chunk with the role", true, single("0s-100ms cut=1", "", "")},
	{"9", "a stall of 30 s after 20 tokens", true, single("590ms-30590ms brownout=1000000", "", "")},
	{"9b", "the same, with `timeouts: {idle: 10s}`", true, single("590ms-30590ms brownout=1000000", ", timeouts: {idle: 10s}", "")},
	{"10", "a malformed event after 20 tokens", true, single("0s-100ms malformed=21", "", "")},
	{"10b", "a malformed event before any token", true, single("0s-100ms malformed=1", "", "")},
	{"11", "no `[DONE]`", true, single("0s-100ms no-done", "", "")},
	{"12", "400, the context is too long; 30 requests", false, refused("400", "")},
	{"12b", "the same, with `fallback: {context: [other]}`", false, refused("400", "    fallback: {context: [other]}")},
	{"13", "400, the content filter; 30 requests", false, refused("filter", "")},
	{"13b", "the same, with `fallback: {content_filter: [other]}`", false, refused("filter", "    fallback: {content_filter: [other]}")},
	{"14", "cut after 40 tokens, and the second refuses everything", true, func(t *testing.T) seen {
		return placed(t, plainAnswers("0s- cut=41"), plainAnswers("0s- 503"), "", "", "").once()
	}},
	{"14b", "cut after the chunk with the role, and the second refuses everything", true, func(t *testing.T) seen {
		s := placed(t, plainAnswers("0s- cut=1"), plainAnswers("0s- 503"), "", "", "")
		x := seen{site: s, callers: s.told(s.ask(chatPath, streamAsk))}
		if at := s.first.at; len(at) == 2 && at[1]-s.second.at[0] > 100*time.Millisecond {
			x.first = "2 calls, the second one after a pause"
		}
		return x
	}},
	{"15", "503 for 60 s, then healthy; 20 requests in every 4 s, spread", false, outage(1)},
	{"15b", "the same, 20 at once every 4 s", false, outage(20)},
	{"16", "503 once, then a cut after 40 tokens, then two good answers", true, accounting},
}

// refused are cases of requests at fault, which must not touch the breaker.
func refused(fault, model string) func(*testing.T) seen {
	return func(t *testing.T) seen {
		s := placed(t, plainAnswers("0s- "+fault), plainAnswers(""), "", model, "")
		x := s.many(30, 100*time.Millisecond)
		d := s.deployment("first")
		if d.State.String() != "closed" || d.Share != 1 || s.counters("spillway_breaker_opened_total", "deployment")["first"] != 0 {
			t.Errorf("it counts against the breaker: %+v", d)
		}
		x.first = fmt.Sprintf("%d calls; its breaker does not count them", len(s.first.at))
		if model != "" {
			x.second = fmt.Sprintf("%s; the other model: %d", &s.second, len(s.other.at))
		}
		return x
	}
}

// outage are the cases of one minute without the first upstream.
func outage(burst int) func(*testing.T) seen {
	return func(t *testing.T) seen {
		const sick, end = 60 * time.Second, 180 * time.Second
		s := placed(t, plainAnswers("0s-60s 503"), plainAnswers(""), "", "", "")
		s.first.delay = 50 * time.Millisecond
		history, watched := s.history(end)
		var calls []<-chan answer
		for time.Since(s.first.begin) < end {
			for range burst {
				calls = append(calls, s.background(t.Context(), chatPath, streamAsk))
			}
			time.Sleep(time.Duration(burst) * 200 * time.Millisecond)
		}
		<-watched
		counts, longest := map[string]int{}, time.Duration(0)
		for _, c := range calls {
			a := <-c
			counts[s.told(a)]++
			longest = max(longest, a.took)
		}
		complete := counts["200, complete, by the first"] + counts["200, complete, by the second"]
		x := seen{site: s, callers: fmt.Sprintf("%d of %d × 200, complete; after 1.4 s, the slowest, in the recovery, after %s", complete, len(calls), seconds(longest))}

		ill := s.first.between(0, sick)
		before := s.first.between(0, 4*time.Second) // the breaker knows nothing yet
		opened, probes := before[len(before)-1]+s.first.delay, ill[len(before):]
		if len(before) > max(4, burst) {
			t.Errorf("%d calls before the breaker opened", len(before))
		}
		if len(probes) != 1 || probes[0] < opened+30*time.Second {
			t.Errorf("opened at %v, calls to the failing upstream: %v", opened, probes)
		}
		x.first = fmt.Sprintf("%d calls until the breaker opens, after %s; 1 probe in the outage, at %s; the next at %s, then ten steps, all of it at %s",
			len(before), seconds(opened), seconds(probes[0]), seconds(s.first.between(sick, end)[0]), seconds(tenSteps(t, *history)))
		return x
	}
}

// tenSteps checks that a breaker opened once (B065) and came back by ten steps of at
// least two seconds each, and tells when it was closed.
func tenSteps(t *testing.T, history []step) (closed time.Duration) {
	want := []string{"closed 10", "open 0"}
	for n := 1; n < 10; n++ {
		want = append(want, fmt.Sprint("recovering ", n))
	}
	want = append(want, "closed 10")
	var got []string
	for i, x := range history {
		if x.state == "half_open" { // as long as its one call
			continue
		}
		if words := fmt.Sprint(x.state, " ", x.step); len(got) == 0 || got[len(got)-1] != words {
			got = append(got, words)
		}
		if i > 0 && history[i-1].state == "recovering" && x.at-history[i-1].at < 1900*time.Millisecond {
			t.Errorf("step %d after %v", x.step, x.at-history[i-1].at)
		}
		closed = x.at
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the breaker was\n%v, want\n%v", got, want)
	}
	return closed
}

// accounting checks what is booked where.
func accounting(t *testing.T) seen {
	s := placed(t, plainAnswers("0s-100ms 503; 2s-2100ms cut=41"), plainAnswers(""), "", "", "")
	asked := `{"model":"chat","stream":true,"messages":[{"role":"user","content":"hello"}]}`
	var words []string
	for i := range 4 {
		time.Sleep(time.Duration(i)*2*time.Second - time.Since(s.first.begin))
		words = append(words, s.told(s.ask(chatPath, asked)))
	}
	x := seen{site: s, callers: strings.Join(words, "; ")}
	report := s.ask(s.ops+"/admin/v1/upstreams", "").body
	for _, c := range []struct {
		name          string
		far           *far
		good          int64
		faults        int64
		input, output int64 // of good answers as the upstream counted them, of others as estimated
		words         *string
	}{{"first", &s.first, 2, 2, 2*2 + 5, 2*60 + 40, &x.first}, {"second", &s.second, 1, 0, 2, 60, &x.second}} {
		d := s.deployment(c.name)
		in, out := 1.0, 10.0 // dollars a million
		if c.name == "second" {
			in, out = 2, 20
		}
		cost := (float64(c.input)*in + float64(c.output)*out) / 1e6
		u := gjson.Get(report, `upstreams.#(name=="`+c.name+`")`)
		stats := c.far.mock.Stats()
		for what, pair := range map[string][2]float64{
			"sent":              {u.Get("sent").Num, float64(len(c.far.at))},
			"good":              {u.Get("good").Num, float64(stats.Finished)},
			"good, as expected": {u.Get("good").Num, float64(c.good)},
			"faults":            {u.Get("faults.failed").Num + u.Get("faults.saturated").Num, float64(stats.Faulted)},
			"faults, expected":  {float64(c.faults), float64(stats.Faulted)},
			"input":             {u.Get("input_tokens").Num, float64(c.input)},
			"output":            {u.Get("output_tokens").Num, float64(c.output)},
			"cost":              {u.Get("cost_dollars").Num, cost},
			"metric sent":       {s.counters("spillway_upstream_sent_total", "deployment")[c.name], float64(len(c.far.at))},
			"metric good":       {s.counters("spillway_upstream_good_total", "deployment")[c.name], float64(c.good)},
			"metric faults":     {s.counters("spillway_upstream_faults_total", "deployment")[c.name], float64(c.faults)},
			"metric tokens":     {s.counters("spillway_upstream_tokens_total", "deployment")[c.name], float64(c.input + c.output)},
			"metric cost":       {s.counters("spillway_upstream_cost_dollars_total", "deployment")[c.name], cost},
			"attempts":          {s.counters("spillway_upstream_attempts_total", "deployment")[c.name], float64(len(c.far.at))},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%s, %s: %v, want %v", c.name, what, pair[0], pair[1])
			}
		}
		*c.words = fmt.Sprintf("%d sent, %d good, %d failed; %d tokens of output; %s", d.Tally.Sent, d.Tally.Good, c.faults, d.Tally.Output, micros(cost))
	}
	if line := s.ended(1); line["spillway.attempts"] != 2.0 || line["spillway.deployment"] != "second" || line["spillway.output_tokens"] != 60.0 {
		t.Errorf("record %v", line)
	}
	return x
}

func micros(dollars float64) string { return fmt.Sprintf("%.0f µ$", dollars*1e6) }

// TestUpstreamFaults plays each fault and keeps the table of docs/upstreams.md.
func TestUpstreamFaults(t *testing.T) {
	table := "| | fault of the first upstream | callers see | the first upstream sees | the second sees |\n|---|---|---|---|---|\n"
	for _, c := range faultCases {
		t.Run(c.id, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := c.play(t)
				x.same()
				x.idle()
				if n := x.site.first.within(3 * time.Second); c.steady && n > 4 && x.deployment("first").Tally.Good == 0 {
					t.Errorf("%d calls in 3 s to a failing upstream", n)
				}
				if x.first == "" {
					x.first = x.site.first.String()
				}
				if x.second == "" {
					x.second = x.site.second.String()
				}
				table += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", c.id, c.name, x.callers, x.first, x.second)
			})
		})
	}
	if t.Failed() {
		return
	}
	const file, begin, end = "../../docs/upstreams.md", "<!-- faults: written by go test ./internal/gateway -run TestUpstreamFaults -update -->\n", "<!-- end of faults -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	now, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if now != table {
		t.Errorf("the table changed (look at it, then run with -update):\n%s", table)
	}
}
