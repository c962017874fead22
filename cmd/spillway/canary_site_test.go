package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// secret is something that must not come out but where it belongs.
type secret string

// The secrets that are planted.
const (
	providerKey   secret = "the provider's key in the file"
	variableKey   secret = "a provider's key in a variable"
	secondKey     secret = "the second of two keys"
	headerValue   secret = "a header for the provider"
	tenantKey     secret = "the tenant's key"
	slowKey       secret = "the key of another tenant"
	wrongKey      secret = "a key that nobody has"
	wrongToken    secret = "a token that nobody has"
	adminToken    secret = "the admin's token"
	viewerToken   secret = "the viewer's token"
	session       secret = "the operator's session"
	password      secret = "the password of the database"
	hookPath      secret = "the webhook's address"
	collectorKey  secret = "the collector's key"
	prompt        secret = "the prompt"
	arguments     secret = "the arguments of a tool"
	picture       secret = "a picture"
	completion    secret = "the answer"
	endUser       secret = "the end user"
	sessionName   secret = "the session of a conversation"
	metadata      secret = "metadata"
	query         secret = "the query string"
	cookie        secret = "a cookie of the caller"
	goog          secret = "x-goog-api-key"
	unheard       secret = "a header nobody knows"
	upstreamSays  secret = "a header of the upstream's answer"
	faultyFileKey secret = "a key in a faulty file"
	faultyChange  secret = "a key in a faulty change"
	spareKey      secret = "a key of which a change tells the hash"
)

// anyHash stands for the hashes of all keys in what an output may have.
const anyHash secret = "the hashes of keys"

// text is what stands for the secret: letters and digits by chance, so that no
// part of it is anywhere else.
func (s secret) text() string {
	sum := sha256.Sum256([]byte("canary of " + s))
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return 'x'
	}, base64.StdEncoding.EncodeToString(sum[:]))[:36]
}

// parts are what must not be in an output: every twelve characters of the secret
// as it is, in base64 wherever it begins, and in hexadecimal. Nothing in it is
// changed by URLs or JSON.
func (s secret) parts() []string { return partsOf(s.text()) }

func partsOf(text string) (parts []string) {
	const size = 12
	forms := []string{text, hex.EncodeToString([]byte(text))}
	for before := range 3 {
		// The digits that depend on the secret alone are neither first nor last.
		digits := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("-", before) + text))
		forms = append(forms, digits[4:len(digits)-4])
	}
	for _, form := range forms {
		for i := range len(form) - size + 1 {
			parts = append(parts, form[i:i+size])
		}
	}
	return parts
}

// site is what is around the gateway: providers that fail in every way, and a
// collector of traces that keeps what it is told.
type site struct {
	t      *testing.T
	up     *httptest.Server
	traces *httptest.Server
	hook   *httptest.Server

	mu     sync.Mutex
	traced []byte
	hooked []byte
	called int
}

func newSite(t *testing.T) *site {
	s := &site{t: t}
	s.up = httptest.NewServer(http.HandlerFunc(s.answer))
	s.up.Config.ErrorLog = quiet()
	s.traces = httptest.NewServer(keep(&s.mu, &s.traced))
	s.hook = httptest.NewServer(keep(&s.mu, &s.hooked))
	t.Cleanup(func() { s.up.CloseClientConnections(); s.up.Close(); s.traces.Close(); s.hook.Close() })
	return s
}

func keep(mu *sync.Mutex, into *[]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, _ = io.ReadAll(z)
		}
		mu.Lock()
		defer mu.Unlock()
		*into = append(*into, b...)
	})
}

