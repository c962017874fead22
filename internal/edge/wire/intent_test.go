package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestReadIntentDeadline(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	tests := []struct {
		header, value string
		want          time.Duration
	}{
		{"x-spillway-deadline-ms", "1500", 1500 * ms},
		{"x-spillway-deadline-ms", "0", 0},
		// B163: what makes no sense says nothing. Blanks around a value are not part of it (RFC 9110).
		{"x-spillway-deadline-ms", "9223372036854775807", 0},
		{"x-spillway-deadline-ms", "-1", 0},
		{"x-spillway-deadline-ms", "1e99", 0},
		{"x-spillway-deadline-ms", " 5 ", 5 * ms},
		{"x-spillway-deadline-ms", "abc", 0},
		{"x-spillway-deadline-ms", "", 0},
		{"x-spillway-deadline-ms", "86400000", 24 * time.Hour},
		{"x-spillway-deadline-ms", "86400001", 0},
		{"x-envoy-expected-rq-timeout-ms", "250", 250 * ms},
		{"x-envoy-expected-rq-timeout-ms", "0", 0}, // none, says Envoy
		{"x-request-timeout", "2.5", 2500 * ms},
		{"x-litellm-timeout", "0.1", 100 * ms},
		{"x-stainless-timeout", "600", 600 * s},
		{"x-stainless-timeout", "0", 500 * ms}, // cut to whole seconds by the SDK
		{"x-stainless-timeout", "0.2", 500 * ms},
		{"x-stainless-timeout", "2.5", 2500 * ms},
		{"x-stainless-timeout", "NOT_GIVEN", 0},
		{"x-stainless-timeout", "None", 0},
		{"x-stainless-timeout", "-5", 0},
		{"x-stainless-timeout", "inf", 0},
		{"x-stainless-timeout", "NaN", 0},
		{"x-stainless-timeout", "0x10", 0},
		{"x-stainless-timeout", "1_000", 0},
		{"x-stainless-timeout", "1.2.3", 0},
		{"x-stainless-timeout", ".", 0},
		{"x-stainless-timeout", strings.Repeat("9", 400), 0},
		{"x-stainless-read-timeout", "600.0", 600 * s},
		{"grpc-timeout", "1H", time.Hour},
		{"grpc-timeout", "2M", 2 * time.Minute},
		{"grpc-timeout", "3S", 3 * s},
		{"grpc-timeout", "100m", 100 * ms},
		{"grpc-timeout", "5000u", 5 * ms},
		{"grpc-timeout", "99999999n", 99999999},
		{"grpc-timeout", "99999999H", 0},
		{"grpc-timeout", "999999999m", 0}, // nine digits
		{"grpc-timeout", "1.5S", 0},
		{"grpc-timeout", "-1S", 0},
		{"grpc-timeout", "10", 0},
		{"grpc-timeout", "m", 0},
		{"prefer", "wait=10", 10 * s},
		{"prefer", `respond-async, Wait = "7"; x=1`, 7 * s},
		{"prefer", "wait=5, wait=3", 5 * s}, // the first counts
		{"prefer", "wait=-1", 0},
		{"prefer", "wait", 0},
		{"prefer", "handling=lenient", 0},
	}
	for _, tt := range tests {
		if got := ReadIntent(headers(tt.header, tt.value)).Deadline; got != tt.want {
			t.Errorf("%s: %q is %v, want %v", tt.header, tt.value, got, tt.want)
		}
	}
}

func TestReadIntentSmallestDeadline(t *testing.T) {
	h := headers("X-Stainless-Timeout", "600", "Grpc-Timeout", "20S", "Prefer", "respond-async", "Prefer", "wait=30",
		"X-Spillway-Deadline-Ms", "-1", "X-Request-Timeout", "40", "X-Litellm-Timeout", "50")
	if got := ReadIntent(h).Deadline; got != 20*time.Second {
		t.Errorf("deadline %v, want the smallest that makes sense, 20s", got)
	}
	h.Add("X-Spillway-Deadline-Ms", "15000")
	if got := ReadIntent(h).Deadline; got != 15*time.Second {
		t.Errorf("deadline %v, want 15s of the second line", got)
	}
}

