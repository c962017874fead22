package mock

import (
	"net/http"
	"strconv"
	"time"

	"github.com/tidwall/gjson"
)

// dialect is whose API a path belongs to: it words errors, limits and headers.
type dialect uint8

const (
	openAI dialect = iota
	azure
	anthropic
	google
)

func (d dialect) String() string { return [...]string{"openai", "azure", "anthropic", "gemini"}[d] }

// appendError appends an error object. kind and code are those of OpenAI; id is
// the request's, and wait how long to wait, in seconds, empty if not told.
func (d dialect) appendError(dst []byte, status int, message, kind, code, id, wait string) []byte {
	switch d {
	case azure:
		return appendAzureError(dst, status, message, code)
	case anthropic:
		return appendAnthropicError(dst, status, message, code, id)
	case google:
		return appendGeminiError(dst, status, message, code, wait)
	}
	return appendError(dst, message, kind, code)
}

// writeError answers with an error whose headers are set.
func (d dialect) writeError(w http.ResponseWriter, status int, message, kind, code string) {
	h := w.Header()
	wait := h.Get("Retry-After")
	if d == google { // there the wait is in the body
		h.Del("Retry-After")
	}
	writeJSON(w, status, d.appendError(nil, status, message, kind, code, h.Get("Request-Id"), wait))
}

// identify sets the headers that every answer has.
func (d dialect) identify(h http.Header, id uint64) {
	name := string(appendHex([]byte("req_"), id))
	switch d {
	case openAI:
		h["X-Request-Id"] = []string{name}
		h["Openai-Version"] = []string{"2020-10-01"}
	case azure:
		h["X-Request-Id"] = []string{name}
		h["Apim-Request-Id"] = []string{name}
		h["X-Ms-Region"] = []string{"Mock Central"}
	case anthropic:
		h["Request-Id"] = []string{name}
	}
}

// processed sets the header that says how long the server had the request.
func (d dialect) processed(h http.Header, ms int64) {
	switch d {
	case openAI:
		h["Openai-Processing-Ms"] = []string{strconv.FormatInt(ms, 10)}
	case google:
		h["Server-Timing"] = []string{"gfet4t7; dur=" + strconv.FormatInt(ms, 10)}
	}
}

// rateLimit reports the slots in the headers that the provider sends: Azure
// tells no reset, and Gemini nothing at all.
func (d dialect) rateLimit(h http.Header, st Stats) {
	limit, left := strconv.Itoa(st.Slots), strconv.Itoa(st.Slots-st.Inflight)
	switch d {
	case openAI, azure:
		h.Set("X-Ratelimit-Limit-Requests", limit)
		h.Set("X-Ratelimit-Remaining-Requests", left)
		if d == openAI {
			h.Set("X-Ratelimit-Reset-Requests", "1s")
		}
	case anthropic:
		h.Set("Anthropic-Ratelimit-Requests-Limit", limit)
		h.Set("Anthropic-Ratelimit-Requests-Remaining", left)
		h.Set("Anthropic-Ratelimit-Requests-Reset", time.Now().Add(time.Second).UTC().Format(time.RFC3339))
	}
}

// limitHeader is the header in which a fault tells what is left of a limit, or
// until when.
func (d dialect) limitHeader(what, of string) string {
	if d == anthropic {
		return "Anthropic-Ratelimit-" + of + "-" + what
	}
	return "X-Ratelimit-" + what + "-" + of
}

// appendAzureError appends an error as Azure words it: of its own gateway, with
// the status as code, or passed on from the model.
func appendAzureError(dst []byte, status int, message, code string) []byte {
	switch code {
	case "content_filter", "context_length_exceeded":
		dst = gjson.AppendJSONString(append(dst, `{"error":{"message":`...), message)
		dst = gjson.AppendJSONString(append(dst, `,"type":null,"param":"prompt","code":`...), code)
		return append(strconv.AppendInt(append(dst, `,"status":`...), int64(status), 10), "}}"...)
	case "model_not_found":
		code = "DeploymentNotFound"
	default:
		code = strconv.Itoa(status)
	}
	dst = gjson.AppendJSONString(append(dst, `{"error":{"code":`...), code)
	dst = gjson.AppendJSONString(append(dst, `,"message":`...), message)
	return append(dst, "}}"...)
}

// endpoint is what a path says of a request.
type endpoint struct {
	route   route
	dialect dialect
	model   string // named by the path; empty if by the body
	stream  bool   // asked for by the path
	array   bool   // a stream is one JSON array
	count   bool   // only the prompt is counted
}

// handle registers the routes of every dialect.
func (s *Server) handle() {
	serve := func(pattern string, e endpoint) {
		s.mux.HandleFunc("POST "+pattern, func(w http.ResponseWriter, r *http.Request) { s.infer(e, w, r) })
	}
	for _, r := range []route{chat, completions, embeddings, responses} {
		serve("/v1/"+r.String(), endpoint{route: r})
		serve("/openai/v1/"+r.String(), endpoint{route: r, dialect: azure})
	}
	serve("/v1/messages", endpoint{route: messages, dialect: anthropic})
	s.mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, r *http.Request) {
		s.countTokens(endpoint{route: messages, dialect: anthropic, count: true}, w, r)
	})
	s.mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	for _, route := range []route{chat, completions, embeddings} {
		s.mux.HandleFunc("POST /openai/deployments/{name}/"+route.String(), func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("api-version") == "" {
				azure.writeError(w, 404, "Resource not found", "invalid_request_error", "404")
				return
			}
			s.infer(endpoint{route: route, dialect: azure, model: r.PathValue("name")}, w, r)
		})
	}
}

// countTokens counts a prompt. It takes no slot and no part in the counters.
func (s *Server) countTokens(e endpoint, w http.ResponseWriter, r *http.Request) {
	if outage(s.live.Load().schedule, time.Since(s.started)) {
		reset(w)
		return
	}
	e.dialect.identify(w.Header(), newJob(s.settings.Seed, 0).id)
	body, ok := s.read(e, w, r)
	if !ok {
		return
	}
	c, err := parseCall(e, body)
	switch {
	case err != nil:
		e.dialect.writeError(w, 400, "Invalid request: "+err.Error()+".", "invalid_request_error", "invalid_request")
	case !s.offers(c.model):
		e.dialect.writeError(w, 404, "The model `"+c.model+"` does not exist.", "invalid_request_error", "model_not_found")
	case e.dialect == google:
		writeJSON(w, 200, append(strconv.AppendInt([]byte(`{"totalTokens":`), int64(c.inputTokens), 10), '}'))
	default:
		writeJSON(w, 200, append(strconv.AppendInt([]byte(`{"input_tokens":`), int64(c.inputTokens), 10), '}'))
	}
}
