package compat

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of docs/surfaces.md")

// A pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

// backend is a kind of provider, as configured.
type backend struct{ name, yaml, keyHeader, path string }

var backends = []backend{
	{"openai", "kind: openai", "Authorization", "/v1/"},
	{"openai, responses", "kind: openai, responses: true", "Authorization", "/v1/"},
	{"anthropic", "kind: anthropic", "X-Api-Key", "/v1/messages"},
	{"gemini", "kind: gemini", "X-Goog-Api-Key", "/v1beta/models/vendor-big-1:"},
	{"azure", "kind: azure", "Api-Key", "/openai/deployments/vendor-big-1/"},
}

// feature is something that can be asked for, in the words of each surface.
type feature struct {
	name string
	ask  map[string]question // by surface; all of them under ""
	sent string              // what the provider must be told, in whatever words
	// other is what it may be told instead, with what the table says of that.
	other map[string]string
	stop  string // why the answer stops: "", "length" or "tool"
}

const call = `call:` + toolName + ` {"city":"Zürich \"北\"","days":3}`

var user = question{user: "When does the office open?"}

func with(q question, name string, v any) question {
	q.set = map[string]any{name: v}
	return q
}

// each is the same member, under the name that each surface has for it.
func each(q question, value any, chat, messages, responses string) map[string]question {
	m := map[string]question{}
	for surface, name := range map[string]string{"chat": chat, "messages": messages, "responses": responses} {
		if name != "" {
			m[surface] = with(q, name, value)
		}
	}
	return m
}

var tooled = question{user: call, tool: true}

var features = []feature{
	{name: "text", ask: map[string]question{"": user}, sent: user.user},
	{name: "a system prompt", ask: map[string]question{"": {system: "Answer as the harbour's clerk.", user: user.user}}, sent: "Answer as the harbour's clerk."},
	{name: "an image, as data", ask: map[string]question{"": {user: user.user, image: "data:image/png;base64," + png}}, sent: png},
	{name: "an image, by URL", ask: map[string]question{"": {user: user.user, image: "https://example.com/ship.png"}}, sent: "https://example.com/ship.png"},
	{name: "JSON by a schema", ask: map[string]question{"": {user: user.user, schema: true}}, sent: schemaWord},
	{name: "a tool call, its result, text", ask: map[string]question{"": tooled}, sent: toolName, stop: "tool"},
	{name: "a tool that must be called", ask: map[string]question{
		"chat": with(tooled, "tool_choice", "required"), "messages": with(tooled, "tool_choice", map[string]string{"type": "any"}),
		"responses": with(tooled, "tool_choice", "required"),
	}, sent: toolName, stop: "tool"},
	{name: "one tool call at a time", ask: map[string]question{
		"chat":      with(tooled, "parallel_tool_calls", false),
		"messages":  with(tooled, "tool_choice", map[string]any{"type": "auto", "disable_parallel_tool_use": true}),
		"responses": with(tooled, "parallel_tool_calls", false),
	}, sent: toolName, stop: "tool"},
	{name: "a cap of tokens", ask: each(user, 7, "max_completion_tokens", "max_tokens", "max_output_tokens"), sent: "7", stop: "length"},
	{name: "temperature", ask: each(user, 0.25, "temperature", "temperature", "temperature"), sent: "0.25"},
	{name: "stop sequences", ask: each(user, []string{"THE-END"}, "stop", "stop_sequences", ""), sent: "THE-END"},
	{name: "top_k", ask: each(user, 17, "", "top_k", ""), sent: "17"},
	{name: "a seed", ask: each(user, 4711, "seed", "", ""), sent: "4711"},
	{name: "penalties", ask: each(user, 0.75, "frequency_penalty", "", ""), sent: "0.75"},
	{name: "an effort of reasoning", ask: map[string]question{
		"chat": with(user, "reasoning_effort", "low"), "messages": with(user, "output_config", map[string]string{"effort": "low"}),
		"responses": with(user, "reasoning", map[string]string{"effort": "low"}),
	}, sent: `"low"`, other: map[string]string{`"LOW"`: "yes", `"budget_tokens"`: "as a budget"}},
	{name: "a budget of thinking", ask: map[string]question{
		"messages": with(user, "thinking", map[string]any{"type": "enabled", "budget_tokens": 1234}),
	}, sent: "1234", other: map[string]string{`"reasoning_effort":"low"`: "as an effort"}},
	{name: "logprobs", ask: each(user, true, "logprobs", "", ""), sent: "logprobs"},
	{name: "several choices", ask: each(user, 2, "n", "", ""), sent: `"n"`},
	{name: "labels", ask: map[string]question{
		"chat": with(user, "metadata", map[string]string{"run": "label-8"}), "messages": with(user, "metadata", map[string]string{"user_id": "label-8"}),
		"responses": with(user, "metadata", map[string]string{"run": "label-8"}),
	}},
	{name: "a cache mark", ask: map[string]question{
		"messages": with(user, "cache_control", map[string]string{"type": "ephemeral"}), "chat": with(user, "prompt_cache_key", "k"), "responses": with(user, "prompt_cache_key", "k"),
	}},
	{name: "a conversation kept upstream", ask: each(user, "resp_1", "", "", "previous_response_id"), sent: "resp_1"},
}

