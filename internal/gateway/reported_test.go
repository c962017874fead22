package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// B006: a caller gets an event when it is whole, and all of it, although the
// upstream is silent afterwards; B138: nothing on the way is told to hold it
// back.
func TestAWholeEventIsNotHeldBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		long := chunk(strings.Repeat("x", 200))
		r := setup(t, one(1), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			send(w, long)
			select { // silent for a while, then the end
			case <-time.After(20 * time.Second):
			case <-q.Context().Done():
			}
			send(w, chunk("end"), "data: [DONE]\n\n")
		}))
		resp, err := r.open(t.Context(), chatPath, streamAsk)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		begun := time.Now()
		b := make([]byte, 4096)
		n, err := resp.Body.Read(b)
		got := string(b[:n])
		if err != nil || !strings.Contains(got, strings.Repeat("x", 200)) || !strings.HasSuffix(got, "\n\n") {
			t.Errorf("read %q, %v: want the whole event", got, err)
		}
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("the event came after %v", waited)
		}
		if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Cache-Control") != "no-cache" || resp.ContentLength != -1 {
			t.Errorf("headers %v", resp.Header)
		}
	})
}

// B143: two calls under one index are the upstream's business: they pass.
func TestToolCallsPassUntouched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		call := func(id, name, args string) string {
			return `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"` + id +
				`","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}}]},"finish_reason":null}]}` + "\n\n"
		}
		a, b := call("a", "f", `{\"p\":1}`), call("b", "g", `{\"q\":2}`)
		r := setup(t, one(1), events(a, b, "data: [DONE]\n\n"))
		got := r.ask(chatPath, streamAsk)
		for _, want := range []string{`"id":"a"`, `"arguments":"{\"p\":1}"`, `"id":"b"`, `"arguments":"{\"q\":2}"`} {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s is missing in %s", want, got.body)
			}
		}
	})
}

// B139: an upstream that takes less than we do says 413, which is the
// caller's to mend: it is relayed once and not tried again.
func TestUpstreamTooSmall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := inTurn(reply(413, "application/json", `{"error":{"message":"the limit is 10 MiB","type":"invalid_request_error","param":null,"code":null}}`))
		r := setup(t, one(1), up)
		got := r.ask(chatPath, plainAsk)
		if got.status != 413 || !strings.Contains(got.body, "10 MiB") || up.count() != 1 {
			t.Errorf("%d after %d calls: %s", got.status, up.count(), got.body)
		}
	})
}

// B083: a limit of the gateway's own is a 429 in the surface's shape on every surface.
func TestOwnLimitOnEverySurface(t *testing.T) {
	for path, body := range map[string]string{
		chatPath:          plainAsk,
		"/v1/completions": `{"model":"chat","prompt":"hi"}`,
		"/v1/embeddings":  `{"model":"chat","input":"hi"}`,
	} {
		t.Run(path, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1, tenantsOf("{name: a, keys: [KEY], limits: {rpm: 1}}")), quick())
				r.ask(path, body, "X-Api-Key", "secret")
				got := r.ask(path, body, "X-Api-Key", "secret")
				if got.status != 429 || code(t, got.body) != "rate_limit_exceeded" || got.header.Get("Content-Type") != "application/json" || got.header.Get("Retry-After") == "" {
					t.Errorf("%d %v %s", got.status, got.header, got.body)
				}
			})
		})
	}
}
