package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/mock"
)

// far is a simulated upstream, and what it saw.
type far struct {
	mock  *mock.Server
	next  http.Handler  // in place of the mock
	delay time.Duration // before it does anything

	mu     sync.Mutex
	begin  time.Time
	at     []time.Duration // of each call
	took   []time.Duration // until it was over
	bodies []string
	open   int
	most   int // at once
}

func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	n := len(f.at)
	f.at, f.took, f.bodies = append(f.at, time.Since(f.begin)), append(f.took, 0), append(f.bodies, string(b))
	f.open++
	f.most = max(f.most, f.open)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.took[n] = time.Since(f.begin) - f.at[n]
		f.open--
		f.mu.Unlock()
	}()
	r.Body = io.NopCloser(bytes.NewReader(b))
	time.Sleep(f.delay)
	if f.next != nil {
		f.next.ServeHTTP(w, r)
		return
	}
	f.mock.ServeHTTP(w, r)
}

// within is the most calls of any span.
func (f *far) within(span time.Duration) (most int) {
	for i, from := range f.at {
		n := 0
		for _, at := range f.at[i:] {
			if at-from <= span {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// between are the calls of an interval.
func (f *far) between(from, to time.Duration) (list []time.Duration) {
	for _, at := range f.at {
		if at >= from && at < to {
			list = append(list, at)
		}
	}
	return list
}

func (f *far) String() string {
	switch n := len(f.at); {
	case n == 0:
		return "no call"
	case n == 1:
		return "1 call"
	case n <= 4:
		var times []string
		for _, at := range f.at {
			times = append(times, seconds(at))
		}
		return fmt.Sprintf("%d calls, at %s and %s", n, strings.Join(times[:n-1], ", "), times[n-1])
	default:
		return fmt.Sprintf("%d calls, at most %d in 3 s", n, f.within(3*time.Second))
	}
}

func seconds(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
}

// site is a gateway before a model of two deployments, the second one of which
// is for what the first cannot do, and a model to fall back to.
type site struct {
	*rig
	first, second, other far
}

// plainAnswers is an upstream whose every answer has 60 tokens in 1.4 s, with faults
// by time.
func plainAnswers(schedule string) mock.Settings {
	return mock.Settings{Slots: 64, OutputMean: 60, Noise: new(0.0), TokenByToken: true, Seed: 1, Schedule: schedule}
}

const deploymentsOf = `
    deployments:
    - {name: first, provider: a, model: m-first, concurrency: 32, price: {input: 1, output: 10}}
    - {name: second, provider: b, model: m-second, concurrency: 32, price: {input: 2, output: 20}, tier: 1}
`

// oneTier in place of settings of the model puts both deployments into one tier.
const oneTier = "    balance: round-robin"

// placed joins a site in memory. settings are those of the provider of the
// first deployment, model those of the model, top those of the file.
func placed(t *testing.T, first, second mock.Settings, settings, model, top string) *site {
	t.Helper()
	s := &site{}
	n := &wires{}
	for i, u := range []struct {
		far      *far
		settings mock.Settings
	}{{&s.first, first}, {&s.second, second}, {&s.other, plainAnswers("")}} {
		var err error
		if u.far.mock, err = mock.New(u.settings); err != nil {
			t.Fatal(err)
		}
		u.far.begin = time.Now()
		t.Cleanup(u.far.mock.Close)
		if i == 0 {
			continue // started with the gateway
		}
		host, l := &http.Server{Handler: u.far}, n.listen(fmt.Sprintf("127.0.0.1:%d", 8001+i))
		go host.Serve(l)
		t.Cleanup(func() { host.Close() })
	}
	conf := `providers:
  a: {base_url: "http://127.0.0.1:8001/v1", api_key: key-a, http: "1.1"` + settings + `}
  b: {base_url: "http://127.0.0.1:8002/v1", api_key: key-b, http: "1.1"}
  c: {base_url: "http://127.0.0.1:8003/v1", api_key: key-c, http: "1.1"}
models:
  chat:` + deploymentsOf + model + `
  other: {deployments: [{name: other, provider: c, model: m-other, price: {input: 1, output: 10}}]}
` + top
	if model == oneTier {
		conf = strings.Replace(conf, ", tier: 1", "", 1)
	}
	s.rig = start(t, conf, &s.first, n, n.listen("gateway:80"), n.listen("ops:80"), n.listen(upstreamAddr))
	return s
}

// every sends n requests, one after each gap.
func (s *site) every(n int, gap time.Duration) (all []answer) {
	var calls []<-chan answer
	for i := range n {
		if i > 0 && gap > 0 {
			time.Sleep(gap)
		}
		calls = append(calls, s.background(context.Background(), chatPath, streamAsk))
	}
	for _, c := range calls {
		all = append(all, <-c)
	}
	synctest.Wait()
	return all
}

// state is a deployment's.
func (s *site) deployment(name string) admit.DeploymentState {
	for _, d := range s.g.gate.Snapshot().Deployments {
		if d.Name == name {
			return d
		}
	}
	s.t.Fatalf("no deployment %s", name)
	return admit.DeploymentState{}
}

// told is an answer in words, and fails where it only looks complete.
func (s *site) told(a answer) string {
	s.t.Helper()
	by := map[string]string{"m-first": "the first", "m-second": "the second", "m-other": "the other model", "": "nobody"}[a.header.Get("X-Spillway-Model")]
	if f := a.header.Get("X-Spillway-Fallback"); f != "" {
		by += ", `x-spillway-fallback: " + f + "`"
	}
	if a.status != 200 {
		words := fmt.Sprintf("%d `%s`", a.status, code(s.t, a.body))
		if after := a.header.Get("Retry-After"); after != "" {
			words += ", `retry-after: " + after + "`"
		}
		return words
	}
	p := payloads(a.body)
	tokens, finished, done := 0, false, false
	for _, data := range p {
		if c := gjson.Get(data, "choices.0.delta.content").Str; c != "" {
			tokens++
		}
		finished = finished || gjson.Get(data, "choices.0.finish_reason").Str != ""
		done = done || data == "[DONE]"
	}
	failure := gjson.Get(p[len(p)-1], "error.code").Str
	switch {
	case a.err == nil && finished && tokens == 60 && failure == "":
		words := "200, complete, by " + by
		if !done {
			words += ", without `[DONE]`"
		}
		return words
	case a.err != nil && !finished && !done && failure != "":
		return fmt.Sprintf("200, %d tokens by %s, then an error event `%s` and a broken connection", tokens, by, failure)
	}
	s.t.Errorf("neither complete nor clearly broken: %v %.2000s", a.err, a.body)
	return "neither complete nor clearly broken"
}

// history notes how the breaker of the first deployment changes, until the end.
func (s *site) history(end time.Duration) (list *[]step, done <-chan struct{}) {
	list, c := &[]step{}, make(chan struct{})
	go func() {
		defer close(c)
		for at := time.Duration(0); at < end; at = time.Since(s.first.begin) {
			d := s.deployment("first")
			x := step{at, d.State.String(), d.Step}
			if n := len(*list); n == 0 || (*list)[n-1].state != x.state || (*list)[n-1].step != x.step {
				*list = append(*list, x)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return list, c
}

// step is where a breaker stands from an instant on.
type step struct {
	at    time.Duration
	state string
	step  int
}

// tell counts answers by their words.
func (s *site) tell(all []answer) string {
	s.t.Helper()
	counts := map[string]int{}
	for _, a := range all {
		counts[s.told(a)]++
	}
	words := make([]string, 0, len(counts))
	for w, n := range counts {
		words = append(words, fmt.Sprintf("%d × %s", n, w))
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}

// same checks that every upstream was asked the same, but for the model.
func (s *site) same() {
	s.t.Helper()
	want := ""
	for _, f := range []*far{&s.first, &s.second, &s.other} {
		for _, b := range f.bodies {
			var v map[string]any
			if err := json.Unmarshal([]byte(b), &v); err != nil {
				s.t.Errorf("%v in %s", err, b)
			}
			delete(v, "model")
			got, _ := json.Marshal(v)
			if want == "" {
				want = string(got)
			}
			if string(got) != want {
				s.t.Errorf("asked %s and %s", want, got)
			}
		}
	}
}
