package dialect

import (
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/tidwall/gjson"
)

// geminiChunk is one GenerateContentResponse: a whole answer, or one event of a
// stream. Beside parts it reads only what it knows, because providers add
// members to answers as they like.
type geminiChunk struct {
	id, model string
	created   int64
	parts     gjson.Result // array; may be absent
	finish    string       // finishReason; empty if absent
	message   string       // finishMessage, or blockReasonMessage
	blocked   string       // promptFeedback.blockReason
	usage     Usage
	fault     Event // Kind Fault if the body is an error
	more      bool  // there is a second candidate
}

func readGeminiChunk(v gjson.Result) (c geminiChunk) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "candidates":
			i := 0
			v.ForEach(func(_, v gjson.Result) bool {
				if c.more = i > 0; i == 0 {
					c.candidate(v)
				}
				i++
				return !c.more
			})
		case "promptFeedback":
			c.blocked = v.Get("blockReason").Str
			if c.blocked == "BLOCK_REASON_UNSPECIFIED" {
				c.blocked = ""
			}
		case "usageMetadata":
			c.usage = readGeminiUsage(v)
		case "modelVersion":
			c.model = v.Str
		case "responseId":
			c.id = v.Str
		case "createTime":
			if at, err := time.Parse(time.RFC3339, v.Str); err == nil {
				c.created = at.Unix()
			}
		case "error":
			if v.IsObject() {
				c.fault = readGeminiFault(v)
			}
		}
		return true
	})
	return c
}

func (c *geminiChunk) candidate(v gjson.Result) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "content":
			c.parts = v.Get("parts")
		case "finishReason":
			c.finish = v.Str
		case "finishMessage":
			c.message = v.Str
		}
		return true
	})
}

// readGeminiUsage reads usageMetadata: thoughts stand beside the candidates,
// and what tools used beside the prompt.
func readGeminiUsage(v gjson.Result) (u Usage) {
	v.ForEach(func(name, v gjson.Result) bool {
		if v.Type != gjson.Number {
			return true
		}
		n := int64(min(max(v.Num, 0), math.MaxInt32))
		switch name.Str {
		case "promptTokenCount":
			u.Known = true
			u.Input += n
		case "toolUsePromptTokenCount":
			u.Input += n
		case "cachedContentTokenCount":
			u.Cached = n
		case "candidatesTokenCount":
			u.Known = true
			u.Output += n
		case "thoughtsTokenCount":
			u.Output += n
			u.Reasoning = n
		}
		return true
	})
	if !u.Known {
		return Usage{}
	}
	u.Cached = min(u.Cached, u.Input)
	return u
}

// readGeminiFault reads the object under error.
func readGeminiFault(v gjson.Result) Event {
	code, status := v.Get("code").Int(), v.Get("status").Str
	e := Event{Kind: Fault, Code: "server_error", Text: []byte(v.Get("message").Str)}
	switch status {
	case "UNAVAILABLE":
		e.Code = "overloaded"
	case "RESOURCE_EXHAUSTED":
		e.Code = "rate_limit"
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "NOT_FOUND", "PERMISSION_DENIED", "UNAUTHENTICATED":
		e.Code = "invalid_request"
	case "":
		switch {
		case code == 503 || code == 529:
			e.Code = "overloaded"
		case code == 429:
			e.Code = "rate_limit"
		case code >= 400 && code < 500:
			e.Code = "invalid_request"
		}
	}
	if len(e.Text) == 0 {
		e.Text = []byte("the provider's answer failed: " + status)
	}
	return e
}

// geminiStop is a finishReason in the neutral form. It is not ok where the
// model failed to make an answer at all, as with a call that is no call.
func geminiStop(finish string, called bool) (stop StopReason, ok bool) {
	switch finish {
	case "STOP":
		if called {
			return StopTool, true
		}
		return StopEnd, true
	case "MAX_TOKENS":
		return StopLength, true
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return StopFilter, true
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		"MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE":
		return StopUnknown, false
	}
	return StopUnknown, true // OTHER, and what is still to come
}

// failure words a finishReason that is none.
func (c *geminiChunk) failure() string {
	text := "the model made no answer: " + c.finish
	if c.message != "" {
		text += ": " + c.message
	}
	return text
}

