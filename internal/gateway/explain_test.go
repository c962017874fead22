package gateway

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// A refusal is explained by the id that its caller was told, as things stood
// then, and again as they stand now.
func TestExplainRefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(4, tenantsOf("{name: a, keys: [KEY], concurrency: 1}")), quick())
		first := r.background(t.Context(), chatPath, plainAsk, secret...)
		synctest.Wait()
		a := r.ask(chatPath, plainAsk, secret...)
		if a.status != 429 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		x, ok := r.g.Refusal(gjson.Get(a.body, "error.request_id").Str)
		if !ok {
			t.Fatalf("not among %+v", r.g.Refusals(10))
		}
		last := x.Steps[len(x.Steps)-1]
		if x.Request.Tenant != "a" || x.Decision.Stage != admit.StageConcurrency || last.Stage != admit.StageConcurrency || !last.Decides || last.Figure != 1 || last.Bound != 1 {
			t.Errorf("%+v", x)
		}
		if e := r.g.ExplainAgain(x); e.Trace.Decision.Verdict != admit.Reject || len(e.Others) != 0 {
			t.Errorf("while the first one runs: %+v: nothing of the request would change a limit of the tenant", e)
		}
		<-first
		synctest.Wait()
		if e := r.g.ExplainAgain(x); e.Trace.Decision.Verdict != admit.Run {
			t.Errorf("after it: %+v", e.Trace.Decision)
		}
		if _, ok := r.g.Refusal("req_unknown"); ok {
			t.Error("an id nobody has")
		}
	})
}

// What would change a refusal is found by asking the core, not by guessing, and
// asking changes nothing.
func TestExplainWhatWouldChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		var others []<-chan answer
		for range 6 { // a second each
			others = append(others, r.background(t.Context(), chatPath, plainAsk))
			synctest.Wait()
		}
		ask := Asked{Tenant: "open", Path: chatPath, Body: []byte(plainAsk), Header: http.Header{}}
		before := r.g.gate.Snapshot()
		ask.Header.Set("X-Spillway-Deadline-Ms", "2000")
		e, refused := r.g.Explain(ask)
		if refused != nil {
			t.Fatal(refused)
		}
		if e.Trace.Decision.Verdict != admit.Reject {
			t.Fatalf("%+v", e.Trace.Decision)
		}
		var later string
		for _, o := range e.Others {
			if strings.HasPrefix(o.What, "its deadline is ") {
				later = o.What
			}
		}
		if later == "" {
			t.Errorf("a later deadline is not found: %+v", e.Others)
		}
		if after := r.g.gate.Snapshot(); !reflect.DeepEqual(after, before) {
			t.Errorf("explaining changed\n%+v\nto\n%+v", before, after)
		}
		for _, o := range others {
			<-o
		}
		synctest.Wait()
		r.idle()
	})
}

func TestExplainWhatIsNoQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		for _, tt := range []struct {
			ask  Asked
			want string
		}{
			{Asked{Tenant: "nobody", Path: chatPath, Body: []byte(plainAsk)}, "tenant_not_found"},
			{Asked{Tenant: "open", Path: "/v1/models", Body: []byte(plainAsk)}, "unknown_url"},
			{Asked{Tenant: "open", Path: "%zz", Body: []byte(plainAsk)}, "unknown_url"},
			{Asked{Tenant: "open", Path: chatPath, Body: []byte(`{"model":"none","messages":[{"role":"user","content":"x"}]}`)}, "model_not_found"},
		} {
			if _, e := r.g.Explain(tt.ask); e == nil || e.Code != tt.want {
				t.Errorf("%s: %v, want %s", tt.ask.Path, e, tt.want)
			}
		}
		if _, e := r.g.Explain(Asked{Tenant: "open", Path: chatPath, Body: []byte(`{`)}); e == nil {
			t.Error("no JSON")
		}
	})
}

// Only the last ones are kept, and in a storm only some with their stages.
func TestRefusalsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), quick())
		d := &admit.Decision{Verdict: admit.Reject, Stage: admit.StageWait}
		q := &admit.Request{Tenant: "open", Model: "chat", User: strings.Repeat("u", 1<<20)}
		for i := range maxRefusals + 5 {
			r.g.refused.keep(r.g.gate, fmt.Sprint(i), q, d)
		}
		all := r.g.Refusals(5000)
		if len(all) != maxRefusals || all[0].ID != "1004" || all[maxRefusals-1].ID != "5" {
			t.Errorf("%d, from %s to %s", len(all), all[0].ID, all[len(all)-1].ID)
		}
		if len(all[0].Request.User) > 100 {
			t.Errorf("%d bytes of a caller's are kept", len(all[0].Request.User))
		}
		traced := 0
		for _, x := range all {
			if x.Steps != nil {
				traced++
			}
		}
		if traced > tracesPerSecond {
			t.Errorf("%d were looked at in one second", traced)
		}
		if len(r.g.Refusals(3)) != 3 || len(r.g.Refusals(0)) != 0 || len(r.g.Refusals(-1)) != 0 {
			t.Error("not as many as were asked for")
		}
	})
}
