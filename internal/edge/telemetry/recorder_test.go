package telemetry

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func dumped(t testing.TB, r *Recorder) []Event {
	t.Helper()
	var b bytes.Buffer
	if err := r.Dump(&b); err != nil {
		t.Fatal(err)
	}
	es, err := readDump(&b)
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// readDump gives what comes before an error with it.
func readDump(r io.Reader) (es []Event, err error) {
	for d := NewDumpReader(r); ; {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return es, nil
		}
		if err != nil {
			return es, err
		}
		es = append(es, e)
	}
}

func TestAStoryComesBackAsItWas(t *testing.T) {
	policy := &admit.Policy{
		Models:  []admit.Model{{Name: "chat", Deployments: []admit.Deployment{{Name: "gpu/big", Concurrency: 1}}, Queue: admit.QueuePolicy{Order: admit.LIFO}}},
		Tenants: []admit.Tenant{{Name: "bank", Limits: map[string]admit.Limits{"": {Requests: 60}, "chat": {Tokens: 1000}}}},
	}
	policy.Defaults()
	q := admit.Request{ID: 7, Tenant: "bank", Model: "chat", Session: "s1", Class: admit.Batch, Attempt: 1, Input: 100, MaxOutput: 50,
		Bytes: 900, Stream: true, Arrived: t0, Deadline: t0.Add(time.Minute), May: admit.MayDegrade}
	o := admit.Outcome{Status: 503, Retryable: true, Input: 100, RetryAfter: time.Second}
	again := admit.Decision{ID: 7, Verdict: admit.Run, Stage: admit.StageAgain, Deployment: "hosted/big", Wait: time.Second}

	r := NewRecorder(0)
	r.Start(t0, Seed{1 << 63, 2})
	r.Configure(t0, policy)
	r.Offer(t0.Add(1), &q)
	r.Decisions(t0.Add(1), []admit.Decision{queueIt})
	r.Tick(t0.Add(2))
	r.Decisions(t0.Add(2), []admit.Decision{dispatch, refuseIt})
	r.FirstByte(t0.Add(3), 7)
	r.Finish(t0.Add(4), 7, &o)
	r.Decisions(t0.Add(4), []admit.Decision{again})
	r.Cancel(t0.Add(5), 7)
	r.Decisions(t0.Add(5), nil)

	want := []Event{
		{At: t0, Kind: EventStart, Seed: Seed{1 << 63, 2}},
		{At: t0, Kind: EventConfigure, Policy: policy},
		{At: t0.Add(1), Kind: EventOffer, Request: q},
		{At: t0.Add(1), Kind: EventDecision, Decision: queueIt},
		{At: t0.Add(2), Kind: EventTick},
		{At: t0.Add(2), Kind: EventDecision, Decision: dispatch},
		{At: t0.Add(2), Kind: EventDecision, Decision: refuseIt},
		{At: t0.Add(3), Kind: EventFirstByte, ID: 7},
		{At: t0.Add(4), Kind: EventFinish, ID: 7, Outcome: o},
		{At: t0.Add(4), Kind: EventDecision, Decision: again},
		{At: t0.Add(5), Kind: EventCancel, ID: 7},
	}
	if got := dumped(t, r); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTheOldestGoFirst(t *testing.T) {
	r := NewRecorder(4)
	old, current := &admit.Policy{Retry: admit.RetryPolicy{Percent: 1}}, &admit.Policy{Retry: admit.RetryPolicy{Percent: 2}}
	if got := dumped(t, r); len(got) != 0 {
		t.Errorf("an empty recorder told %v", got)
	}
	r.Configure(t0, old)
	r.Configure(t0.Add(1), current)
	r.Cancel(t0.Add(2), 2)
	r.Cancel(t0.Add(3), 3)
	ids := func() (ids []admit.ID) { // and the percent of a policy, and what is lost, to tell it
		for _, e := range dumped(t, r) {
			switch e.Kind {
			case EventConfigure:
				ids = append(ids, admit.ID(1000+e.Policy.Retry.Percent))
				continue
			case EventLost:
				ids = append(ids, admit.ID(9000+e.Lost))
				continue
			}
			ids = append(ids, e.ID)
		}
		return ids
	}
	check := func(want ...admit.ID) {
		t.Helper()
		if got := ids(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	check(1001, 1002, 2, 3) // full to the brim
	r.Cancel(t0.Add(4), 4)
	check(9001, 1001, 1002, 2, 3, 4) // the first policy left the ring, and stands before it
	r.Cancel(t0.Add(5), 5)
	check(9002, 1002, 2, 3, 4, 5) // so did the second, which took its place
	for i := range admit.ID(100) {
		r.Cancel(t0.Add(6), 6+i)
	}
	check(9102, 1002, 102, 103, 104, 105) // a policy is never lost
}

// Any offer comes back equal, at any place in the ring.
func TestAnyOfferComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9/._:é"\\-]{0,40}`)
		r := NewRecorder(rapid.IntRange(1, 9).Draw(t, "size"))
		var all []admit.Request
		for range rapid.IntRange(1, 20).Draw(t, "offers") {
			q := admit.Request{
				ID: admit.ID(rapid.Uint64().Draw(t, "id")), Tenant: name.Draw(t, "tenant"), Model: name.Draw(t, "model"),
				Class: admit.Class(rapid.IntRange(0, admit.NumClasses-1).Draw(t, "class")), Input: rapid.Int64().Draw(t, "input"),
				Arrived: t0.Add(time.Duration(rapid.Int32().Draw(t, "at"))),
			}
			all = append(all, q)
			r.Offer(q.Arrived, &q)
		}
		var b bytes.Buffer
		if err := r.Dump(&b); err != nil {
			t.Fatal(err)
		}
		es, err := readDump(&b)
		if err != nil {
			t.Fatal(err)
		}
		kept := all[max(0, len(all)-len(r.ring)):]
		if lost := len(all) - len(kept); lost > 0 {
			if es[0].Kind != EventLost || es[0].Lost != uint64(lost) {
				t.Fatalf("got %+v for the %d that were lost", es[0], lost)
			}
			es = es[1:]
		}
		if len(es) != len(kept) {
			t.Fatalf("%d events, want %d", len(es), len(kept))
		}
		for i, e := range es {
			if !reflect.DeepEqual(e.Request, kept[i]) {
				t.Fatalf("got %+v, want %+v", e.Request, kept[i])
			}
		}
	})
}

