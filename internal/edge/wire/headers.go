package wire

import "slices"

// The headers of our own. All others belong to standards, to the APIs of the
// surfaces or to their SDKs.
const (
	HeaderDeadline = "X-Spillway-Deadline-Ms"
	HeaderClass    = "X-Spillway-Class"
	HeaderTask     = "X-Spillway-Task"
	HeaderSession  = "X-Spillway-Session"
	HeaderDegrade  = "X-Spillway-Degrade"

	HeaderDecision      = "X-Spillway-Decision"
	HeaderEstimatedWait = "X-Spillway-Estimated-Wait-Ms"
	HeaderModel         = "X-Spillway-Model"
	HeaderDegraded      = "X-Spillway-Degraded"
	HeaderFallback      = "X-Spillway-Fallback"
	HeaderObserved      = "X-Spillway-Observed"
	HeaderDropped       = "X-Spillway-Dropped"
)

// headerRow is what is known of headers that mean the same: a row of
// docs/headers.md.
type headerRow struct {
	names   []string // in the form of net/http
	on      string   // surfaces; "" is all
	says    string   // what it means
	values  string   // unit, range, and what holds without it
	example string
	passed  bool // on to the upstream as it came, or from it to the caller
}

// sent are the headers of callers. What is not here is not looked at and stays
// here.
var sent = []headerRow{
	{[]string{"Authorization", "X-Api-Key", "Api-Key"}, "", "The tenant's key; the first of them counts.",
		"`Bearer` and the key in the first, the key alone in the others; not needed where the configuration has no tenants", "Bearer sk-team", false},
	{[]string{"Content-Type"}, "", "The form of the body, for the upstream. The gateway reads every body as JSON.", "a media type; `application/json`", "application/json", true},
	{[]string{"Accept"}, "", "Errors as RFC 9457 problem details; nothing else is read of it.", "with `application/problem+json`, not at `q=0`", "application/problem+json", false},
	{[]string{HeaderDeadline, "X-Envoy-Expected-Rq-Timeout-Ms"}, "", "How long the caller waits, from the arrival of the request; for a stream until its first token. Of all deadlines the smallest counts.",
		"milliseconds, above 0 and up to a day, decimals allowed; the operator's for the class", "8000", false},
	{[]string{"X-Request-Timeout", "X-Litellm-Timeout"}, "", "The same.", "seconds, above 0 and up to a day, decimals allowed", "8", false},
	{[]string{"X-Stainless-Timeout", "X-Stainless-Read-Timeout"}, "", "The same, from the official SDKs. As they leave by themselves, a call that runs is not cut off at it.", "seconds up to a day; 0 is half a second", "600", false},
	{[]string{"Grpc-Timeout"}, "", "The same, as gRPC writes it.", "up to eight digits and one of `H M S m u n`, up to a day", "8000m", false},
	{[]string{"Prefer"}, "", "The same, as `wait` of RFC 7240; the first counts.", "seconds, above 0 and up to a day", "wait=8", false},
	{[]string{HeaderClass}, "", "How much the answer matters. It counts more than `service_tier` in the body, and that more than `Priority`.",
		"`interactive`, `standard`, `batch`, `speculative`, as far as the tenant may, else 400; the tenant's default", "batch", false},
	{[]string{"Priority"}, "", "A weaker hint of the class, RFC 9218.", "`u=0` and `1` interactive, `2` to `4` standard, `5` and `6` batch, `7` speculative", "u=5", false},
	{[]string{"X-Stainless-Retry-Count"}, "", "Which attempt this is; the SDKs say it. Above 0 it draws on the tenant's retry budget.", "0 to 100; 0", "1", false},
	{[]string{HeaderDegrade}, "", "Whether a cheaper form may be served in place of a refusal.", "`allow`, `features`, `deny`; what the operator set for the tenant", "allow", false},
	{[]string{"Cache-Control"}, "", "Whether an answer from before will do, and whether this one may be kept.",
		"`max-age`, `max-stale` in seconds up to a day, `no-cache`, `no-store`; none will do", "max-age=60, max-stale=600", false},
	{[]string{HeaderTask}, "", "What the request is for, as the operator's qualities name tasks.", "up to 256 printable ASCII characters", "code", false},
	{[]string{HeaderSession}, "", "Requests of one conversation, to be kept on one upstream and within the budget of the session.", "up to 256 printable ASCII characters", "chat-4711", false},
	{[]string{"X-Model-Id"}, "", "Replaces the model in the body, and pins it.", "up to 256 printable ASCII characters", "chat", false},
	{[]string{"Traceparent", "Tracestate"}, "", "The caller's place in a trace, W3C Trace Context. Where requests are traced the upstream is told the gateway's own span in it.",
		"version 00; `tracestate` up to 512 bytes", "00-1f3a4bf0f04cc46aa10ce388aa88947e-00f067aa0ba902b7-01", true},
	{[]string{"X-Request-Id", "Idempotency-Key", "Openai-Beta"}, "", "For the upstream. The gateway names requests itself.", "any", "nightly-12", true},
	{[]string{"Anthropic-Version"}, "messages", "For the upstream. Without a surface, as for `/v1/models`, it asks for answers in Anthropic's form.", "a date", "2023-06-01", true},
	{[]string{"Anthropic-Beta"}, "messages", "For the upstream.", "names", "context-1m-2025-08-07", true},
	{[]string{"Connection"}, "", "Headers that it names are not passed on.", "names", "close", false},
}

