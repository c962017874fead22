package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/mock"
)

// A gateway under a load that meets every kind of end decides again what it
// decided.
func TestWhatAGatewayRecordedReplaysTheSame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		conf := one(3, `tenants:`,
			"  - {name: a, keys: ["+config.HashKey("ka")+"], weight: 3}",
			"  - {name: b, keys: ["+config.HashKey("kb")+"], limits: {rpm: 90, tpm: 60000}}",
			"  - {name: c, keys: ["+config.HashKey("kc")+"], concurrency: 5}")
		r := setup(t, conf, mock.Settings{Slots: 3, ServiceMean: time.Second, OutputMean: 11, Seed: 1, Faults: "500=0.1", Schedule: "8s-24s brownout=6; 30s-44s brownout=8"})
		rng := rand.New(rand.NewPCG(3, 4))
		var callers sync.WaitGroup
		const requests = 600
		for i := range requests {
			ctx, leave := context.WithCancel(context.Background())
			body := plainAsk
			if rng.IntN(2) == 0 {
				body = streamAsk
			}
			header := []string{"Authorization", "Bearer " + []string{"ka", "kb", "kc"}[rng.IntN(3)], "X-Spillway-Class", admit.Class(rng.IntN(admit.NumClasses)).String()}
			if rng.IntN(3) > 0 {
				header = append(header, "X-Spillway-Deadline-Ms", fmt.Sprint(1500+rng.IntN(6000)))
			}
			patience := time.Duration(rng.IntN(9000)) * time.Millisecond
			callers.Go(func() {
				defer time.AfterFunc(patience, leave).Stop()
				defer leave()
				r.askCtx(ctx, chatPath, body, header...)
			})
			if i == requests/2 { // a reload, and what only looks
				if err := r.g.Apply(parse(t, strings.Replace(conf, "concurrency: 3", "concurrency: 4", 1))); err != nil {
					t.Fatal(err)
				}
			}
			if i%10 == 0 {
				r.g.gate.Explain(admit.Request{Tenant: "b", Model: "chat", Class: admit.Batch, Arrived: time.Now()})
				r.ask(r.ops+"/healthz", "")
			}
			time.Sleep(time.Duration(rng.ExpFloat64() * 0.1 * float64(time.Second)))
		}
		callers.Wait()
		time.Sleep(time.Minute) // the last ones
		dump := r.ask(r.ops+"/debug/events", "")
		got, err := Replay(strings.NewReader(dump.body))
		if err != nil {
			t.Fatal(err)
		}
		if got.Requests < requests*9/10 || got.Decisions < got.Requests || got.Cut {
			t.Errorf("replayed %+v", got)
		}
		for _, stage := range []string{"free", "dispatch", "late", "wait", "concurrency", "again"} {
			if !strings.Contains(dump.body, `"Stage":"`+stage+`"`) {
				t.Errorf("nothing was decided by %s: the load was too tame", stage)
			}
		}
	})
}

// The same with the real clock, whose wall and monotonic times part, and from
// many goroutines.
func TestAGateStreamsWhatReplays(t *testing.T) {
	p := &admit.Policy{
		Models:  []admit.Model{{Name: "chat", Deployments: []admit.Deployment{{Name: "gpu/m", Concurrency: 4}}, Prior: admit.Prior{First: time.Millisecond, PerOutput: 1000, PerInput: 10}}},
		Tenants: []admit.Tenant{{Name: "a"}, {Name: "b", Concurrency: 20}},
	}
	p.Defaults()
	var recording, log bytes.Buffer
	recorder := telemetry.NewRecorder(16)
	recorder.Stream(&recording, telemetry.StreamLimit, slog.New(slog.NewTextHandler(&log, nil)))
	g := NewGate(p, recorder)
	const callers, each = 40, 50
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range each {
				r := admit.Request{Tenant: []string{"a", "b"}[i%2], Model: "chat", Class: admit.Class(i % admit.NumClasses), Input: 100, MaxOutput: 100, Arrived: time.Now()}
				r.Deadline = r.Arrived.Add(time.Duration(rng.IntN(20_000)) * time.Microsecond)
				d, next := g.Offer(&r)
				if d.Verdict == admit.Queue && rng.IntN(5) == 0 {
					g.Cancel(r.ID)
					continue
				}
				for d.Verdict == admit.Queue {
					d = <-next
				}
				if d.Verdict == admit.Run {
					begun := time.Now()
					for time.Since(begun) < 100*time.Microsecond { // a call
					}
					g.FirstByte(r.ID)
					g.Finish(r.ID, admit.Outcome{Status: 200, OK: true, Known: true, Input: 100, Output: 50})
				}
			}
		})
	}
	wg.Wait()
	g.Close()
	got, err := Replay(&recording)
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests != callers*each || log.Len() > 0 {
		t.Errorf("%d requests of %d: %s", got.Requests, callers*each, &log)
	}
}