func TestEveryVerdictAndStageHasAName(t *testing.T) {
	r := NewRecorder(200)
	var want []admit.Decision
	for s := range admit.NumStages {
		for v := range numVerdicts {
			want = append(want, admit.Decision{Stage: admit.Stage(s), Verdict: admit.Verdict(v)})
		}
	}
	r.Decisions(t0, want)
	for i, e := range dumped(t, r) {
		if e.Decision != want[i] {
			t.Errorf("got %+v, want %+v", e.Decision, want[i])
		}
	}
}

func TestLongNamesAreNotKept(t *testing.T) {
	r := NewRecorder(1)
	q := admit.Request{Tenant: "bank", Model: strings.Repeat("x", 1<<20), Session: strings.Repeat("y", 129)}
	r.Offer(t0, &q)
	got := dumped(t, r)[0].Request
	if got.Tenant != "bank" || len(got.Model) > maxName || len(got.Session) > maxName {
		t.Errorf("kept %d and %d bytes", len(got.Model), len(got.Session))
	}
	if len(q.Model) != 1<<20 {
		t.Error("the request itself was changed")
	}
}

func TestBadDumps(t *testing.T) {
	tick := `{"at":"2026-03-01T12:00:00Z","kind":"tick"}` + "\n"
	for _, tt := range []struct{ name, text, want string }{
		{"cut off", tick + `{"at":"2026-03-01T1`, "read dump, line 2: the last line is cut off: unexpected end of JSON input"},
		{"not JSON", tick + tick + "panic: oh\n" + tick, "read dump, line 3: invalid character 'p' looking for beginning of value"},
		{"new kind", tick + `{"at":"2026-03-01T12:00:00Z","kind":"lease"}`, `read dump, line 2: unknown kind "lease"`},
		{"no kind", tick + `{}`, `read dump, line 2: unknown kind ""`},
		{"the empty kind", tick + `{"kind":"none"}`, `read dump, line 2: unknown kind "none"`},
		{"start of nothing", tick + `{"kind":"start"}`, "read dump, line 2: a start without its seed"},
		{"offer of nothing", tick + `{"kind":"offer"}`, "read dump, line 2: an offer without its request"},
		{"finish of nothing", tick + `{"kind":"finish"}`, "read dump, line 2: a finish without its outcome"},
		{"configure of nothing", tick + `{"kind":"configure"}`, "read dump, line 2: a configure without its policy"},
		{"decision of nothing", tick + `{"kind":"decision"}`, "read dump, line 2: a decision line without its decision"},
		{"class", tick + `{"kind":"offer","request":{"Class":"urgent"}}`, `read dump, line 2: unknown class "urgent"`},
		{"verdict", tick + `{"kind":"decision","decision":{"Verdict":"maybe"}}`, `read dump, line 2: unknown verdict "maybe"`},
		{"stage", tick + `{"kind":"decision","decision":{"Verdict":"run","Stage":"moon"}}`, `read dump, line 2: unknown stage "moon"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			es, err := readDump(strings.NewReader(tt.text))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if len(es) == 0 || es[0].Kind != EventTick {
				t.Errorf("what came before the fault is lost: %v", es)
			}
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestDumpSaysThatItFailed(t *testing.T) {
	r := NewRecorder(1)
	r.Tick(t0)
	if err := r.Dump(fullDisk{}); err == nil || err.Error() != "dump flight recorder: disk full" {
		t.Errorf("got %v", err)
	}
}

func TestRecorderDoesNotAllocate(t *testing.T) {
	r := NewRecorder(8)
	q := admit.Request{Tenant: "bank", Model: "chat"}
	ds := []admit.Decision{queueIt, dispatch}
	if n := testing.AllocsPerRun(100, func() {
		r.Offer(t0, &q)
		r.Decisions(t0, ds)
		r.Finish(t0, 1, &admit.Outcome{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever is read as a dump can be written and read again, equal.
func FuzzReadDump(f *testing.F) {
	r := NewRecorder(8)
	r.Configure(t0, &admit.Policy{})
	r.Offer(t0, &admit.Request{Tenant: "bank", Model: "chat"})
	r.Decisions(t0, []admit.Decision{queueIt})
	r.Finish(t0, 1, &admit.Outcome{Status: 200})
	var b bytes.Buffer
	if err := r.Dump(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		first, _ := readDump(bytes.NewReader(data))
		if len(first) == 0 {
			return
		}
		r := &Recorder{ring: first, total: uint64(len(first))}
		var b bytes.Buffer
		if err := r.Dump(&b); err != nil {
			t.Fatal(err)
		}
		second, err := readDump(bytes.NewReader(b.Bytes()))
		if err != nil || len(second) != len(first) {
			t.Fatalf("%d events became %d: %v", len(first), len(second), err)
		}
		for i := range first {
			if !first[i].At.Equal(second[i].At) || first[i].Kind != second[i].Kind || first[i].Decision != second[i].Decision {
				t.Fatalf("got %+v, want %+v", second[i], first[i])
			}
		}
	})
}
