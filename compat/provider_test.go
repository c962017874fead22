package compat

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/mock"
)

// upstreamKey is the gateway's own key at a provider.
const upstreamKey = "sk-upstream-secret"

// provider is the mock, and all that was said to it and by it. It is safe for
// concurrent use.
type provider struct {
	url string

	mu    sync.Mutex
	calls []providerCall
}

type providerCall struct {
	path   string
	header http.Header
	body   string
	answer *bytes.Buffer // read it when the exchange is over
}

func (r *rig) provider(s mock.Settings) *provider {
	m, err := mock.New(s)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mock = m
	r.t.Cleanup(m.Close)
	p := &provider{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c := providerCall{q.URL.RequestURI(), q.Header.Clone(), string(body), new(bytes.Buffer)}
		p.mu.Lock()
		p.calls = append(p.calls, c)
		p.mu.Unlock()
		q.Body = io.NopCloser(bytes.NewReader(body))
		m.ServeHTTP(&copying{w, c.answer}, q)
	}))
	r.t.Cleanup(srv.Close)
	r.t.Cleanup(srv.CloseClientConnections)
	p.url = srv.URL
	return p
}

// copying keeps what is written.
type copying struct {
	http.ResponseWriter
	kept *bytes.Buffer
}

func (c *copying) Write(b []byte) (int, error) {
	c.kept.Write(b)
	return c.ResponseWriter.Write(b)
}

func (c *copying) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *copying) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

// take is the calls since the last take.
func (p *provider) take() []providerCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

// told is an answer of a provider, in whatever dialect: its text, its tokens
// and the id of its tool call. It is read here without the code under test.
func told(answer string) (text string, in, out int64, call string) {
	docs := []string{answer}
	if !strings.HasPrefix(answer, "{") {
		docs = docs[:0]
		for line := range strings.Lines(answer) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				docs = append(docs, data)
			}
		}
	}
	for _, doc := range docs {
		d := gjson.Parse(doc)
		switch d.Get("type").Str {
		case "response.output_text.delta":
			text += d.Get("delta").Str
		case "content_block_delta":
			text += d.Get("delta.text").Str
		default:
			if d.Get("choices.0.index").Int() == 0 {
				text += d.Get("choices.0.delta.content").Str + d.Get("choices.0.message.content").Str
			}
			for _, path := range []string{"content.#.text", "output.#.content.0.text", "candidates.0.content.parts.#.text"} {
				for _, piece := range d.Get(path).Array() {
					text += piece.Str
				}
			}
		}
		for _, path := range []string{"usage", "message.usage", "response.usage", "usageMetadata"} {
			for _, name := range []string{"prompt_tokens", "input_tokens", "promptTokenCount"} {
				in = max(in, d.Get(path+"."+name).Int())
			}
			for _, name := range []string{"completion_tokens", "output_tokens", "candidatesTokenCount"} {
				out = max(out, d.Get(path+"."+name).Int())
			}
		}
	}
	return text, in, out, callID.FindString(answer)
}

var callID = regexp.MustCompile(`(call|toolu)_[0-9a-f]{16}`)
