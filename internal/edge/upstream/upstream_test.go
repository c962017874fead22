package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a provider on loopback and a client of it.
func serve(t testing.TB, p Provider, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	p.Name, p.BaseURL = "test", srv.URL
	c, err := NewClient(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); srv.Close() })
	return c
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

const events, jsonBody = "text/event-stream", "application/json"

// take makes a call and reads its answer to the end: the data of its events, or
// its body.
func take(c *Client, call Call) (string, error) {
	if call.Path == "" {
		call.Path = "/v1/chat/completions"
	}
	if call.Body == nil {
		call.Body = []byte(`{"model":"m"}`)
	}
	res, err := c.Do(context.Background(), call)
	if err != nil {
		return "", err
	}
	defer res.Close()
	if !res.Events {
		b, err := res.ReadAll(1 << 20)
		return string(b), err
	}
	var got []string
	for {
		ev, err := res.Next()
		if err == io.EOF {
			return strings.Join(got, " "), nil
		}
		if err != nil {
			return strings.Join(got, " "), err
		}
		got = append(got, string(ev.Data))
	}
}

func asFailure(t testing.TB, err error) *Failure {
	t.Helper()
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("error is %T %v, want a *Failure", err, err)
	}
	return f
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, body string
		stream                  bool
		want                    string
	}{
		{"body", "application/json; charset=utf-8", `{"a":1}`, false, `{"a":1}`},
		{"body without a type", "", ` [1] `, false, ` [1] `},
		{"events", events + "; charset=utf-8", "data: {}\n\ndata: [DONE]\n\n", true, "{} [DONE]"},
		{"events labelled as text", "text/plain", "data: {}\n\n", true, "{}"},
		{"nothing is read behind the mark", events, "data: [DONE]\n\ndata: late\n\n", true, "[DONE]"},
		{"nor behind message_stop", events, "event: message_stop\ndata: {}\n\ndata: [DONE]\n\n", true, "{}"},
		{"pings are left out", events, "event: ping\ndata: {}\n\ndata: 1\n\nevent: ping\ndata: {}\n\ndata: 2\n\n", true, "1 2"},
		{"a stream call answered with one body", jsonBody, `{"a":1}`, true, `{"a":1}`},
		{"error null is no error", events, "data: {\"error\":null,\"a\":1}\n\n", true, `{"error":null,"a":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := take(serve(t, Provider{}, answer(200, tt.contentType, tt.body)), Call{Stream: tt.stream})
			if got != tt.want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// SawDone tells a stream with an end mark from one that merely ended (B156).
func TestSawDone(t *testing.T) {
	for body, want := range map[string]bool{
		"data: {}\n\ndata: [DONE]\n\n":                          true,
		"data: {}\n\nevent: response.completed\ndata: {}\n\n":   true,
		"data: {\"content\":\"x\"}\n\ndata: {\"usage\":{}}\n\n": false,
	} {
		c := serve(t, Provider{}, answer(200, events, body))
		res, err := c.Do(t.Context(), Call{Path: "/v1/x", Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = res.Next()
		}
		if err != io.EOF || res.SawDone() != want {
			t.Errorf("%q: %v, SawDone %v, want %v", body, err, res.SawDone(), want)
		}
		res.Close()
	}
}

func TestConnectionIsKept(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stream bool
		h      http.HandlerFunc
	}{
		{"body", false, answer(200, jsonBody, `{"a":1}`)},
		{"stream", true, answer(200, events, "data: 1\n\ndata: [DONE]\n\n")},
		{"stream with its end in a later packet", true, func(w http.ResponseWriter, r *http.Request) {
			answer(200, events, "data: 1\n\n")(w, r)
			http.NewResponseController(w).Flush()
			io.WriteString(w, "event: message_stop\ndata: {}\n\n")
			http.NewResponseController(w).Flush()
		}},
		{"status", false, answer(503, jsonBody, `{"error":{}}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peers := map[string]bool{}
			c := serve(t, Provider{}, func(w http.ResponseWriter, r *http.Request) {
				peers[r.RemoteAddr] = true
				tt.h(w, r)
			})
			for range 5 {
				take(c, Call{Stream: tt.stream})
			}
			if len(peers) != 1 {
				t.Errorf("%d connections for 5 calls in a row", len(peers))
			}
		})
	}
}

