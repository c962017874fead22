package compat

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	claude "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3/option"

	"github.com/spillway-llm/spillway/internal/mock"
)

// Errors of the gateway's own are what each client knows of its own API, with
// the id of the request.
func TestErrorsOfSurfaces(t *testing.T) {
	type want struct {
		status int
		kind   string
		code   string
	}
	for _, tt := range []struct {
		name string
		set  setup
		q    question
		want map[string]want
	}{
		{"an unknown model", setup{}, with(user, "model", "none"), map[string]want{
			"": {404, "invalid_request_error", "model_not_found"}, "messages": {404, "not_found_error", "model_not_found"},
		}},
		{"no such member", setup{}, with(user, "stream", "maybe"), map[string]want{
			"": {400, "invalid_request_error", ""}, "messages": {400, "invalid_request_error", ""},
		}},
		{"a large body", setup{rest: "limits: {body: 2KiB}"}, question{user: strings.Repeat("long ", 1000)}, map[string]want{
			"": {413, "invalid_request_error", "request_too_large"}, "messages": {413, "request_too_large", "request_too_large"},
		}},
		{"too large for the context", setup{model: "context: 20"}, question{user: strings.Repeat("long ", 1000)}, map[string]want{
			"": {400, "invalid_request_error", "context_length_exceeded"}, "messages": {400, "invalid_request_error", "context_length_exceeded"},
		}},
	} {
		tt.set.backend = &backends[0]
		r := start(t, tt.set)
		for surface, dial := range r.speakers() {
			w, ok := tt.want[surface]
			if !ok {
				w = tt.want[""]
			}
			s, tape := dial()
			for _, stream := range []bool{false, true} {
				if tt.q.set["stream"] != nil && stream {
					continue // the client sets it itself
				}
				_, err := s.ask(limit(t), tt.q, stream)
				e, ok := s.refused(err)
				if !ok || e.status != w.status || e.kind != w.kind || w.code != "" && e.code != w.code {
					t.Errorf("%s, %s, stream %v: %+v %v, want %+v", tt.name, surface, stream, e, err, w)
				}
				if id := tape.header.Get("Request-Id") + tape.header.Get("X-Request-Id"); !strings.HasPrefix(e.id, "req_") || e.id != id || !strings.Contains(tape.body.String(), id) {
					t.Errorf("%s, %s: the client knows the request as %q, the head as %q, the body is %s", tt.name, surface, e.id, id, tape.body.String())
				}
			}
		}
		if n := len(r.upstream.take()); n != 0 {
			t.Errorf("%s: %d calls", tt.name, n)
		}
	}
}