func TestReadIntent(t *testing.T) {
	tests := []struct {
		name string
		h    http.Header
		want Intent
	}{
		{"nothing", headers(), Intent{}},
		{"all", headers("X-Spillway-Class", " Batch ", "Priority", "u=1, i", "X-Stainless-Retry-Count", "2", "X-Spillway-Degrade", "Allow",
			"Prefer", "respond-async", "X-Spillway-Session", "s-1", "X-Model-Id", "chat", "Accept", "text/plain, application/problem+json;q=0.5"),
			Intent{Class: "batch", Priority: "interactive", Attempt: 2, Degrade: "allow", RespondAsync: true, Session: "s-1", Model: "chat", AcceptProblem: true}},
		{"nonsense", headers("X-Spillway-Class", "root", "Priority", "u=9", "X-Stainless-Retry-Count", "-1", "X-Spillway-Degrade", "maybe",
			"Prefer", "respond", "X-Spillway-Session", "a\x00b", "X-Model-Id", strings.Repeat("m", 300), "Accept", "application/problem+json;q=0"),
			Intent{Class: "root"}}, // a typo in our own header is answered, not guessed at
		{"many retries", headers("X-Stainless-Retry-Count", "999999"), Intent{Attempt: 100}},
		{"more retries than a number holds", headers("X-Stainless-Retry-Count", "99999999999999999999"), Intent{}},
		{"any media is no wish for problems", headers("Accept", "*/*, application/json"), Intent{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ReadIntent(tt.h); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestClassOf(t *testing.T) {
	tests := []struct {
		class, priority, tier, want string
	}{
		{"", "", "", ""},
		{"", "", "auto", ""},
		{"", "", "default", ""},
		{"", "", "flex", "batch"},
		{"", "", "priority", "interactive"},
		{"", "", "fast", "interactive"},
		{"", "u=0", "", "interactive"},
		{"", "i, u=3", "", "standard"},
		{"", "u=6", "", "batch"},
		{"", "u=7", "", "speculative"},
		{"", "i", "", ""},
		{"", "u=1", "flex", "batch"}, // the body counts more than a header that browsers send
		{"speculative", "u=0", "priority", "speculative"},
	}
	for _, tt := range tests {
		in := ReadIntent(headers("X-Spillway-Class", tt.class, "Priority", tt.priority))
		if got := ClassOf(in, tt.tier); got != tt.want {
			t.Errorf("class %q, priority %q, tier %q: %q, want %q", tt.class, tt.priority, tt.tier, got, tt.want)
		}
	}
}

func FuzzReadIntent(f *testing.F) {
	for _, s := range []string{"5", "1e99", "-1", "NOT_GIVEN", "100m", "wait=3, respond-async", "u=3, i", "application/problem+json;q=0.1", "=;,"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, v := range []string{a, b} {
			h := http.Header{}
			for _, name := range []string{"X-Spillway-Deadline-Ms", "X-Stainless-Timeout", "X-Stainless-Read-Timeout", "X-Request-Timeout", "Grpc-Timeout",
				"X-Envoy-Expected-Rq-Timeout-Ms", "X-Litellm-Timeout", "Prefer", "Priority", "X-Spillway-Class", "X-Stainless-Retry-Count",
				"X-Spillway-Degrade", "X-Spillway-Session", "X-Model-Id", "Accept"} {
				h[name] = []string{v, a}
			}
			in := ReadIntent(h)
			if in.Deadline < 0 || in.Deadline > maxBudget {
				t.Fatalf("deadline %v out of range", in.Deadline)
			}
			if in.Attempt < 0 || in.Attempt > maxAttempt || len(in.Session) > maxLabel || len(in.Model) > maxLabel {
				t.Fatalf("out of range: %+v", in)
			}
		}
	})
}

// An SDK's timeout is cut to whole seconds, and the SDK leaves by itself when
// it is over: it counts for admission, but a running call is not ended by it.
func TestSDKTimeoutsAreNotExact(t *testing.T) {
	for _, tt := range []struct {
		h               http.Header
		deadline, exact time.Duration
	}{
		{headers("X-Stainless-Timeout", "1"), time.Second, 0},
		{headers("X-Stainless-Timeout", "0"), 500 * time.Millisecond, 0},
		{headers("X-Spillway-Deadline-Ms", "1900"), 1900 * time.Millisecond, 1900 * time.Millisecond},
		{headers("X-Stainless-Timeout", "1", "X-Spillway-Deadline-Ms", "1900"), time.Second, 1900 * time.Millisecond},
		{headers("X-Stainless-Timeout", "600", "Grpc-Timeout", "5S"), 5 * time.Second, 5 * time.Second},
	} {
		if in := ReadIntent(tt.h); in.Deadline != tt.deadline || in.Exact != tt.exact {
			t.Errorf("%v: %v and %v, want %v and %v", tt.h, in.Deadline, in.Exact, tt.deadline, tt.exact)
		}
	}
}