// B132, B135: the provider's key wins whatever the case, the caller's
// credentials stay here, and no encoding is asked for.
func TestRequestHeaders(t *testing.T) {
	for _, tt := range []struct {
		name        string
		p           Provider
		auth, other string // Authorization and X-Api-Key as they must arrive
	}{
		{"bearer", Provider{APIKey: "ours"}, "Bearer ours", ""},
		{"own header", Provider{APIKey: "ours", AuthHeader: "x-api-key"}, "", "ours"},
		{"no key", Provider{}, "", ""},
		{"in the headers", Provider{Headers: map[string]string{"aUTHORIZATION": "Basic ours"}}, "Basic ours", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got *http.Request
			if tt.p.Headers == nil {
				tt.p.Headers = map[string]string{"x-region": "eu"}
			}
			c := serve(t, tt.p, func(w http.ResponseWriter, r *http.Request) {
				got = r
				answer(200, jsonBody, `{}`)(w, r)
			})
			h := http.Header{
				"authorization": {"Bearer theirs"}, "X-API-KEY": {"theirs"}, "Cookie": {"theirs"}, "Proxy-Authorization": {"theirs"},
				"Accept-Encoding": {"gzip, deflate"}, "Transfer-Encoding": {"chunked"}, "content-length": {"999"}, "Connection": {"X-Keep"},
				"X-Region": {"theirs"}, "Anthropic-Beta": {"b1", "b2"},
			}
			if _, err := take(c, Call{Header: h, Body: []byte("12345")}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(fmt.Sprint(got.Header), "theirs") && tt.p.Headers["x-region"] != "" {
				t.Errorf("a caller's credential arrived: %v", got.Header)
			}
			want := map[string]string{"Authorization": tt.auth, "X-Api-Key": tt.other, "Accept-Encoding": "identity", "Content-Length": "5", "Connection": ""}
			for name, value := range want {
				if got.Header.Get(name) != value {
					t.Errorf("%s is %q, want %q", name, got.Header.Get(name), value)
				}
			}
			if got.ContentLength != 5 || len(got.TransferEncoding) != 0 || len(got.Header["Anthropic-Beta"]) != 2 {
				t.Errorf("length %d, transfer encoding %v, header %v", got.ContentLength, got.TransferEncoding, got.Header)
			}
		})
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct{ base, path, want string }{
		{"https://a.example", "/v1/chat/completions", "https://a.example/v1/chat/completions"},
		{"https://a.example/", "v1/models", "https://a.example/v1/models"},
		{"https://a.example/v1", "/v1/models", "https://a.example/v1/models"},
		{"https://a.example/v1//", "/v1/models", "https://a.example/v1/models"},
		{"http://a.example:8000/openai/v1/", "/v1/models", "http://a.example:8000/openai/v1/models"},
		{"https://a.example/api/v4", "/v1/models", "https://a.example/api/v4/models"},
		{"https://a.example/v1beta", "/v1/models", "https://a.example/v1beta/models"},
		{"https://a.example/vendor", "/v1/models", "https://a.example/vendor/v1/models"},
		{"https://a.example/v1", "/health", "https://a.example/v1/health"},
		{"https://a.example/v1?api-version=7", "/v1/messages?beta=true", "https://a.example/v1/messages?api-version=7&beta=true"},
	} {
		target, err := parseTarget(tt.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.url(tt.path).String(); got != tt.want {
			t.Errorf("%s + %s: got %s, want %s", tt.base, tt.path, got, tt.want)
		}
	}
}

func TestNewClientErrors(t *testing.T) {
	for want, p := range map[string]Provider{
		"does not begin with http": {BaseURL: "ftp://a.example"},
		"has no host":              {BaseURL: "http://"},
		"user in the URL":          {BaseURL: "http://u:p@a.example"},
		"want auto, 1.1 or 2":      {BaseURL: "http://a.example", HTTPVersion: "3"},
		`header "a b"`:             {BaseURL: "http://a.example", Headers: map[string]string{"a b": "c"}},
		"key 1 or its header":      {BaseURL: "http://a.example", APIKey: "a\nb"},
	} {
		p.Name = "p1"
		if _, err := NewClient(p); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "provider p1") {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

// B136: a stream that is compressed unasked is decoded event by event, not at
// its end.
func TestGzipStream(t *testing.T) {
	next := make(chan struct{})
	c := serve(t, Provider{}, gzipEvents(next))
	res, err := c.Do(t.Context(), Call{Path: "/v1/x", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	if res.Header.Get("Content-Encoding") != "" {
		t.Errorf("Content-Encoding is left: %v", res.Header)
	}
	for i := range 3 {
		ev, err := res.Next() // the server holds event i+1 back until this is here
		if err != nil || string(ev.Data) != fmt.Sprint(i) {
			t.Fatalf("event %d: %q, %v", i, ev.Data, err)
		}
		next <- struct{}{}
	}
	if _, err := res.Next(); err != io.EOF {
		t.Errorf("end: %v", err)
	}
}

func TestTimesOfResponse(t *testing.T) {
	before := time.Now()
	c := serve(t, Provider{}, answer(200, events, "data: 1\n\n"))
	res, err := c.Do(t.Context(), Call{Path: "/v1/x", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	times := []time.Time{before, res.Start, res.HeadersAt, res.FirstByte, time.Now()}
	for i := range times[1:] {
		if times[i+1].Before(times[i]) {
			t.Errorf("times are out of order: %v", times)
		}
	}
	if !res.Buffered() {
		t.Error("Buffered is false before the first event was taken")
	}
}
