package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A stream arrives the same wherever the network cuts it, with every rewrite
// at work: the alias, the usage chunk left out, "error":null left out.
func TestStreamCutAtEveryByte(t *testing.T) { // B001, B002, B003, B004
	null := `data: {"id":"c","error":null,"model":"vendor/m-2026","choices":[{"index":0,"delta":{"content":"北"}}]}` + "\n\n"
	sent := chunk("你好🙂") + null + finish + usage + done
	want := alias(chunk("你好🙂") + strings.Replace(null, `"error":null,`, "", 1) + finish + done)
	for _, c := range []struct{ name, sent string }{
		{"LF", sent}, {"CRLF", strings.ReplaceAll(sent, "\n", "\r\n")}, {"CR", strings.ReplaceAll(sent, "\n", "\r")},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cut := 0
				r := setup(t, one(1), http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					events(c.sent[:cut], c.sent[cut:])(w, q)
				}))
				for cut = 1; cut < len(c.sent); cut++ {
					if a := r.ask(chatPath, streamAsk); a.body != want || a.err != nil {
						t.Fatalf("cut at %d (%v): got\n%q\nwant\n%q", cut, a.err, a.body, want)
					}
					if line := r.ended(cut); line["spillway.output_tokens"] != 3.0 || line["spillway.tokens_estimated"] != nil {
						t.Fatalf("cut at %d: record %v", cut, line)
					}
				}
			})
		})
	}
}

func TestStreamByteByByte(t *testing.T) { // B001
	bubble(t, func(t *testing.T) {
		sent := chunk("你好🙂") + finish + done
		r := setup(t, one(1), events(strings.Split(sent, "")...))
		if a := r.ask(chatPath, streamAsk); a.body != alias(sent) {
			t.Errorf("got %q", a.body)
		}
	})
}

// What clients die of is not passed on, and what they need is.
func TestOddFrames(t *testing.T) { // B007, B009, B010, B014
	plain := chunk("a") + finish + done
	for _, c := range []struct{ name, sent string }{
		{"comments", ": PROCESSING\n\n: PROCESSING\n\n" + chunk("a") + ": k\n" + finish + ": ping\n\n" + done},
		{"retry", "retry: 3000\n\n" + plain},
		{"event without data", "event: keepalive\n\n" + plain},
		{"empty data", "data:\n\n" + plain},
		{"byte order mark", "\xef\xbb\xbf" + plain},
		{"blank lines", "\n\n\n" + plain},
		{"named ping", "event: ping\ndata: {\"type\": \"ping\"}\n\n" + plain},
		{"ping", "data: {\"type\": \"ping\"}\n\n" + plain},
		{"after the end", plain + chunk("z")},
		{"no blank line at the end", strings.TrimSuffix(plain, "\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1), events(c.sent))
				if a := r.ask(chatPath, streamAsk); a.body != alias(plain) || a.err != nil {
					t.Errorf("got %q (%v)", a.body, a.err)
				}
				if line := r.ended(1); line["spillway.outcome"] != "answered" {
					t.Errorf("record %v", line)
				}
			})
		})
	}
}

// Ends that are complete enough, and those that only look so.
func TestStreamEnds(t *testing.T) { // B156
	odd := "data: {\"choices\":[{\"delta\":\n\n"
	for _, c := range []struct {
		name, sent, want string
		whole            bool
	}{
		{"no end mark", chunk("a") + finish, chunk("a") + finish, true},
		{"no finish reason", chunk("a") + done, chunk("a") + done, true},
		{"neither", chunk("a") + usage, chunk("a"), false},
		{"malformed event", chunk("a") + odd + finish + done, chunk("a"), false}, // a piece is lost
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := setup(t, one(1), events(c.sent))
				a := r.ask(chatPath, streamAsk)
				rest, ok := strings.CutPrefix(a.body, alias(c.want))
				if !ok || (a.err == nil) != c.whole || (rest == "") != c.whole {
					t.Errorf("got %q (%v)", a.body, a.err)
				}
				want := "answered"
				if !c.whole {
					want = "cut"
				}
				if line := r.ended(1); line["spillway.outcome"] != want {
					t.Errorf("record %v", line)
				}
			})
		})
	}
}

func TestLargeEvents(t *testing.T) { // B017, B018
	for _, size := range []int{70_000, 1_200_000} {
		bubble(t, func(t *testing.T) {
			sent := chunk(strings.Repeat("x", size)) + finish + done
			r := setup(t, one(1), events(sent))
			if a := r.ask(chatPath, streamAsk); a.body != alias(sent) {
				t.Errorf("%d bytes: %d %v, %d bytes", size, a.status, a.err, len(a.body))
			}
		})
	}
	bubble(t, func(t *testing.T) { // above the configured limit
		r := setup(t, one(1, "limits: {event: 8192}"), events(chunk("a"), chunk(strings.Repeat("x", 8192)), finish, done))
		a := r.ask(chatPath, streamAsk)
		p := payloads(a.body)
		if a.err == nil || len(p) != 2 || gjson.Get(p[1], "error.code").Str != "upstream_error" {
			t.Errorf("%v %.400q", a.err, a.body)
		}
		if line := r.ended(1); line["spillway.outcome"] != "cut" || line["spillway.kind"] != "too_large" {
			t.Errorf("record %v", line)
		}
	})
}

func TestFaultsOfTheMock(t *testing.T) { // B136 and the frames that must not matter
	for _, fault := range []string{"gzip", "crlf", "comments", "bytewise", "big=70000", "no-done"} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprint(fault, stream), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := setup(t, one(1), quick())
					body := fmt.Sprintf(`{"model":"chat","stream":%v,"messages":[{"role":"user","content":"x"}],"metadata":{"mock_fault":%q}}`, stream, fault)
					a := r.ask(chatPath, body)
					if a.status != 200 || a.err != nil || a.header.Get("Content-Encoding") != "" {
						t.Fatalf("%d %v %v", a.status, a.err, a.header)
					}
					text := gjson.Get(a.body, "choices.0.message.content").Str
					for _, p := range payloads(a.body) {
						text += gjson.Get(p, "choices.0.delta.content").Str
					}
					if len(text) < 40 {
						t.Errorf("the text is %q", text)
					}
					if line := r.ended(1); line["spillway.output_tokens"] != 11.0 || line["spillway.outcome"] != "answered" {
						t.Errorf("record %v", line)
					}
				})
			})
		}
	}
}

// B154: base64 vectors although the upstream sends floats, floats if not asked.
func TestEmbeddingEncoding(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, one(1), reply(200, "application/json", `{"object":"list","model":"vendor/m-2026","data":[{"index":0,"embedding":[0.5,-1]}],"usage":{"prompt_tokens":1,"total_tokens":1}}`))
		for body, want := range map[string]string{
			`{"model":"chat","input":"x","encoding_format":"base64"}`: `"AAAAPwAAgL8="`,
			`{"model":"chat","input":"x"}`:                            `[0.5,-1]`,
		} {
			if a := r.ask(embeddingPath, body); gjson.Get(a.body, "data.0.embedding").Raw != want || gjson.Get(a.body, "model").Str != "chat" {
				t.Errorf("%s: %s", body, a.body)
			}
		}
	})
}