// ReadAnswer reads a whole GenerateContentResponse.
func (gemini) ReadAnswer(body []byte) (*Answer, error) {
	v, err := geminiParse(body, false)
	if err != nil {
		return nil, err
	}
	c := readGeminiChunk(v)
	switch {
	case c.fault.Kind == Fault:
		return nil, malformed("error", "%s: %s", c.fault.Code, c.fault.Text)
	case c.more:
		return nil, unsupported("candidates[1]", "only one candidate can be translated")
	}
	a := &Answer{ID: c.id, Model: c.model, Created: c.created, Usage: c.usage}
	if c.blocked != "" {
		a.Stop = StopFilter
		return a, nil
	}
	if c.finish == "" && !c.parts.Exists() {
		return nil, malformed("candidates", "must be there, or promptFeedback must say why not")
	}
	ids, called := geminiIDs{answer: c.id}, false
	if c.parts.Exists() {
		err := eachItem(c.parts, func(_ int, v gjson.Result) *Error {
			p, err := readGeminiSaid(v)
			if err != nil {
				return err
			}
			called = called || p.Call != nil
			if p.Text == nil || *p.Text != "" || p.Signature != "" {
				a.Parts = p.said(a.Parts, &ids)
			}
			return nil
		})
		if err != nil {
			return nil, within(err, "candidates[0].content.parts")
		}
	}
	var ok bool
	if a.Stop, ok = geminiStop(c.finish, called); !ok {
		return nil, malformed("candidates[0].finishReason", "%s", c.failure())
	}
	return a, nil
}

// readGeminiSaid reads a part of an answer. Marks beside what it says are
// ignored; a part of another kind is not.
func readGeminiSaid(v gjson.Result) (geminiPart, *Error) {
	p, _, unknown, err := readGeminiPart(v)
	switch {
	case err != nil:
	case p.Inline != nil || p.File != nil || p.Response != nil:
		err = unsupported("", "only text, thinking and function calls can be translated")
	case unknown != "" && p.Text == nil && p.Call == nil:
		err = unsupported(unknown, "only text, thinking and function calls can be translated")
	}
	return p, err
}

// geminiAnswer is an answer in JSON.
type geminiAnswer struct {
	Candidates []geminiCandidate `json:"candidates"`
	Usage      *geminiUsage      `json:"usageMetadata,omitzero"`
	Model      string            `json:"modelVersion,omitzero"`
	ID         string            `json:"responseId,omitzero"`
}

type geminiCandidate struct {
	Content geminiContent `json:"content"`
	Finish  string        `json:"finishReason"`
	Index   int           `json:"index"`
}

type geminiUsage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount,omitzero"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount,omitzero"`
	Total      int64 `json:"totalTokenCount"`
}

func makeGeminiUsage(u Usage) *geminiUsage {
	if !u.Known {
		return nil
	}
	return &geminiUsage{u.Input, u.Cached, max(u.Output-u.Reasoning, 0), u.Reasoning, u.Input + u.Output}
}

// geminiFinish is the finishReason of a stop. A pause has no word here.
func geminiFinish(stop StopReason) string {
	switch stop {
	case StopEnd, StopSequence, StopTool:
		return "STOP"
	case StopLength, StopContext:
		return "MAX_TOKENS"
	case StopFilter, StopRefusal:
		return "SAFETY"
	}
	return "OTHER"
}

// WriteAnswer makes a whole GenerateContentResponse.
func (gemini) WriteAnswer(a *Answer) ([]byte, error) {
	out := geminiAnswer{Usage: makeGeminiUsage(a.Usage), Model: a.Model, ID: a.ID}
	parts := make([]geminiPart, 0, len(a.Parts))
	next := ""
	for i := range a.Parts {
		p := &a.Parts[i]
		if p.Kind == Thinking && strings.HasPrefix(p.Signature, geminiNext) {
			next = geminiShow(p.Signature)
			continue
		}
		part, ok := geminiSay(p)
		if !ok {
			return nil, unsupported("parts", "an answer in Gemini's form has only text, thinking and function calls")
		}
		if part.Call != nil && part.Signature == "" {
			part.Signature, next = next, ""
		}
		parts = append(parts, part)
	}
	out.Candidates = []geminiCandidate{{Content: geminiContent{"model", parts}, Finish: geminiFinish(a.Stop)}}
	b, err := json.Marshal(&out, geminiJSON)
	if err != nil {
		return nil, malformed("", "write the answer: %v", err)
	}
	return b, nil
}
