package mock

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"
)

// constant are settings whose every request takes exactly a second.
func constant() Settings {
	return Settings{Slots: 2, ServiceMean: time.Second, Noise: new(0.0), OutputMean: 11, Seed: 1}
}

func setup(t *testing.T, settings Settings) *Server {
	t.Helper()
	s, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// tape records an answer and when its parts were flushed.
type tape struct {
	header  http.Header
	status  int
	body    []byte
	flushes []flush
	begin   time.Time
	end     time.Duration // when the handler returned
	aborted bool          // the connection was broken off
}

type flush struct {
	at    time.Duration // since the request
	bytes int           // of the body so far
}

func (p *tape) Header() http.Header { return p.header }
func (p *tape) WriteHeader(status int) {
	if p.status == 0 {
		p.status = status
	}
}
func (p *tape) Write(b []byte) (int, error) {
	p.WriteHeader(200)
	p.body = append(p.body, b...)
	return len(b), nil
}
func (p *tape) Flush() {
	p.WriteHeader(200)
	p.flushes = append(p.flushes, flush{time.Since(p.begin), len(p.body)})
}

// ask sends one request straight into the handler and waits for its end.
func ask(ctx context.Context, s *Server, method, path, body string, header ...string) (p *tape) {
	r, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	p = &tape{header: http.Header{}, begin: time.Now()}
	defer func() { p.end = time.Since(p.begin) }()
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			p.aborted = true
		} else if v != nil {
			panic(v)
		}
	}()
	s.ServeHTTP(p, r)
	p.WriteHeader(200)
	return p
}

const (
	chatPath = "/v1/chat/completions"
	plainAsk = `{"model":"m","messages":[{"role":"user","content":"hello you"}]}`
	streamed = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello you"}]}`
)

func askChat(s *Server, body string, header ...string) *tape {
	return ask(context.Background(), s, "POST", chatPath, body, header...)
}

// within runs f at the same time n times and waits for all.
func within(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// events are the data of a stream's events.
func (p *tape) events() []string {
	var out []string
	for block := range strings.SplitSeq(strings.ReplaceAll(string(p.body), "\r\n", "\n"), "\n\n") {
		if _, named, ok := strings.Cut(block, "\n"); ok && strings.HasPrefix(block, "event: ") {
			block = named
		}
		if data, ok := strings.CutPrefix(block, "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

// content joins the text of one choice of a stream.
func (p *tape) content(choice int) string {
	var b strings.Builder
	for _, event := range p.events() {
		for _, c := range gjson.Get(event, "choices").Array() {
			if int(c.Get("index").Int()) == choice {
				b.WriteString(c.Get("delta.content").Str + c.Get("text").Str)
			}
		}
	}
	return b.String()
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want-tolerance || got > want+tolerance {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, tolerance)
	}
}

func TestChatAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		p := askChat(s, plainAsk)
		if p.end != time.Second {
			t.Errorf("took %v, want 1s", p.end)
		}
		if !json.Valid(p.body) {
			t.Fatalf("not JSON: %s", p.body)
		}
		for path, want := range map[string]string{
			"object": "chat.completion", "model": "m", "choices.#": "1", "choices.0.index": "0",
			"choices.0.message.role": "assistant", "choices.0.finish_reason": "stop",
			"choices.0.logprobs": "", "choices.0.message.refusal": "",
			"usage.prompt_tokens": "3", "usage.completion_tokens": "11", "usage.total_tokens": "14",
			"usage.prompt_tokens_details.cached_tokens": "0", "usage.completion_tokens_details.reasoning_tokens": "0",
			"mock.service_s": "1.0000", "mock.queue_s": "0.0000", "system_fingerprint": "fp_mock",
		} {
			if v := gjson.GetBytes(p.body, path); !v.Exists() || (v.String() != want && v.Raw != want) {
				t.Errorf("%s is %q, want %q", path, v.Raw, want)
			}
		}
		text := gjson.GetBytes(p.body, "choices.0.message.content").Str
		if len(strings.Fields(text)) != 11 {
			t.Errorf("content %q is not 11 words", text)
		}
		for key, want := range map[string]string{"Content-Type": "application/json", "Openai-Processing-Ms": "1000", "Openai-Version": "2020-10-01"} {
			if got := p.header.Get(key); got != want {
				t.Errorf("header %s is %q, want %q", key, got, want)
			}
		}
		if !strings.HasPrefix(p.header.Get("X-Request-Id"), "req_") {
			t.Errorf("x-request-id is %q", p.header.Get("X-Request-Id"))
		}
	})
}

func TestQueueTimeIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := constant()
		settings.Slots = 1
		s := setup(t, settings)
		go askChat(s, plainAsk)
		synctest.Wait()
		p := askChat(s, plainAsk) // waits for the first
		if got := gjson.GetBytes(p.body, "mock").Raw; got != `{"service_s":1.0000,"queue_s":1.0000}` {
			t.Errorf("mock member is %s", got)
		}
		if got := p.header.Get("Openai-Processing-Ms"); got != "2000" {
			t.Errorf("openai-processing-ms is %s, want 2000", got)
		}
	})
}

func TestEmbeddings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, constant())
		for _, test := range []struct {
			name, body     string
			inputs, tokens int64
		}{
			{"one text", `{"model":"m","input":"hello you"}`, 1, 3},
			{"two texts", `{"model":"m","input":["hello you","abcd"]}`, 2, 4},
			{"token ids", `{"model":"m","input":[1,2,3]}`, 1, 3},
			{"lists of ids", `{"model":"m","input":[[1,2,3],[4]]}`, 2, 4},
		} {
			p := ask(t.Context(), s, "POST", "/v1/embeddings", test.body)
			root := gjson.ParseBytes(p.body)
			if !json.Valid(p.body) || root.Get("data.#").Int() != test.inputs || root.Get("usage.prompt_tokens").Int() != test.tokens ||
				root.Get("data.0.embedding.#").Int() != 256 || !root.Get("mock.service_s").Exists() {
				t.Errorf("%s: %.200s", test.name, p.body)
			}
		}
		// B154: base64 when asked for, little-endian float32.
		p := ask(t.Context(), s, "POST", "/v1/embeddings", `{"model":"m","input":"x","encoding_format":"base64","dimensions":3}`)
		if v := gjson.GetBytes(p.body, "data.0.embedding"); v.Type != gjson.String || len(v.Str) != 16 {
			t.Errorf("embedding is %s, want 16 base64 characters", v.Raw)
		}
	})
}

func TestOtherRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := constant()
		settings.Models, settings.RateLimitHeaders = []string{"a", "b"}, true
		s := setup(t, settings)
		for _, test := range []struct {
			method, path, body string
			status             int
			path2, want        string
		}{
			{"GET", "/v1/models", "", 200, "data.#.id", `["a","b"]`},
			{"GET", "/healthz", "", 200, "status", `"ok"`},
			{"GET", "/stats", "", 200, "slots", "2"},
			{"GET", "/nowhere", "", 404, "error.code", `"unknown_url"`},
			{"POST", chatPath, `{"model":"c","messages":[]}`, 404, "error.code", `"model_not_found"`},
			{"POST", chatPath, `{"model":"a"}`, 400, "error.param", "null"},
			{"POST", chatPath, `{`, 400, "error.type", `"invalid_request_error"`},
			{"POST", chatPath, `{"model":"a","messages":[]}`, 200, "choices.#", "1"},
			{"POST", chatPath, `{"model":"a","n":0,"messages":[]}`, 400, "error.message", `"Invalid request: n is 0: 1 to 128."`},
		} {
			p := ask(t.Context(), s, test.method, test.path, test.body)
			if got := gjson.GetBytes(p.body, test.path2).Raw; p.status != test.status || got != test.want {
				t.Errorf("%s %s %s: %d, %s is %s; want %d, %s", test.method, test.path, test.body, p.status, test.path2, got, test.status, test.want)
			}
			if strings.HasPrefix(test.path, chatPath) && p.header.Get("X-Ratelimit-Remaining-Requests") != "2" {
				t.Errorf("x-ratelimit headers are %v", p.header)
			}
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := constant()
		settings.Slots = 1
		settings.Schedule = "10s-20s brownout=2"
		s := setup(t, settings)
		tapes := make([]*tape, 2)
		go func() {
			time.Sleep(300 * time.Millisecond)
			s.Close()
			s.Close() // more than once is fine
		}()
		within(2, func(i int) { tapes[i] = askChat(s, plainAsk) })
		for i, p := range tapes { // one ran, one waited
			if !p.aborted || p.end != 300*time.Millisecond {
				t.Errorf("request %d: aborted %v after %v, want broken off at 300ms", i, p.aborted, p.end)
			}
		}
		if p := askChat(s, plainAsk); p.status != 503 {
			t.Errorf("after Close: status %d, want 503", p.status)
		}
		if st := s.Stats(); st.Inflight != 0 || st.Queued != 0 {
			t.Errorf("after Close: %+v", st)
		}
	})
}
