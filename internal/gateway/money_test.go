package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/wire"
)

const responsesAsk = `{"model":"chat","stream":%t,"input":"hello"}`

// ending is one way in which a request can end, and what it costs.
type ending struct {
	name     string
	settings string // of the provider
	up       http.HandlerFunc
	path     string // chat if empty
	body     string
	act      func(*till, ending) answer // asks, if nil
	more     []http.HandlerFunc         // for further calls

	cost, input, output int64 // input -1: as it was estimated
	guessed             bool  // the row says that its tokens are estimated
	outcome             string
	attempts            int // 1 if 0
}

// stuck is an upstream that sends parts and then nothing more.
func stuck(kind string, parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		if len(parts) > 0 {
			send(w, parts...)
		}
		<-r.Context().Done()
	}
}

// slowly sends a part each second.
func slowly(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range parts {
			send(w, p)
			time.Sleep(time.Second)
		}
	}
}

const (
	events200     = "text/event-stream"
	unusedAnswer  = `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	wholeMessage  = `{"id":"msg_1","type":"message","role":"assistant","model":"vendor-m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"cache_read_input_tokens":3,"output_tokens":7}}`
	wholeResponse = `{"id":"resp_1","object":"response","model":"vendor-m","status":"completed","output":[],"usage":{"input_tokens":6,"output_tokens":2}}`
)

// leave is an act: the caller leaves after a while.
func leave(after time.Duration) func(*till, ending) answer {
	return func(s *till, e ending) answer { return s.leaving(after, e.path, e.body) }
}

func endings() []ending {
	message, messageStream := strings.Replace(fmt.Sprintf(messageAsk, false), `,"x_new":{"keep":null}`, "", 1), strings.Replace(fmt.Sprintf(messageAsk, true), `,"x_new":{"keep":null}`, "", 1)
	response, responseStream := fmt.Sprintf(responsesAsk, false), fmt.Sprintf(responsesAsk, true)
	untilDelta, _, _ := strings.Cut(messageEvents, "event: message_delta")
	onlyStart, _, _ := strings.Cut(messageEvents, "event: content_block_delta")
	failure := `data: {"error":{"message":"it broke","type":"server_error","code":null,"param":null}}` + "\n\n"
	const anthropic, offers = "kind: anthropic", "responses: true"
	return []ending{
		// Answered.
		{name: "chat", up: reply(200, "application/json", wholeAnswer), body: plainAsk, cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "chat stream", up: events(chunk("a"), finish, usage, done), body: streamAsk, cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "messages", settings: anthropic, up: reply(200, "application/json", wholeMessage), path: messagesPath, body: message, cost: 80, input: 12, output: 7, outcome: "answered"},
		{name: "messages stream", settings: anthropic, up: events(messageEvents), path: messagesPath, body: messageStream, cost: 80, input: 12, output: 7, outcome: "answered"},
		{name: "responses", settings: offers, up: reply(200, "application/json", wholeResponse), path: responsesPath, body: response, cost: 26, input: 6, output: 2, outcome: "answered"},
		{name: "responses stream", settings: offers, up: events(responseEvents), path: responsesPath, body: responseStream, cost: 26, input: 6, output: 2, outcome: "answered"},
		{name: "chat from messages", settings: anthropic, up: reply(200, "application/json", wholeMessage), body: plainAsk, cost: 80, input: 12, output: 7, outcome: "answered"},
		{name: "chat stream from messages", settings: anthropic, up: events(messageEvents), body: streamAsk, cost: 80, input: 12, output: 7, outcome: "answered"},
		{name: "messages from chat", up: reply(200, "application/json", wholeAnswer), path: messagesPath, body: message, cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "messages stream from chat", up: events(chunk("a"), finish, usage, done), path: messagesPath, body: messageStream, cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "responses from chat", up: reply(200, "application/json", wholeAnswer), path: responsesPath, body: response, cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "responses stream from chat", up: events(chunk("a"), finish, usage, done), path: responsesPath, body: responseStream, cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "embeddings without usage", up: reply(200, "application/json", `{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]}]}`),
			path: embeddingPath, body: `{"model":"chat","input":"hello"}`, input: -1, guessed: true, outcome: "answered"},

		// The provider tells no usage.
		{name: "no usage", up: reply(200, "application/json", unusedAnswer), body: plainAsk, input: -1, output: int64(len(unusedAnswer)) / bytesPerToken, guessed: true, outcome: "answered"},
		{name: "no usage, stream", up: events(chunk("a"), chunk("b"), finish, done), body: streamAsk, input: -1, output: 3, guessed: true, outcome: "answered"},
		{name: "no usage, translated stream", up: events(chunk("a"), chunk("b"), finish, done), path: messagesPath, body: messageStream, input: -1, output: 2, guessed: true, outcome: "answered"},
		{name: "no usage, no mark of the end", up: events(chunk("a"), chunk("b"), finish), body: streamAsk, input: -1, output: 3, guessed: true, outcome: "answered"},

		// Cut by the provider.
		{name: "cut", up: events(chunk("a"), chunk("b")), body: streamAsk, input: -1, output: 2, guessed: true, outcome: "cut"},
		{name: "messages cut", settings: anthropic, up: events(untilDelta), path: messagesPath, body: messageStream, cost: 9 + 1 + 10*2, input: 12, output: 2, guessed: true, outcome: "cut"},
		{name: "cut, translated", up: events(chunk("a"), chunk("b")), path: messagesPath, body: messageStream, input: -1, output: 2, guessed: true, outcome: "cut"},
		{name: "an error after tokens", up: events(chunk("a"), chunk("b"), failure), body: streamAsk, input: -1, output: 2, guessed: true, outcome: "cut"},
		{name: "broken after tokens", up: events(chunk("a"), "data: {no\n\n"), body: streamAsk, input: -1, output: 1, guessed: true, outcome: "cut"},
		{name: "idle too long", settings: "timeouts: {idle: 3s}", up: stuck(events200, chunk("a"), chunk("b")), body: streamAsk, input: -1, output: 2, guessed: true, outcome: "cut"},

		// B037, B038: the caller leaves, and a call that was broken off is paid as its
		// provider bills it.
		{name: "left before the first byte", up: stuck(""), body: streamAsk, act: leave(time.Second), outcome: "left"},
		{name: "left before the first byte, none", settings: "bill_on_cancel: none", up: stuck(""), body: streamAsk, act: leave(time.Second), outcome: "left"},
		{name: "left before the first byte, delivered", settings: "bill_on_cancel: delivered", up: stuck(""), body: streamAsk, act: leave(time.Second), outcome: "left"},
		{name: "left before the first byte, input", settings: "bill_on_cancel: input", up: stuck(""), body: streamAsk, act: leave(time.Second), input: -1, guessed: true, outcome: "left"},
		{name: "left a whole answer, input", settings: "bill_on_cancel: input", up: stuck("", " "), body: plainAsk, act: leave(time.Second), input: -1, guessed: true, outcome: "left"},
		{name: "left in the middle", up: stuck(events200, chunk("a"), chunk("b"), chunk("c")), body: streamAsk, act: leave(time.Second), input: -1, output: 3, guessed: true, outcome: "left"},
		{name: "left in the middle, input", settings: "bill_on_cancel: input", up: stuck(events200, chunk("a"), chunk("b"), chunk("c")), body: streamAsk, act: leave(time.Second), input: -1, output: 3, guessed: true, outcome: "left"},
		{name: "left messages in the middle", settings: anthropic, up: stuck(events200, untilDelta), path: messagesPath, body: messageStream, act: leave(time.Second), cost: 9 + 1 + 10*2, input: 12, output: 2, guessed: true, outcome: "left"},
		{name: "left a translated stream", settings: anthropic, up: stuck(events200, untilDelta), body: streamAsk, act: leave(time.Second), cost: 9 + 1 + 10, input: 12, output: 1, outcome: "left"},
		{name: "left after the last event", up: stuck(events200, chunk("a"), finish, usage, done), body: streamAsk, act: leave(time.Second), cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "left and drained", settings: "on_disconnect: drain", up: slowly(chunk("a"), chunk("b"), finish, usage, done), body: streamAsk, act: func(s *till, e ending) answer {
			a := s.leaving(1500*time.Millisecond, e.path, e.body)
			time.Sleep(20 * time.Second)
			return a
		}, cost: 37, input: 7, output: 3, outcome: "answered"},
		{name: "left before the first byte and drained", settings: "on_disconnect: drain", up: func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Second)
			reply(200, "application/json", wholeAnswer)(w, r)
		}, body: plainAsk, act: func(s *till, e ending) answer {
			a := s.leaving(time.Second, e.path, e.body)
			time.Sleep(20 * time.Second)
			return a
		}, cost: 37, input: 7, output: 3, outcome: "answered"},

		// Failed over: what was thrown away is paid where it costs.
		{name: "503, then good", up: reply(503, "application/json", `{"error":{"message":"busy"}}`), more: []http.HandlerFunc{events(chunk("a"), finish, usage, done)}, body: streamAsk, cost: 37, input: 7, output: 3, attempts: 2, outcome: "answered"},
		{name: "cut before content, then good", settings: anthropic, up: events(onlyStart), more: []http.HandlerFunc{events(messageEvents)}, path: messagesPath, body: messageStream, cost: 80, input: 12, output: 7, attempts: 2, outcome: "answered"},
		{name: "never good", up: reply(503, "application/json", `{"error":{"message":"busy"}}`), body: streamAsk, attempts: -1, outcome: "failed"},

		// B040: an error is no answer.
		{name: "400", up: reply(400, "application/json", `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`), body: plainAsk, outcome: "invalid"},
		{name: "an error instead of a stream", up: events(failure, done), body: streamAsk, attempts: -1, outcome: "failed"},
		{name: "an error instead of messages", settings: anthropic, up: events("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"x\"}}\n\n"), path: messagesPath, body: messageStream, attempts: -1, outcome: "*"},

		// The deadline passes while it runs.
		{name: "deadline", up: stuck(""), body: plainAsk, act: func(s *till, e ending) answer { return s.ask(e.path, e.body, "X-Spillway-Deadline-Ms", "5000") }, outcome: "timed_out"},
		{name: "deadline, input", settings: "bill_on_cancel: input", up: stuck(""), body: plainAsk,
			act: func(s *till, e ending) answer { return s.ask(e.path, e.body, "X-Spillway-Deadline-Ms", "5000") }, input: -1, guessed: true, outcome: "timed_out"},

		// The gateway is stopped.
		{name: "drained in the middle", up: stuck(events200, chunk("a"), chunk("b")), body: streamAsk, act: drained, input: -1, output: 2, guessed: true, outcome: "cut"},
		{name: "drained before the first byte, input", settings: "bill_on_cancel: input", up: stuck(""), body: streamAsk, act: drained, input: -1, guessed: true, outcome: "failed"},
	}
}

