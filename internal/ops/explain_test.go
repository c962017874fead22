package ops

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const chatBody = `{"model":"chat","messages":[{"role":"user","content":"hello"}]}`

// call sends a request of a caller.
func (r *rig) call(key string) *httptest.ResponseRecorder {
	q := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(chatBody))
	q.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	r.g.Handler().ServeHTTP(w, q)
	return w
}

// A caller was refused and shows its error body: the operator sees why, and
// which setting it was.
func TestExplainByID(t *testing.T) {
	r := setup(t, strings.Replace(guarded, "concurrency: 1}\n", "limits: {rpm: 1}}\n", 1), true)
	r.call("canary-tenant-key") // nobody is there upstream, but it counts
	w := r.call("canary-tenant-key")
	if w.Code != http.StatusTooManyRequests {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	id := gjson.Get(w.Body.String(), "error.request_id").Str
	list := r.ask("GET", "/admin/v1/refusals", "", bearer("viewer-token")...).Body.String()
	if gjson.Get(list, "refusals.0.request_id").Str != id || gjson.Get(list, "refusals.#").Int() != 1 {
		t.Errorf("%s", list)
	}
	got := r.ask("POST", "/admin/v1/explain", `{"request_id":"`+id+`"}`, bearer("viewer-token")...).Body.String()
	for path, want := range map[string]string{
		"request_id": id, "tenant": "shop", "model": "chat", "was.stage": "requests", "stages_as_of": "refusal",
		"setting":                                "tenants[shop].models.chat.rpm or tenants[shop].limits.rpm",
		`stages.#(decides==true).stage`:          "requests",
		`stages.#(decides==true).found`:          "requests a minute: 1 of 1",
		`stages.#(stage=="concurrency").decides`: "false",
	} {
		if v := gjson.Get(got, path).String(); v != want {
			t.Errorf("%s is %q, want %q", path, v, want)
		}
	}
	if !strings.HasPrefix(gjson.Get(got, "was.words").Str, "it is refused (requests): requests a minute: 1 of 1; it is told to come back in ") {
		t.Errorf("%s", got)
	}
}

func TestExplainARequest(t *testing.T) {
	r := setup(t, guarded, true)
	got := r.ask("POST", "/admin/v1/explain", `{"tenant":"shop","headers":{"X-Spillway-Class":"batch"},"body":`+chatBody+`}`, bearer("viewer-token")...).Body.String()
	for path, want := range map[string]string{"class": "batch", "now.verdict": "run", "now.words": "it runs at once", "stages_as_of": "now", "would_change.#": "0", `stages.#(stage=="free").decides`: "true"} {
		if v := gjson.Get(got, path).String(); v != want {
			t.Errorf("%s is %q, want %q in %s", path, v, want, got)
		}
	}
	open := setup(t, base, true)
	if w := open.ask("POST", "/admin/v1/explain", `{"body":`+chatBody+`}`); w.Code != 200 || gjson.Get(w.Body.String(), "tenant").Str != "open" {
		t.Errorf("%d %s: without tenants there is one", w.Code, w.Body)
	}
}

func TestBadQuestions(t *testing.T) {
	r := setup(t, guarded, true)
	for _, tt := range []struct {
		body   string
		status int
		place  string
	}{
		{"", 400, ""},
		{"{}", 400, "body"},
		{`{"requestid":"x"}`, 400, ""},
		{`{"request_id":"req_0"}`, 404, "request_id"},
		{`{"request_id":"req_0","tenant":"shop"}`, 400, "request_id"},
		{`{"tenant":"nobody","body":` + chatBody + `}`, 422, "tenant"},
		{`{"tenant":"shop","path":"/v1/nothing","body":` + chatBody + `}`, 422, "path"},
		{`{"tenant":"shop","body":{"model":"chat"}}`, 422, "body"},
		{`{"tenant":"shop","body":{"model":"unheard","messages":[]}}`, 422, "body"},
	} {
		w := r.ask("POST", "/admin/v1/explain", tt.body, bearer("viewer-token")...)
		if w.Code != tt.status || gjson.Get(w.Body.String(), "place").Str != tt.place || gjson.Get(w.Body.String(), "remedy").Str == "" {
			t.Errorf("%s: %d %s", tt.body, w.Code, w.Body)
		}
	}
	for _, limit := range []string{"0", "-1", "1001", "x"} {
		if w := r.ask("GET", "/admin/v1/refusals?limit="+limit, "", bearer("viewer-token")...); w.Code != 400 {
			t.Errorf("limit %s: %d", limit, w.Code)
		}
	}
}

// Each stage that Offer asks has its question, and each that refuses its setting.
func TestEveryStageHasWords(t *testing.T) {
	for s := range admit.Stage(admit.NumStages) {
		if s <= admit.StageQueue && s != admit.StageLadder && questions[s] == "" {
			t.Errorf("stage %s asks nothing", s)
		}
		if s < admit.StageLadder && settings[s] == "" {
			t.Errorf("stage %s has no setting", s)
		}
	}
	for _, tt := range []struct {
		stage         admit.Stage
		limit         string
		figure, bound int64
		want          string
	}{
		{admit.StageWait, "the predicted wait", 2500, 1000, "the predicted wait is 2.5s, and at most 1s are let in"},
		{admit.StageSpend, "the day's budget of all", 1_500_000, 1_000_000, "the day's budget of all: $1.500000 of $1.000000"},
		{admit.StageConcurrency, "the tenant's requests at once", 3, 0, "requests at once: 3, without a limit"},
		{admit.StageDeadline, "the caller's deadline", 1000, 30000, "1s of the 30s that it has are over"},
		{admit.StageQueue, "the predicted wait", 10, 0, "the predicted wait is 10ms"},
		{admit.StageRequests, "", 0, 0, "nothing to measure"},
		{admit.StageLate, "the caller's deadline", 1548, 2998, "it has waited 1.548s of 2.998s, the caller's deadline, and would not end in time"},
		{admit.StageEvicted, "the place in a full queue", 900, 3000, "it lost the place in a full queue to one that goes first, after 900ms of the 3s that it has"},
	} {
		if got := found(tt.stage, tt.limit, tt.figure, tt.bound); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