// Every surface reaches every kind of provider through its official client, or
// says what it cannot say there. The table of that is docs/surfaces.md.
func TestMatrix(t *testing.T) {
	var mu sync.Mutex
	outcomes := map[[3]string]string{} // by surface, feature and kind of provider
	t.Run("kinds", func(t *testing.T) {
		for _, b := range backends {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				r := start(t, setup{mock: tokenByToken(), backend: &b})
				for surface, dial := range r.speakers() {
					s, tape := dial()
					for _, f := range features {
						outcome := r.both(t, surface, b, s, tape, f)
						mu.Lock()
						outcomes[[3]string{surface, f.name, b.name}] = outcome
						mu.Unlock()
					}
				}
			})
		}
	})
	keepTable(t, table(outcomes))
}

// both asks whole and streamed, which must come to the same.
func (r *rig) both(t *testing.T, surface string, b backend, s speaker, tape *tape, f feature) string {
	q, ok := f.ask[surface]
	if !ok {
		if q, ok = f.ask[""]; !ok {
			return "–"
		}
	}
	var was [2]string
	for i, stream := range []bool{false, true} {
		name := fmt.Sprintf("%s to %s: %s, stream %v", surface, b.name, f.name, stream)
		was[i] = r.cell(t, name, b, s, tape, f, q, stream)
	}
	if was[0] != was[1] {
		t.Errorf("%s to %s, %s: %s, and in a stream %s", surface, b.name, f.name, was[0], was[1])
	}
	return was[0]
}

// cell asks once, judges what came of it, and says it in a word.
func (r *rig) cell(t *testing.T, name string, b backend, s speaker, tape *tape, f feature, q question, stream bool) string {
	id, end, length, tool := s.words()
	r.upstream.take()
	got, err := s.ask(limit(t), q, stream)
	if err != nil {
		e, ok := s.refused(err)
		if !ok || e.status != 400 || e.kind != "invalid_request_error" || e.code != "unsupported_parameter" || e.param == "" || !strings.HasPrefix(e.id, "req_") {
			t.Errorf("%s: %v", name, err)
			return "fails"
		}
		if n := len(r.upstream.take()); n != 0 {
			t.Errorf("%s: refused, after %d calls", name, n)
		}
		return "400 `" + e.param + "`"
	}
	calls := r.judge(t, name, b, tape, got)
	if calls == nil {
		return "fails"
	}
	text, in, out, call := told(calls[0].answer.String())
	if got.in != in || got.out != out || in == 0 || out == 0 {
		t.Errorf("%s: usage %d and %d, the provider said %d and %d", name, got.in, got.out, in, out)
	}
	if got.text != text {
		t.Errorf("%s: text %q, the provider said %q", name, got.text, text)
	}
	want := map[string]string{"": end, "length": length, "tool": tool}[f.stop]
	if got.stop != want {
		t.Errorf("%s: stops with %q, want %q", name, got.stop, want)
	}
	if got.model != "chat" || !strings.HasPrefix(got.id, id) {
		t.Errorf("%s: model %q, id %q", name, got.model, got.id)
	}
	dropped := tape.header.Get("X-Spillway-Dropped")
	outcome := "yes"
	if dropped != "" {
		outcome = "left out: `" + strings.ReplaceAll(dropped, ", ", "`, `") + "`"
	} else if !strings.Contains(calls[0].body, f.sent) {
		outcome = "fails"
		for instead, said := range f.other {
			if strings.Contains(calls[0].body, instead) {
				outcome = said
			}
		}
		if outcome == "fails" {
			t.Errorf("%s: the provider was not told %s: %s", name, f.sent, calls[0].body)
		}
	}
	if f.stop == "tool" {
		r.round(t, name, b, s, tape, q, got, call, stream)
	}
	return outcome
}

