package compat

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

const (
	roleChunk   = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"big-1-int8","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	oneChunk    = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"big-1-int8","choices":[{"index":0,"delta":{"content":"one "},"finish_reason":null}]}`
	twoChunk    = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"big-1-int8","choices":[{"index":0,"delta":{"content":"two"},"finish_reason":null}]}`
	finishChunk = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"big-1-int8","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	wholeAnswer = `{"id":"c1","object":"chat.completion","created":1,"model":"big-1-int8","choices":[{"index":0,"message":{"role":"assistant","content":"one two"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
)

func event(data string) string { return "data: " + data + "\n\n" }

// scripted is an upstream that streams a given text, whatever it is asked.
func scripted(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.Join(parts, ""))
	}
}

// capture is an upstream that hands on the body of each request, as members.
func capture(bodies chan<- map[string]json.RawMessage) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		bodies <- body
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, wholeAnswer)
	}
}
