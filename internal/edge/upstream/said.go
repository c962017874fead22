package upstream

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// said is what an error body says, as far as its words decide something. All of
// it is in lower case.
type said struct {
	codes   []string // codes, types and reasons
	message string
	status  int      // the body's own; 0 when it has none
	quotas  []string // Gemini's names of the quotas that were exceeded
}

// maxSaid bounds the part of a message that is looked at, in bytes. What a
// provider has to say stands at the beginning; later it may quote the request.
const maxSaid = 1024

// readSaid reads the shapes that error bodies come in: OpenAI's and Anthropic's
// object, Gemini's with details, also in an array, the Responses API's events,
// vLLM's and TGI's flat objects, and plain text.
func readSaid(body []byte) (s said) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' && body[0] != '[' || !gjson.ValidBytes(body) {
		if len(body) > 0 && body[0] != '<' { // a proxy's page says nothing that the status does not
			s.message = strings.ToLower(string(body[:min(len(body), maxSaid)]))
		}
		return s
	}
	v := gjson.ParseBytes(body)
	if v.IsArray() {
		v = v.Get("0")
	}
	e := v.Get("error")
	if !e.IsObject() {
		if e.Type == gjson.String { // TGI, and the simplest of servers
			s.message = e.Str
		}
		if e = v.Get("response.error"); !e.IsObject() {
			e = v
		}
	}
	for _, path := range [...]string{"code", "type", "status", "error_type", "innererror.code", "details.#.reason"} {
		e.Get(path).ForEach(func(_, w gjson.Result) bool { s.code(w); return true })
	}
	if s.message == "" {
		for _, path := range [...]string{"message", "detail", "detail.0.msg", "errors.0.message"} {
			if m := e.Get(path); m.Type == gjson.String && m.Str != "" {
				s.message = m.Str
				break
			}
		}
	}
	if e.Get("metadata.flagged_input").Exists() { // OpenRouter's moderation
		s.codes = append(s.codes, "content_filter")
	}
	for _, d := range e.Get("details.#.violations").Array() {
		for _, v := range d.Array() {
			s.quotas = append(s.quotas, strings.ToLower(v.Get("quotaId").Str))
		}
	}
	s.message = strings.ToLower(s.message[:min(len(s.message), maxSaid)])
	return s
}

// code adds what is a word, and keeps what is a status.
func (s *said) code(v gjson.Result) {
	switch {
	case v.Type == gjson.Number || v.Type == gjson.String && len(v.Str) == 3 && strings.Trim(v.Str, "0123456789") == "":
		if n := int(v.Int()); n >= 400 && n < 600 && s.status == 0 {
			s.status = n
		}
	case v.Type == gjson.String && len(v.Str) <= 64:
		s.codes = append(s.codes, strings.ToLower(v.Str))
	}
}

// is reports whether one of the codes is among words.
func (s *said) is(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(s.codes, w) })
}

// tells reports whether the message has one of the phrases.
func (s *said) tells(phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(s.message, p) })
}
