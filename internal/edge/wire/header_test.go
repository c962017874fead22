package wire

import (
	"net/http"
	"reflect"
	"testing"
)

func TestForwardHeaders(t *testing.T) {
	src := headers(
		// B131, B132: no credential and nothing unknown goes upstream.
		"X-Goog-Api-Key", "CANARY1", "X-Api-Key", "CANARY2", "Authorization", "CANARY3", "Cookie", "CANARY4", "X-Internal", "CANARY5",
		"Proxy-Authorization", "CANARY6", "X-Pass-Authorization", "CANARY7", "OpenAI-Organization", "CANARY8", "X-Spillway-Class", "batch",
		// B134: nothing of the connection.
		"Connection", "x-foo, keep-alive", "Connection", "tracestate", "X-Foo", "1", "Te", "trailers", "Expect", "100-continue",
		"Transfer-Encoding", "chunked", "Content-Length", "5", "Host", "h", "Upgrade", "x", "Keep-Alive", "5",
		// B135: nothing that makes the upstream compress.
		"Accept-Encoding", "gzip, deflate", "Accept", "application/json", "User-Agent", "curl",
		"Content-Type", "application/json", "OpenAI-Beta", "a", "OpenAI-Beta", "b", "Idempotency-Key", "k",
		"Traceparent", "00-1", "Tracestate", "x=1", "X-Request-Id", "theirs",
	)
	dst := headers("Authorization", "upstream key", "X-Request-Id", "ours")
	ForwardHeaders(dst, src)
	want := http.Header{
		"Authorization": {"upstream key"}, "X-Request-Id": {"ours"}, "Content-Type": {"application/json"},
		"Openai-Beta": {"a", "b"}, "Idempotency-Key": {"k"}, "Traceparent": {"00-1"},
	}
	if !reflect.DeepEqual(dst, want) {
		t.Errorf("got  %v\nwant %v", dst, want)
	}
	dst.Add("Openai-Beta", "c")
	if len(src["Openai-Beta"]) != 2 || cap(src["Openai-Beta"]) > 2 && src["Openai-Beta"][:3][2] == "c" {
		t.Error("adding to the copy wrote into the caller's headers")
	}
}

func TestRelayHeaders(t *testing.T) {
	src := headers(
		// B084, B096: limits, cookies and ids are of the gateway's account.
		"Set-Cookie", "s", "Openai-Organization", "org-1", "Openai-Project", "proj_1", "X-Ratelimit-Limit-Requests", "1", "X-Ratelimit-Remaining-Tokens", "-1",
		"Retry-After", "600", "X-Should-Retry", "true", "X-Request-Id", "theirs", "Content-Length", "3", "Content-Encoding", "gzip", "Server", "x",
		"Connection", "close", "Content-Type", "text/event-stream", "Openai-Processing-Ms", "12", "Openai-Version", "2020-10-01",
	)
	dst := http.Header{}
	RelayHeaders(dst, src)
	want := http.Header{"Content-Type": {"text/event-stream"}, "Openai-Processing-Ms": {"12"}, "Openai-Version": {"2020-10-01"}}
	if !reflect.DeepEqual(dst, want) {
		t.Errorf("got  %v\nwant %v", dst, want)
	}
}