// judge looks at what holds of every answer: who was told which key, and what
// of the provider came through.
func (r *rig) judge(t *testing.T, name string, b backend, tape *tape, got *reply) []providerCall {
	calls := r.upstream.take()
	if len(calls) != 1 {
		t.Errorf("%s: %d calls", name, len(calls))
		return nil
	}
	c := calls[0]
	if !strings.HasPrefix(c.path, b.path) {
		t.Errorf("%s: went to %s", name, c.path)
	}
	if k := strings.TrimPrefix(c.header.Get(b.keyHeader), "Bearer "); k != upstreamKey {
		t.Errorf("%s: the provider's key was %q", name, k)
	}
	for h, values := range c.header {
		if strings.Contains(strings.Join(values, " "), key) {
			t.Errorf("%s: the caller's key went out in %s", name, h)
		}
	}
	body := tape.body.String()
	if strings.Contains(body, "vendor-big-1") || strings.Contains(body, upstreamKey) {
		t.Errorf("%s: the answer tells of the provider: %s", name, body)
	}
	for h, values := range tape.header {
		for _, p := range []string{"X-Ms-", "Apim-", "Anthropic-", "X-Ratelimit-", "Set-Cookie", "Server"} {
			if strings.HasPrefix(h, p) && h != "Server-Timing" {
				t.Errorf("%s: header %s: %v came through", name, h, values)
			}
		}
		if strings.Contains(strings.Join(values, " "), upstreamKey) {
			t.Errorf("%s: the provider's key is in %s", name, h)
		}
	}
	if id, _, _, _ := (messageSpeaker{}).words(); strings.HasPrefix(got.id, id) && tape.header.Get("Openai-Version")+tape.header.Get("Openai-Processing-Ms") != "" {
		t.Errorf("%s: OpenAI's headers on Anthropic's surface: %v", name, tape.header)
	}
	ids := tape.header.Get("Request-Id") + tape.header.Get("X-Request-Id")
	if !strings.HasPrefix(ids, "req_") || len(ids) != len("req_")+32 {
		t.Errorf("%s: request id %q", name, ids)
	}
	return calls
}

// round looks at a tool call and gives its result back.
func (r *rig) round(t *testing.T, name string, b backend, s speaker, tape *tape, q question, got *reply, id string, stream bool) {
	var args struct {
		City string
		Days int
	}
	if len(got.calls) != 1 || got.calls[0].name != toolName || got.calls[0].id == "" {
		t.Errorf("%s: calls %+v", name, got.calls)
		return
	}
	if err := json.Unmarshal([]byte(got.calls[0].args), &args); err != nil || args.City != `Zürich "北"` || args.Days != 3 {
		t.Errorf("%s: arguments %s: %v", name, got.calls[0].args, err)
	}
	q.before, q.set = got, nil
	next, err := s.ask(limit(t), q, stream)
	if err != nil {
		t.Errorf("%s, the result: %v", name, err)
		return
	}
	calls := r.judge(t, name+", the result", b, tape, next)
	if calls == nil {
		return
	}
	text, _, _, _ := told(calls[0].answer.String())
	if next.text != text || text == "" || len(next.calls) != 0 {
		t.Errorf("%s, the result: %q and %v, the provider said %q", name, next.text, next.calls, text)
	}
	sent := calls[0].body
	if !strings.Contains(sent, toolResult) || b.name != "gemini" && (id == "" || strings.Count(sent, id) < 2) {
		t.Errorf("%s: the result of %s was sent as %s", name, id, sent)
	}
}

// table renders the outcomes, one table a surface.
func table(outcomes map[[3]string]string) string {
	var b strings.Builder
	for _, surface := range []string{"chat", "messages", "responses"} {
		title := map[string]string{"chat": "Chat completions", "messages": "Messages", "responses": "Responses"}[surface]
		fmt.Fprintf(&b, "| %s |", title)
		for _, k := range backends {
			fmt.Fprintf(&b, " %s |", k.name)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(backends)) + "\n")
		for _, f := range features {
			var row []string
			for _, k := range backends {
				row = append(row, outcomes[[3]string{surface, f.name, k.name}])
			}
			if !slices.Equal(row, slices.Repeat([]string{"–"}, len(row))) {
				fmt.Fprintf(&b, "| %s | %s |\n", f.name, strings.Join(row, " | "))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// keepTable compares the table with the document's, or puts it there.
func keepTable(t *testing.T, got string) {
	const file, begin, end = "../docs/surfaces.md", "<!-- matrix -->\n", "<!-- /matrix -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	was, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	if *update {
		if t.Failed() {
			t.Fatal("nothing is written while a cell fails")
		}
		if err := os.WriteFile(file, []byte(head+begin+got+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was != got {
		t.Errorf("%s is out of date; go test -run Matrix -update writes:\n%s", file, got)
	}
}