// story records two requests for one slot, for the tests of what a replay says.
func story(t *testing.T) string {
	t.Helper()
	p := &admit.Policy{Models: []admit.Model{{Name: "chat", Deployments: []admit.Deployment{{Name: "gpu/m", Concurrency: 1}}}}, Tenants: []admit.Tenant{{Name: "a"}}}
	p.Defaults()
	var b bytes.Buffer
	recorder := telemetry.NewRecorder(100)
	g := NewGate(p, recorder)
	defer g.Close()
	for range 2 {
		g.Offer(&admit.Request{Tenant: "a", Model: "chat", Input: 10, Arrived: g.began})
	}
	g.Offer(&admit.Request{Tenant: "a", Model: "chat", Input: 10, Arrived: g.began, Deadline: g.began.Add(time.Nanosecond)})
	g.Finish(1, admit.Outcome{Status: 200, OK: true, Output: 5})
	if err := g.Dump(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReplaySaysWhatIsDifferent(t *testing.T) {
	whole := story(t)
	lines := strings.SplitAfter(whole, "\n")
	without := func(n int) string { return strings.Join(append(append([]string{}, lines[:n]...), lines[n+1:]...), "") }
	// 0 start, 1 configure, 2 offer, 3 run, 4 offer, 5 queue, 6 offer, 7 reject, 8 finish, 9 run
	for _, tt := range []struct {
		name, text string
		want       []string // in the error; none: it replays
	}{
		{"untouched", whole, nil},
		{"other deployment", strings.Replace(whole, `"Deployment":"gpu/m"`, `"Deployment":"gpu/n"`, 1),
			[]string{"event 2 (offer at ", ", request 1): the decision differs in deployment", "recorded: request 1: run by free", "to gpu/n", "replayed: ", "to gpu/m"}},
		{"other verdict and stage", strings.Replace(whole, `"Verdict":"queue","Stage":"queue"`, `"Verdict":"reject","Stage":"wait"`, 1),
			[]string{"event 3 (offer", "request 2", "differs in verdict, stage", "recorded: request 2: reject by wait", "replayed: request 2: queue by queue"}},
		{"another request", strings.Replace(whole, `"kind":"finish","id":1`, `"kind":"finish","id":7`, 1), []string{"event 5 (finish", "request 7", "was recorded that the core does not give", "recorded: request 2: run by dispatch"}},
		{"a decision too few", without(5), []string{"event 3 (offer", "request 2", "a decision that was not recorded", "replayed: request 2: queue"}},
		{"the last decision missing", without(9), []string{"event 5 (finish", "ends before a decision", "replayed: request 2: run by dispatch"}},
		{"an event missing", without(8), []string{"event 4 (offer", "recorded: request 2: run by dispatch"}},
		{"no start", without(0), []string{"not whole", "does not begin with the start"}},
		{"no policy", without(1), []string{"event 1: offer before the first policy"}},
		{"started twice", whole + lines[0], []string{"a second start"}},
		{"lost in the middle", strings.Join(lines[:4], "") + `{"kind":"lost","lost":12}` + "\n", []string{"not whole", "12 events are missing after event 2"}},
		{"not a dump", "at,kind\n1,2\n", []string{"read dump, line 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Replay(strings.NewReader(tt.text))
			if err == nil {
				if tt.want != nil {
					t.Error("it replayed")
				}
				return
			}
			if tt.want == nil {
				t.Fatal(err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("no %q in: %v", w, err)
				}
			}
		})
	}
}

// Cut anywhere, a recording is replayed as far as it goes.
func TestReplayOfACutRecording(t *testing.T) {
	whole := story(t)
	for n := range len(whole) {
		got, err := Replay(strings.NewReader(whole[:n]))
		var d *Difference
		switch {
		case errors.As(err, &d) && d.AtEnd: // between an event and its decisions
		case err != nil:
			t.Fatalf("at %d: %v", n, err)
		case got.Requests > 3:
			t.Fatalf("at %d: %+v", n, got)
		}
	}
}

// A ring that has turned over cannot be replayed and says how much is gone.
func TestReplayOfAWrappedRing(t *testing.T) {
	p := &admit.Policy{Models: []admit.Model{{Name: "chat", Deployments: []admit.Deployment{{Name: "gpu/m", Concurrency: 1}}}}, Tenants: []admit.Tenant{{Name: "a"}}}
	p.Defaults()
	g := NewGate(p, telemetry.NewRecorder(8))
	defer g.Close()
	for range 10 {
		g.Offer(&admit.Request{Tenant: "a", Model: "chat", Arrived: time.Now()})
	}
	var b bytes.Buffer
	if err := g.Dump(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Replay(&b)
	if !errors.Is(err, ErrNotWhole) || !strings.Contains(err.Error(), "14 events are missing at the beginning") || got.Events != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What made the core panic makes the replay say so.
func TestReplayOfACrash(t *testing.T) {
	whole := story(t)
	p := replay{in: telemetry.NewDumpReader(strings.NewReader(whole))}
	for range 2 {
		e, err := p.in.Next()
		if err == nil {
			err = p.take(&e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err := p.take(&telemetry.Event{Kind: telemetry.EventConfigure}) // no policy: a panic inside the core
	if err == nil || !strings.Contains(err.Error(), "event 2 (configure at ") || !strings.Contains(err.Error(), "the core panics") {
		t.Errorf("got %v", err)
	}
}

func FuzzReplay(f *testing.F) {
	p := &admit.Policy{Models: []admit.Model{{Name: "chat", Deployments: []admit.Deployment{{Name: "gpu/m", Concurrency: 1}}}}, Tenants: []admit.Tenant{{Name: "a"}}}
	p.Defaults()
	g := NewGate(p, telemetry.NewRecorder(100))
	g.Offer(&admit.Request{Tenant: "a", Model: "chat", Input: 10, Arrived: g.began})
	g.Finish(1, admit.Outcome{Status: 200, OK: true, Output: 5})
	g.Close()
	var b bytes.Buffer
	if err := g.Dump(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(_ *testing.T, data []byte) {
		if _, err := Replay(bytes.NewReader(data)); err != nil {
			io.WriteString(io.Discard, err.Error()) // must not panic either
		}
	})
}