// A key of nobody is 401 everywhere, whichever header a client sends it in.
func TestWrongKeyOnMessages(t *testing.T) {
	r := start(t, setup{backend: &backends[2]})
	for name, c := range map[string]anthropic.Client{
		"x-api-key":     r.dialClaude("sk-of-nobody"),
		"authorization": r.dialClaude("", claude.WithAuthToken("sk-of-nobody")),
	} {
		_, err := messageSpeaker{c, &tape{}}.ask(limit(t), user, false)
		if e, ok := (messageSpeaker{}).refused(err); !ok || e.status != 401 || e.kind != "authentication_error" {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := r.dialClaude("", claude.WithAuthToken(key))
	if _, err := (messageSpeaker{c, &tape{}}).ask(limit(t), user, true); err != nil {
		t.Errorf("a key as a bearer token: %v", err)
	}
}

// Models and counts of tokens, as the client of messages asks for them.
func TestModelsAndCountOnMessages(t *testing.T) {
	r := start(t, setup{backend: &backends[2], tenant: "limits: {rpm: 1}"})
	c := r.dialClaude(key)
	page, err := c.Models.List(limit(t), anthropic.ModelListParams{})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != "chat" || page.HasMore {
		t.Errorf("models: %+v %v", page, err)
	}
	if m, err := c.Models.Get(limit(t), "chat", anthropic.ModelGetParams{}); err != nil || m.ID != "chat" {
		t.Errorf("model: %+v %v", m, err)
	}
	for range 3 { // more than the limit of requests
		n, err := c.Messages.CountTokens(limit(t), anthropic.MessageCountTokensParams{
			Model: "chat", Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(user.user))},
		})
		if err != nil || n.InputTokens < 5 || n.InputTokens > 40 {
			t.Errorf("count: %+v %v", n, err)
		}
	}
	if n := len(r.upstream.take()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// A full queue is 529 on the messages surface and 429 on the others. The client
// waits for as long as it was told, marks its second try, and is served.
func TestRetriesOfSurfaces(t *testing.T) {
	for _, surface := range []string{"messages", "responses"} {
		r := start(t, setup{backend: &backends[2], slots: 1, model: "queue: {total: 1}", mock: endlessButFinite()})
		one := make(chan error, 2)
		for i := range 2 { // one runs, one waits
			s, _ := r.speakers()[surface]()
			go func() {
				_, err := s.ask(limit(t), user, false)
				one <- err
			}()
			if i == 0 {
				eventually(t, "a request runs", func() bool { return r.mock.Stats().Inflight == 1 })
			}
		}
		eventually(t, "a request waits", func() bool { return r.queued() == 1 })
		var seen []attempt
		transport := watching{http.DefaultTransport, &seen}
		var s speaker
		status := 429
		tp := &tape{next: transport}
		if surface == "messages" {
			status = 529
			s = messageSpeaker{r.dialClaude(key, claude.WithMaxRetries(3), claude.WithHTTPClient(&http.Client{Transport: tp})), tp}
		} else {
			s = responseSpeaker{r.dial(key, option.WithMaxRetries(3), option.WithHTTPClient(&http.Client{Transport: tp})), tp}
		}
		if got, err := s.ask(limit(t), user, false); err != nil || got.text == "" {
			t.Errorf("%s: %v", surface, err)
		}
		for range 2 {
			if err := <-one; err != nil {
				t.Errorf("%s: %v", surface, err)
			}
		}
		if len(seen) < 2 || seen[0].status != status || seen[len(seen)-1].status != 200 || seen[1].count != "1" {
			t.Fatalf("%s: attempts %+v", surface, seen)
		}
		ms, err := strconv.Atoi(seen[0].header.Get("Retry-After-Ms"))
		after, err2 := strconv.Atoi(seen[0].header.Get("Retry-After"))
		if err != nil || err2 != nil || ms <= 0 || after < 1 || after > 59 || seen[1].begun.Sub(seen[0].at) < time.Duration(ms)*time.Millisecond {
			t.Errorf("%s: Retry-After %d, %d ms, and the client came back after %v", surface, after, ms, seen[1].begun.Sub(seen[0].at))
		}
	}
}

// endlessButFinite are answers of 400 ms.
func endlessButFinite() (s mock.Settings) {
	s = quick()
	s.PerOutput = 10 * time.Millisecond
	return s
}

type watching struct {
	next http.RoundTripper
	seen *[]attempt
}

func (w watching) RoundTrip(r *http.Request) (*http.Response, error) {
	a := attempt{begun: time.Now(), count: r.Header.Get("X-Stainless-Retry-Count")}
	resp, err := w.next.RoundTrip(r)
	a.at = time.Now()
	if resp != nil {
		a.status, a.header = resp.StatusCode, resp.Header
	}
	*w.seen = append(*w.seen, a)
	return resp, err
}

// A wait that no client would sleep through is not theirs to try: x-should-retry
// stops them.
func TestNoRetryOnSurfaces(t *testing.T) {
	r := start(t, setup{backend: &backends[0], tenant: "limits: {rpm: 1}"})
	var seen []attempt
	tp := &tape{next: watching{http.DefaultTransport, &seen}}
	hc := &http.Client{Transport: tp}
	all := map[string]speaker{
		"messages":  messageSpeaker{r.dialClaude(key, claude.WithMaxRetries(2), claude.WithHTTPClient(hc)), tp},
		"responses": responseSpeaker{r.dial(key, option.WithMaxRetries(2), option.WithHTTPClient(hc)), tp},
	}
	if _, err := all["messages"].ask(limit(t), user, false); err != nil {
		t.Fatal(err)
	}
	for surface, s := range all {
		seen = nil
		_, err := s.ask(limit(t), user, true)
		if e, ok := s.refused(err); !ok || e.status != 429 || e.code != "rate_limit_exceeded" {
			t.Errorf("%s: %v", surface, err)
		}
		if len(seen) != 1 || seen[0].header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: attempts %+v", surface, seen)
		}
		if limit := seen[0].header.Get("Anthropic-Ratelimit-Requests-Limit"); (limit == "1") != (surface == "messages") {
			t.Errorf("%s: %v", surface, seen[0].header)
		}
	}
}

// Whatever a provider of any kind does wrong: before the first event it is a
// status of the surface, after it an error, never a short answer. What is only
// odd in form changes nothing.
func TestFaultsOfProviders(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for _, fault := range []string{"", "crlf", "comments", "bytewise", "gzip", "429", "500", "529", "401", "reset", "html", "empty", "cut=6", "error-event=6"} {
				set := setup{mock: tokenByToken(), backend: &b, rest: "retry: {attempts: 1}"}
				if fault != "" {
					set.mock.Faults = fault + "=1"
				}
				r := start(t, set)
				for surface, dial := range r.speakers() {
					s, tape := dial()
					for _, stream := range []bool{false, true} {
						if fault == "429" { // it holds the next ones back for seconds
							r = start(t, set)
							s, tape = r.speakers()[surface]()
						}
						got, err := s.ask(limit(t), user, stream)
						name := surface + " to " + b.name + ", " + fault
						e, refused := s.refused(err)
						switch fault {
						case "":
							if err != nil {
								t.Fatalf("%s: %v", name, err)
							}
						case "crlf", "comments", "bytewise", "gzip":
							if err != nil {
								t.Errorf("%s, stream %v: %v", name, stream, err)
								continue
							}
							text, in, out, _ := toldPlain(r.upstream.take(), fault)
							if text != "" && (got.text != text || got.in != in || got.out != out) {
								t.Errorf("%s, stream %v: %q, the provider said %q", name, stream, got.text, text)
							}
						case "cut=6", "error-event=6":
							if err == nil {
								t.Errorf("%s, stream %v: %q passed as an answer", name, stream, got.text)
							}
							if stream && tape.status != 200 {
								t.Errorf("%s: status %d, though the stream had begun", name, tape.status)
							}
						default:
							if !refused || e.status < 500 || e.id == "" || e.kind == "" {
								t.Errorf("%s, stream %v: %+v %v", name, stream, e, err)
							}
							if load := fault == "429" || fault == "529"; load && surface == "messages" && e.status != 529 {
								t.Errorf("%s: status %d", name, e.status)
							}
							if surface != "messages" && e.status == 529 {
								t.Errorf("%s: 529 on OpenAI's surface", name)
							}
						}
						if strings.Contains(tape.body.String(), upstreamKey) {
							t.Errorf("%s: %s", name, tape.body.String())
						}
					}
				}
			}
		})
	}
}

// toldPlain is what was told if it can be read without the code under test.
func toldPlain(calls []providerCall, fault string) (string, int64, int64, string) {
	if len(calls) != 1 || fault == "gzip" {
		return "", 0, 0, ""
	}
	return told(strings.ReplaceAll(calls[0].answer.String(), "\r\n", "\n"))
}
