package wire

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestErrorWrite(t *testing.T) {
	tests := []struct {
		name                           string
		e                              Error
		retryAfter, retryMs, shouldTry string
		bodyMs                         float64
	}{
		{"no wait known", Error{Status: 503}, "", "", "", 0},
		{"B080 half a second", Error{Status: 429, RetryAfter: 493 * time.Millisecond}, "1", "493", "", 493},
		{"B074 a fifth of a second", Error{Status: 429, RetryAfter: 120 * time.Millisecond}, "1", "200", "", 120},
		{"B074 next to nothing", Error{Status: 429, RetryAfter: 1}, "1", "200", "", 1},
		{"B074 negative", Error{Status: 429, RetryAfter: -time.Second}, "", "", "", 0},
		{"whole", Error{Status: 429, RetryAfter: 10 * time.Second}, "10", "10000", "", 10000},
		{"rounds up", Error{Status: 429, RetryAfter: 10*time.Second + 1}, "11", "10001", "", 10001},
		{"at the bound", Error{Status: 429, RetryAfter: 59 * time.Second}, "59", "59000", "", 59000},
		{"above the bound", Error{Status: 429, RetryAfter: 59*time.Second + time.Millisecond}, "59", "59000", "false", 59001},
		{"B073 half an hour", Error{Status: 429, RetryAfter: 1800 * time.Second}, "59", "59000", "false", 1800000},
		{"never", Error{Status: 402, NoRetry: true}, "", "", "false", 0},
		{"a retry too many", Error{Status: 429, NoRetry: true, RetryAfter: 2 * time.Second}, "2", "2000", "false", 2000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for form, write := range map[string]func(http.ResponseWriter){"application/json": tt.e.Write, "application/problem+json": tt.e.WriteProblem} {
				w := httptest.NewRecorder()
				w.Header().Set("Content-Length", "7") // of an answer that was given up
				write(w)
				h := w.Header()
				if w.Code != tt.e.Status || h.Get("Content-Type") != form {
					t.Errorf("%d %s, want %d %s", w.Code, h.Get("Content-Type"), tt.e.Status, form)
				}
				if h.Get("Retry-After") != tt.retryAfter || h.Get("Retry-After-Ms") != tt.retryMs || h.Get("X-Should-Retry") != tt.shouldTry {
					t.Errorf("headers %v, want %q %q %q", h, tt.retryAfter, tt.retryMs, tt.shouldTry)
				}
				var body map[string]any
				if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
					t.Fatal(err)
				}
				if inner, ok := body["error"].(map[string]any); ok {
					body = inner
				}
				if got, _ := body["retry_after_ms"].(float64); got != tt.bodyMs {
					t.Errorf("true wait in the body is %v ms, want %v", got, tt.bodyMs)
				}
			}
		})
	}
}

func TestErrorBody(t *testing.T) {
	tests := []struct {
		name string
		e    Error
		want string
	}{
		{"B089 all four keys", Error{Status: 401, Type: "authentication_error", Message: "no key"},
			`{"error":{"message":"no key","type":"authentication_error","param":null,"code":null}}`},
		{"param and code", Error{Type: "invalid_request_error", Code: "model_not_found", Param: "model", Message: "a \"b\"\n<c>"},
			`{"error":{"message":"a \"b\"\n<c>","type":"invalid_request_error","param":"model","code":"model_not_found"}}`},
		{"a refusal says why", Error{Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "m", RequestID: "req_1", RetryAfter: 1500 * time.Millisecond,
			Stage: "quota", Limit: "requests_per_minute", Scope: "tenant bank", Figure: "600", EstimatedWait: 2 * time.Second},
			`{"error":{"message":"m","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded","stage":"quota","limit":"requests_per_minute","scope":"tenant bank","figure":"600","estimated_wait_ms":2000,"retry_after_ms":1500,"request_id":"req_1"}}`},
		{"bad UTF-8", Error{Type: "t", Message: "\xff"}, `{"error":{"message":"` + "\uFFFD" + `","type":"t","param":null,"code":null}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.e.Body()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			// B012: one data line and a blank line, whatever is in the message.
			if got := string(tt.e.Event()); got != "data: "+tt.want+"\n\n" || strings.Count(got, "\n") != 2 {
				t.Errorf("event is %q", got)
			}
			// The event is what a gateway behind this one reads as an error.
			if e, ok := ErrorInChunk([]byte(tt.want)); !ok || e.Type != tt.e.Type {
				t.Errorf("read back as %t %+v", ok, e)
			}
		})
	}
}

func TestErrorRequestID(t *testing.T) {
	w := httptest.NewRecorder()
	(&Error{Status: 500, RequestID: "req_1"}).Write(w)
	if got := w.Header().Get("X-Request-Id"); got != "req_1" {
		t.Errorf("x-request-id is %q", got)
	}
}