// got is what has come to one of the two.
func (s *site) got(from *[]byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(*from)
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

// answer is what the provider does; the model says what goes wrong. Its errors
// repeat the credentials in every form.
func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.called++
	s.mu.Unlock()
	h := w.Header()
	for _, name := range []string{"Set-Cookie", "Openai-Organization", "X-Request-Id", "X-Ratelimit-Account", "Www-Authenticate", "Server"} {
		h.Set(name, upstreamSays.text())
	}
	credential := r.Header.Get("Authorization")
	key := strings.TrimPrefix(credential, "Bearer ")
	words := strings.Join([]string{
		"Incorrect API key provided: " + key, "header " + credential, base64.StdEncoding.EncodeToString([]byte(credential)),
		base64.URLEncoding.EncodeToString([]byte("user:" + key)), url.QueryEscape(credential), hex.EncodeToString([]byte(key)),
		"masked " + key[:min(len(key), 16)] + "****", "end ****" + key[max(0, len(key)-14):], r.Header.Get("X-Account"),
	}, "; ")
	fails := func(status int) {
		h.Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"bad_%s","code":%q,"param":%q}}`, words, key, key, key)
	}
	model := between(string(body), `"model":"`, `"`)
	switch model {
	case "echo-401":
		fails(http.StatusUnauthorized)
	case "echo-400":
		fails(http.StatusBadRequest)
	case "echo-429":
		h.Set("Retry-After", "0")
		fails(http.StatusTooManyRequests)
	case "echo-500":
		fails(http.StatusInternalServerError)
	case "echo-503":
		h.Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, words)
	case "page":
		h.Set("Content-Type", "text/html")
		io.WriteString(w, "<html>"+words)
	case "inside": // an error in a 200
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"server_error"}}`, words)
	case "away":
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	case "cut", "broken":
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		buf.WriteString(streamHead)
		fmt.Fprintf(buf, "data: %s\n\n", chunkOf("a"))
		if model == "broken" {
			fmt.Fprintf(buf, "data: {\"error\":{\"message\":%q,\"type\":\"server_error\"}}\n\n", words)
		}
		buf.Flush()
		conn.Close()
	case "silent":
		<-r.Context().Done()
	default:
		select { // long enough for more capacity to be wanted
		case <-time.After(30 * time.Millisecond):
		case <-r.Context().Done():
		}
		if strings.Contains(string(body), `"stream":true`) {
			h.Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", chunkOf(completion.text()), strings.Replace(chunkOf(""), "null}", `"stop"}`, 1))
			return
		}
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"a","object":"chat.completion","model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`,
			model, completion.text())
	}
}

func chunkOf(text string) string {
	return fmt.Sprintf(`{"id":"a","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text)
}

func between(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	in, _, _ := strings.Cut(rest, to)
	return in
}

// faults are the models of the file, each with a deployment that fails its own way.
var faults = []string{"echo-401", "echo-400", "echo-429", "echo-500", "echo-503", "page", "inside", "away", "cut", "broken", "silent", "tls", "nowhere"}

// configuration is a file with every secret that a file can hold.
func (s *site) configuration(ledger string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
log: {level: debug}
providers:
  up: {base_url: "%[1]s/v1", api_key: %[2]s, headers: {X-Account: %[3]s}, http: "1.1", timeouts: {headers: 300ms, first_token: 300ms}}
  other: {base_url: "%[1]s/v1", api_keys: ["${CANARY_KEY}", %[4]s], headers: {X-Account: %[3]s}}
  tls: {base_url: "https://%[5]s/v1", api_key: %[2]s}
  nowhere: {base_url: "http://127.0.0.1:1/v1", api_key: %[2]s, timeouts: {dial: 300ms}}
retry: {attempts: 1}
scale_up: {webhook: "%[6]s/%[7]s?token=%[7]s"}
models:
  chat:
    cache: true
    deployments: [{provider: up, model: vendor, concurrency: 4, price: {input: 1, output: 2}}]
    breaker: {total: {open: off, scale_up: 10ms}}
    degrade: [{name: brief, max_output_tokens: 5}]
  twice: {deployments: [{provider: other, model: vendor, concurrency: 4}]}
  twice-400: {deployments: [{provider: other, model: echo-400, concurrency: 4}]}
`, s.up.URL, providerKey.text(), headerValue.text(), secondKey.text(), s.up.Listener.Addr(), s.hook.URL, hookPath.text())
	for _, name := range faults {
		provider, model := "up", name
		if slices.Contains([]string{"tls", "nowhere"}, name) {
			provider = name
		}
		fmt.Fprintf(&b, "  %s: {deployments: [{provider: %s, model: %s, concurrency: 4}]}\n", name, provider, model)
	}
	fmt.Fprintf(&b, `
answers: {size: 1MiB}
traces: {endpoint: %q, headers: {Api-Key: %s}, sample: 100%%}
tenants:
  - {name: shop, keys: [{hash: %q, name: till}], degrade: any}
  - {name: slow, keys: [%q], limits: {rpm: 1}}
admin:
  tokens:
    - {name: root, hash: %q, role: admin}
    - {name: eye, hash: %q}
%s`, s.traces.URL, collectorKey.text(), config.HashKey(tenantKey.text()), config.HashKey(slowKey.text()),
		config.HashKey(adminToken.text()), config.HashKey(viewerToken.text()), ledger)
	return b.String()
}