// answered are the headers of answers. Nothing else of an upstream's is passed on.
var answered = []headerRow{
	{[]string{"X-Request-Id"}, "all but messages", "Names the request in the log, in traces and for `spillway explain`.", "`req_` and 32 hexadecimal digits, which begin with the time", "req_1f3a4bf0f04cc46aa10ce388aa88947e", false},
	{[]string{"Request-Id"}, "messages", "The same.", "the same", "req_1f3a4bf0f04cc46aa10ce388aa88947e", false},
	{[]string{HeaderDecision}, "", "What was decided.", "`run`, `queue`, `degrade`, `recall`, `reject`", "queue", false},
	{[]string{HeaderEstimatedWait}, "", "The wait that was predicted on arrival.", "milliseconds, 0 and above", "1250", false},
	{[]string{"Server-Timing"}, "", "The times really spent, in the queue and upstream; for a stream upstream is the time to its first content.", "milliseconds with a decimal", "queue;dur=812.4, upstream;dur=340.0", false},
	{[]string{HeaderModel}, "", "The model that answered, by its name upstream.", "a name", "llama-3.3-70b", false},
	{[]string{HeaderDegraded}, "", "The rungs that were taken, where there were any.", "the operator's names, with commas", "no-logprobs, small", false},
	{[]string{HeaderFallback}, "", "The model that answered, where the one asked for could not.", "a name", "chat-long", false},
	{[]string{HeaderObserved}, "", "With `admission: observe`: it was let in, and would have been refused.", "`would-refuse`", "would-refuse", false},
	{[]string{HeaderDropped}, "", "Members of the body that the provider has no words for, where it was translated.", "names, with commas", "cache_control", false},
	{[]string{"Age"}, "", "Of an answer from before: how old it is.", "seconds", "42", false},
	{[]string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Limit-Tokens"}, "all but messages", "The tenant's own limit, where it has one.", "a minute", "600", false},
	{[]string{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Remaining-Tokens"}, "all but messages", "What is left of it; what running requests hold is taken as used.", "0 to the limit", "597", false},
	{[]string{"X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"}, "all but messages", "When all of it is back.", "a duration with units", "12.5s", false},
	{[]string{"X-Ratelimit-Reset"}, "all but messages", "The same for requests.", "whole seconds", "13", false},
	{[]string{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Tokens-Limit"}, "messages", "The tenant's own limit, where it has one.", "a minute", "600", false},
	{[]string{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Tokens-Remaining"}, "messages", "What is left of it.", "0 to the limit", "597", false},
	{[]string{"Anthropic-Ratelimit-Requests-Reset", "Anthropic-Ratelimit-Tokens-Reset"}, "messages", "When all of it is back.", "a time, RFC 3339", "2026-12-24T08:00:00Z", false},
	{[]string{"Ratelimit-Policy"}, "", "Both limits once more, as the IETF's draft writes them.", "`q` the limit, `w` the window in seconds, `qu` the unit", `"tokens";q=60000;w=60;qu="tokens"`, false},
	{[]string{"Ratelimit"}, "", "What is left of them.", "`r` what is left, `t` seconds until all is back", `"tokens";r=59120;t=13`, false},
	{[]string{"Retry-After"}, "", "Of a refusal: when to come back.", "whole seconds, 1 to 59", "9", false},
	{[]string{"Retry-After-Ms"}, "", "The same more exactly.", "milliseconds, 200 to 59000", "8562", false},
	{[]string{"X-Should-Retry"}, "", "The SDKs must not come back by themselves.", "`false`, or absent", "false", false},
	{[]string{"Allow"}, "", "Of a 405: the methods of the path.", "methods", "POST", false},
	{[]string{"Content-Type"}, "", "The form of the answer.", "a media type", "text/event-stream; charset=utf-8", true},
	{[]string{"Content-Length"}, "", "Of an answer that is not a stream.", "bytes", "512", false},
	{[]string{"Cache-Control", "X-Accel-Buffering"}, "", "Of a stream: nobody on the way may keep it or hold it back.", "`no-cache` and `no`", "no-cache", false},
	{[]string{"Connection"}, "", "Of a 413: the connection ends, as the body was not read.", "`close`", "close", false},
	{[]string{"Openai-Processing-Ms", "Openai-Version"}, "", "The upstream's, as they came.", "any", "340", true},
}

// passedOn are the names of the rows that are passed on.
func passedOn(rows []headerRow) (names []string) {
	for i := range rows {
		if rows[i].passed {
			names = append(names, rows[i].names...)
		}
	}
	return slices.Clip(names)
}
