package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Intent is what a caller says in its headers, all of it optional. It is a wish:
// what the tenant may have is decided elsewhere.
type Intent struct {
	Deadline      time.Duration // budget from arrival, the smallest one named; 0 = not said
	Exact         time.Duration // the same without the SDKs' timeouts, which are cut to whole seconds and which SDKs end by leaving; 0 = not said
	Class         string        // x-spillway-class, in lower case and perhaps not a class; "" = not said. See ClassOf.
	Priority      string        // the class that Priority: u=N stands for; "" = not said
	Attempt       int           // how often the SDK has retried this call, 0 to 100
	Degrade       string        // "allow", "features" (no more than these), "deny" or "" = not said
	RespondAsync  bool          // the answer may come later (Prefer: respond-async)
	Session       string        // requests to keep on one upstream; "" = not said
	Task          string        // what the request is for, as the operator's qualities know tasks; "" = not said
	Model         string        // replaces the model of the body; "" = not said
	AcceptProblem bool          // errors may be application/problem+json
}

// The classes a caller can name, best first.
const (
	classInteractive = "interactive"
	classStandard    = "standard"
	classBatch       = "batch"
	classSpeculative = "speculative"
)

const (
	// maxBudget is the longest wait that is believed. Above it is a mistake or an
	// overflow, and as good as nothing said.
	maxBudget = 24 * time.Hour
	// minStainless is what SDK timeouts below a second mean: they are sent
	// truncated to whole seconds, so 0 is short and not none.
	minStainless = 500 * time.Millisecond
	// maxLabel bounds session and model names, in bytes.
	maxLabel = 256
	// maxAttempt bounds the retry count.
	maxAttempt = 100
)

// ReadIntent reads the headers that clients are known to send. A value that makes
// no sense is as good as absent: hints must never fail a request.
func ReadIntent(h http.Header) Intent {
	in := Intent{
		Class:   class(h.Get(HeaderClass)),
		Attempt: attempt(h.Get("X-Stainless-Retry-Count")),
		Session: label(h.Get(HeaderSession)),
		Task:    label(h.Get(HeaderTask)),
		Model:   label(h.Get("X-Model-Id")),
	}
	switch d := strings.ToLower(strings.TrimSpace(h.Get(HeaderDegrade))); d {
	case "allow", "deny", "features":
		in.Degrade = d
	}
	in.shorten(h, HeaderDeadline, time.Millisecond)
	in.shorten(h, "X-Envoy-Expected-Rq-Timeout-Ms", time.Millisecond)
	in.shorten(h, "X-Request-Timeout", time.Second)
	in.shorten(h, "X-Litellm-Timeout", time.Second)
	in.sdk(h, "X-Stainless-Timeout")
	in.sdk(h, "X-Stainless-Read-Timeout")
	for _, v := range h["Grpc-Timeout"] {
		in.within(grpcTimeout(v))
	}
	in.prefer(h["Prefer"])
	for _, v := range h["Priority"] {
		in.Priority = priorityClass(v)
	}
	for _, v := range h["Accept"] {
		in.AcceptProblem = in.AcceptProblem || acceptsProblem(v)
	}
	return in
}

// ClassOf returns the class a request asks for, "" if it does not say. The
// gateway's own header counts most, then service_tier, then Priority, which
// browsers send by themselves.
func ClassOf(in Intent, serviceTier string) string {
	if in.Class != "" {
		return in.Class
	}
	switch serviceTier {
	case "flex":
		return classBatch
	case "priority", "fast":
		return classInteractive
	}
	return in.Priority
}

// within takes an exact budget if it is shorter than those before; 0 says nothing.
func (in *Intent) within(d time.Duration) {
	in.Deadline = shorter(in.Deadline, d)
	in.Exact = shorter(in.Exact, d)
}

// shorter is the smaller of two budgets of which 0 says nothing.
func shorter(a, b time.Duration) time.Duration {
	if b > 0 && (a == 0 || b < a) {
		return b
	}
	return a
}

// shorten takes the exact budgets of one header, given in units of unit.
func (in *Intent) shorten(h http.Header, name string, unit time.Duration) {
	for _, v := range h[name] {
		if d, ok := amount(v, unit); ok {
			in.within(d)
		}
	}
}

// sdk takes the timeouts of one SDK header. Anything below half a second,
// also 0, means that.
func (in *Intent) sdk(h http.Header, name string) {
	for _, v := range h[name] {
		if d, ok := amount(v, time.Second); ok {
			in.Deadline = shorter(in.Deadline, max(d, minStainless))
		}
	}
}

// prefer reads RFC 7240 preferences. The first of a kind counts.
func (in *Intent) prefer(values []string) {
	waited := false
	for _, v := range values {
		for p := range strings.SplitSeq(v, ",") {
			p, _, _ = strings.Cut(p, ";")
			name, arg, _ := strings.Cut(p, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "respond-async":
				in.RespondAsync = true
			case "wait":
				if !waited {
					waited = true
					d, _ := amount(strings.Trim(strings.TrimSpace(arg), `"`), time.Second)
					in.within(d)
				}
			}
		}
	}
}

// amount reads a decimal number of units, such as 30 or 1.5. Signs, exponents
// and names of numbers are refused, and so is anything above maxBudget.
func amount(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 24 || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f*float64(unit) > float64(maxBudget) {
		return 0, false
	}
	return time.Duration(f * float64(unit)), true
}

// grpcTimeout reads up to eight digits and a unit, such as 100m; 0 if it is not that.
func grpcTimeout(s string) time.Duration {
	s = strings.TrimSpace(s)
	if len(s) < 2 || len(s) > 9 {
		return 0
	}
	var unit time.Duration
	switch s[len(s)-1] {
	case 'H':
		unit = time.Hour
	case 'M':
		unit = time.Minute
	case 'S':
		unit = time.Second
	case 'm':
		unit = time.Millisecond
	case 'u':
		unit = time.Microsecond
	case 'n':
		unit = time.Nanosecond
	default:
		return 0
	}
	digits := s[:len(s)-1]
	if strings.Trim(digits, "0123456789") != "" {
		return 0
	}
	d, _ := amount(digits, unit)
	return d
}

// priorityClass reads the urgency of RFC 9218, 0 to 7.
func priorityClass(s string) string {
	for p := range strings.SplitSeq(s, ",") {
		switch strings.TrimSpace(p) {
		case "u=0", "u=1":
			return classInteractive
		case "u=2", "u=3", "u=4":
			return classStandard
		case "u=5", "u=6":
			return classBatch
		case "u=7":
			return classSpeculative
		}
	}
	return ""
}

// class keeps an unknown word: a typo in our own header is told, not guessed at.
func class(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	return s[:min(len(s), 32)]
}

func attempt(s string) int {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
	if err != nil {
		return 0
	}
	return int(min(n, maxAttempt))
}

// label returns a name that is fit to be a map key and a log field, or "".
func label(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxLabel {
		return ""
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	return s
}

func acceptsProblem(s string) bool {
	for part := range strings.SplitSeq(s, ",") {
		media, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(media), "application/problem+json") {
			continue
		}
		q, found := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		return !found || strings.Trim(q, "0.") != ""
	}
	return false
}
