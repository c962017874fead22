package ops

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/gateway"
)

// Ask is the body of POST /admin/v1/explain: a request as a caller would send
// it, or the request_id of one that was refused.
type Ask struct {
	RequestID string            `json:"request_id,omitempty"` // alone
	Tenant    string            `json:"tenant,omitempty"`     // by name; default the one there is without tenants
	Path      string            `json:"path,omitempty"`       // of the surface; default /v1/chat/completions
	Headers   map[string]string `json:"headers,omitempty"`    // that a caller says its wishes with
	Body      jsontext.Value    `json:"body,omitempty"`
}

// Explanation is the answer: the stages one by one, the decision, and what
// would change it.
type Explanation struct {
	RequestID string     `json:"request_id,omitempty"`
	Refused   *time.Time `json:"refused_at,omitempty"`                            // when the request of that id was refused
	Was       *Verdict   `json:"was,omitempty"`                                   // what was decided then
	StagesOf  string     `json:"stages_as_of" jsonschema:"enum=refusal,enum=now"` // refusal: as they stood then; now
	Tenant    string     `json:"tenant"`
	Model     string     `json:"model"`
	Class     string     `json:"class"`
	Input     int64      `json:"input_tokens"` // estimated
	MaxOutput int64      `json:"max_output_tokens,omitempty"`
	Attempt   int        `json:"attempt"`
	Stages    []Stage    `json:"stages"`
	Now       Verdict    `json:"now"`          // what would be decided now
	Changes   []Change   `json:"would_change"` // of the request, each alone
	Setting   string     `json:"setting,omitempty"`
}

// Stage is what one stage found.
type Stage struct {
	Stage   string `json:"stage"`
	Asks    string `json:"asks"`
	Found   string `json:"found"`
	Decides bool   `json:"decides"`
	Figure  int64  `json:"figure"` // in the unit of the words
	Bound   int64  `json:"bound"`  // 0: none
	Model   string `json:"model,omitempty"`
	Cheaper bool   `json:"cheaper_form,omitempty"` // looked at as a rung of the ladder makes it
}

// Verdict is a decision.
type Verdict struct {
	Verdict    string `json:"verdict"`
	Stage      string `json:"stage"`
	Words      string `json:"words"`
	WaitMS     int64  `json:"wait_ms"` // predicted
	RetryAfter int64  `json:"retry_after_ms,omitempty"`
}

// Change is one thing that would have the request let in.
type Change struct {
	If   string  `json:"if"`
	Then Verdict `json:"then"`
}

func verdict(d *admit.Decision) Verdict {
	return Verdict{d.Verdict.String(), d.Stage.String(), became(d), d.Wait.Milliseconds(), d.RetryAfter.Milliseconds()}
}

// explain answers why a request is decided on as it is. It changes nothing.
func (s *Surface) explain(w http.ResponseWriter, r *http.Request, _ identity) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var ask Ask
	if err := json.Unmarshal(body, &ask, json.RejectUnknownMembers(true)); err != nil {
		return bad("", "the body cannot be read: "+err.Error(), `send {"request_id": "req_…"}, or {"tenant": "…", "path": "/v1/chat/completions", "headers": {}, "body": {}}`)
	}
	if ask.RequestID != "" {
		return s.explainRefusal(w, &ask)
	}
	if len(ask.Body) == 0 {
		return bad("body", "there is neither a body nor a request_id", "give the body that a caller would send, or the request_id of an error body")
	}
	if ask.Path == "" {
		ask.Path = "/v1/chat/completions"
	}
	if config := s.gateway.Config(); ask.Tenant == "" && config.Open() {
		ask.Tenant = config.Tenants[0].Name
	}
	header := http.Header{}
	for name, value := range ask.Headers {
		header.Set(name, value)
	}
	e, refused := s.gateway.Explain(gateway.Asked{Tenant: ask.Tenant, Path: ask.Path, Header: header, Body: ask.Body})
	if refused != nil {
		place := "body"
		if refused.Param == "tenant" || refused.Param == "path" {
			place = refused.Param
		}
		return &problem{
			status: http.StatusUnprocessableEntity, place: place, detail: "no decision is needed: " + refused.Message,
			remedy: "a caller would get status " + strconv.Itoa(refused.HTTPStatus()) + "; correct what was sent",
		}
	}
	out := explanation(&e)
	out.StagesOf, out.Stages = "now", stages(e.Trace.Steps)
	return writeJSON(w, out)
}

func (s *Surface) explainRefusal(w http.ResponseWriter, ask *Ask) error {
	if len(ask.Body) > 0 || ask.Tenant != "" || ask.Path != "" || len(ask.Headers) > 0 {
		return bad("request_id", "a request_id stands alone", "leave the other members out: they are known of the request")
	}
	x, ok := s.gateway.Refusal(ask.RequestID)
	if !ok {
		return &problem{
			status: http.StatusNotFound, place: "request_id", detail: "no refusal of this id is among the last 1,000 of this process",
			remedy: "give its body and headers instead, or see GET /admin/v1/refusals",
		}
	}
	e := s.gateway.ExplainAgain(x)
	out := explanation(&e)
	was := verdict(&x.Decision)
	out.RequestID, out.Refused, out.Was, out.Setting = x.ID, &x.At, &was, setting(x.Decision.Stage, &x.Request)
	out.StagesOf, out.Stages = "refusal", stages(x.Steps)
	if x.Steps == nil {
		out.StagesOf, out.Stages = "now", stages(e.Trace.Steps)
	}
	return writeJSON(w, out)
}

func explanation(e *gateway.Explanation) *Explanation {
	r, d := &e.Request, &e.Trace.Decision
	out := &Explanation{
		Tenant: r.Tenant, Model: r.Model, Class: r.Class.String(), Input: r.Input, MaxOutput: r.MaxOutput, Attempt: r.Attempt,
		Now: verdict(d), Changes: []Change{},
	}
	if d.Verdict == admit.Reject {
		out.Setting = setting(d.Stage, r)
	}
	for i := range e.Others {
		out.Changes = append(out.Changes, Change{e.Others[i].What, verdict(&e.Others[i].Decision)})
	}
	return out
}

func stages(steps []admit.Step) []Stage {
	list := []Stage{}
	for _, x := range steps {
		list = append(list, Stage{
			x.Stage.String(), questions[x.Stage], found(x.Stage, x.Limit, x.Figure, x.Bound), x.Decides, x.Figure, x.Bound, x.Model, x.Rungs != 0,
		})
	}
	return list
}

// Refusals is the answer of GET /admin/v1/refusals, newest first.
type Refusals struct {
	Refusals []Refused `json:"refusals"`
}

// Refused is one request that was turned away.
type Refused struct {
	RequestID string    `json:"request_id"` // to explain it by
	At        time.Time `json:"at"`
	Tenant    string    `json:"tenant"`
	Model     string    `json:"model"`
	Class     string    `json:"class"`
	Was       Verdict   `json:"was"`
}

// usualRefusals are shown if nobody asks for another number.
const usualRefusals = 50

func (s *Surface) refusals(w http.ResponseWriter, r *http.Request, _ identity) error {
	n := usualRefusals
	if text := r.URL.Query().Get("limit"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > 1000 {
			return bad("limit", "limit is not a number from 1 to 1000", "leave it out for 50")
		}
	}
	out := Refusals{Refusals: []Refused{}}
	for _, x := range s.gateway.Refusals(n) {
		out.Refusals = append(out.Refusals, Refused{x.ID, x.At, x.Request.Tenant, x.Request.Model, x.Request.Class.String(), verdict(&x.Decision)})
	}
	return writeJSON(w, out)
}