// drained is an act: the gateway is drained while the request runs.
func drained(s *till, e ending) answer {
	c := s.background(s.t.Context(), e.path, e.body)
	time.Sleep(time.Second)
	s.g.Drain(2 * time.Second)
	return <-c
}

// However a request ends, what it took is paid once: the budget, the ledger,
// the metric and the deployment say the same, and nothing stays held.
func TestEveryEndingIsPaidOnce(t *testing.T) { // B037, B040
	for _, e := range endings() {
		t.Run(e.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				if e.path == "" {
					e.path = chatPath
				}
				s := tillOf(t, providerOf(e.settings), inTurn(append([]http.HandlerFunc{e.up}, e.more...)...))
				act := e.act
				if act == nil {
					act = func(s *till, e ending) answer { return s.ask(e.path, e.body) }
				}
				surface := map[string]wire.Surface{chatPath: wire.ChatCompletions, messagesPath: wire.Messages, responsesPath: wire.Responses, embeddingPath: wire.Embeddings}[e.path]
				guess := s.guess(surface, e.body)
				act(s, e)
				if e.input < 0 {
					e.input = guess
				}
				if e.cost == 0 {
					e.cost = e.input + 10*e.output
				}
				s.paid(e.cost)
				got := s.only()
				if got.Cost != e.cost || got.Input != e.input || got.Output != e.output || got.Estimated != e.guessed || !got.Priced {
					t.Errorf("row %+v, want cost %d, input %d, output %d, estimated %v", got, e.cost, e.input, e.output, e.guessed)
				}
				if e.attempts >= 0 && got.Attempts != max(e.attempts, 1) || e.outcome != "*" && got.Outcome != e.outcome {
					t.Errorf("row %+v, want outcome %s after %d attempts", got, e.outcome, e.attempts)
				}
			})
		})
	}
}

// An attempt that we break off because nothing comes is paid as its provider
// says, beside the one that answers then.
func TestAnAttemptThatTookTooLongIsPaid(t *testing.T) { // B038
	bubble(t, func(t *testing.T) {
		s := placed(t, plainAnswers("0s-100ms silence"), plainAnswers(""), ", timeouts: {first_token: 5s}, bill_on_cancel: input", "", "budget: {day: 1000}\n")
		a := s.ask(chatPath, streamAsk)
		if a.status != 200 || a.header.Get("X-Spillway-Model") != "m-second" {
			t.Fatalf("%d %v", a.status, a.header)
		}
		first, second := s.deployment("first").Tally, s.deployment("second").Tally
		line := s.ended(1)
		if first.Cost == 0 || first.Cost > 20 || second.Cost != 2*second.Input+20*second.Output || line["spillway.cost_microdollars"] != float64(first.Cost+second.Cost) {
			t.Errorf("first %+v, second %+v, record %v", first, second, line)
		}
		if accounts := s.g.gate.Snapshot().Accounts; len(accounts) != 1 || accounts[0].Used != first.Cost+second.Cost || accounts[0].Held != 0 {
			t.Errorf("accounts %+v", accounts)
		}
	})
}
