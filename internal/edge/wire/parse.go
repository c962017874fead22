package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Envelope is what the gateway needs to know of a request. It is made by Parse
// and belongs to the bytes it was made from.
type Envelope struct {
	Model        string
	Stream       bool
	IncludeUsage bool  // the caller asked for the usage chunk (stream_options.include_usage)
	Input        int64 // estimated prompt tokens by the common tokenizers, at least 1; an Estimator knows better
	Features     Features
	MaxOutput    int64  // most tokens the answer may have, over all choices; 0 = not said
	Choices      int64  // answers generated: n or best_of, times the prompts of a completion; at least 1
	ServiceTier  string // as sent; "" = not said
	User         string // the end user: user, safety_identifier, or metadata.user_id of messages; "" = not said
	CacheKey     string // prompt_cache_key: requests with the same one share a prefix; "" = not said
	Tools        bool   // the request offers tools
	Base64       bool   // the vectors of embeddings are wanted as base64

	open       int  // offset after the opening brace
	modelAt    span // raw value of model
	promptAt   span // raw value of messages, prompt or input
	optionsAt  span // raw value of stream_options; absent if not said
	includesAt span // raw value of stream_options.include_usage; absent if not said
}

// Prompt is the prompt as it stands in the body that was parsed: the value of
// messages, prompt or input.
func (e *Envelope) Prompt(body []byte) []byte { return e.promptAt.of(body) }

// maxDepth is the deepest nesting accepted. Servers stop at 128 (serde), 200
// (jiter) or 1,000 (CPython), some of them with a 500 that would count against
// a healthy upstream.
const maxDepth = 128

// known are the names that decide something here. Another spelling of one of
// them is refused: some servers match names without regard to case.
var known = [...]string{
	"model", "messages", "prompt", "input", "stream", "stream_options",
	"max_tokens", "max_completion_tokens", "n", "best_of", "service_tier", "user",
	"tools", "functions", "response_format", "prompt_cache_key", "encoding_format",
	"system", "instructions", "max_output_tokens", "background", "safety_identifier", "metadata",
}

// parser is the state of one Parse. It is pooled for its decoder.
type parser struct {
	dec     jsontext.Decoder
	buf     bytes.Buffer
	body    []byte
	surface Surface
	env     Envelope

	prompts                  int64
	seenPrompt               bool
	maxTokens, maxCompletion int64
	maxOutput                int64
	n, bestOf                int64
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// Parse reads the envelope of a request and checks the whole body. The error, if
// any, is a 400 that names the member at fault in Param.
//
// The body is kept by neither the result nor the package.
func Parse(s Surface, body []byte) (Envelope, *Error) {
	p := parsers.Get().(*parser)
	p.start(s, body)
	err := p.read()
	env := p.env
	p.start(s, nil) // do not keep the body alive in the pool
	parsers.Put(p)
	if err != nil {
		return Envelope{}, err
	}
	return env, nil
}

func (p *parser) start(s Surface, body []byte) {
	p.buf = *bytes.NewBuffer(body)
	p.dec.Reset(&p.buf)
	p.body, p.surface, p.env = body, s, Envelope{}
	p.prompts, p.seenPrompt = 1, false
	p.maxTokens, p.maxCompletion, p.maxOutput, p.n, p.bestOf = 0, 0, 0, 0, 0
}

func (p *parser) read() *Error {
	switch p.dec.PeekKind() {
	case '{':
	case 0, 'n', 't', 'f', '"', '0', '[':
		if _, err := p.dec.ReadValue(); err != nil {
			return syntaxError(err)
		}
		return badRequest("", "the request body must be a JSON object")
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	p.env.open = int(p.dec.InputOffset())
	for p.dec.PeekKind() != '}' {
		if err := p.member(); err != nil {
			return err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	if _, err := p.dec.ReadToken(); err != io.EOF {
		return badRequest("", "the request body goes on after the JSON object, at byte "+strconv.FormatInt(p.dec.InputOffset(), 10))
	}
	if tooDeep(p.body) {
		return badRequest("", "the request body is nested deeper than "+strconv.Itoa(maxDepth)+" levels")
	}
	return p.finish()
}

// member reads one name and its value.
func (p *parser) member() *Error {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return syntaxError(err)
	}
	name, ok := canonical(raw)
	if !ok {
		return badRequest(name, "unknown member "+strconv.Quote(unquote(raw))+": did you mean "+strconv.Quote(name)+"? Names are case-sensitive")
	}
	v, err := p.dec.ReadValue()
	if err != nil {
		return syntaxError(err)
	}
	if name == "" {
		return nil
	}
	end := int(p.dec.InputOffset())
	return p.take(name, v, span{end - len(v), end})
}

// take stores the value of a known member. Explicit null means not said.
func (p *parser) take(name string, v jsontext.Value, at span) *Error {
	if name == "model" {
		p.env.modelAt = at
	}
	if name == "stream_options" {
		p.env.optionsAt = at
	}
	if v.Kind() == 'n' {
		return nil
	}
	switch name {
	case "model":
		return text(name, v, &p.env.Model)
	case "service_tier":
		return text(name, v, &p.env.ServiceTier)
	case "user":
		return text(name, v, &p.env.User)
	case "safety_identifier": // what replaces user
		if p.env.User == "" {
			return text(name, v, &p.env.User)
		}
	case "metadata":
		p.metadata(v)
	case "prompt_cache_key":
		return text(name, v, &p.env.CacheKey)
	case "encoding_format":
		if p.surface == Embeddings {
			var format string
			err := text(name, v, &format)
			p.env.Base64 = format == "base64"
			return err
		}
	case "stream":
		return boolean(name, v, &p.env.Stream)
	case "stream_options":
		return p.options(v, at)
	case "max_tokens":
		return integer(name, v, &p.maxTokens)
	case "max_completion_tokens":
		return integer(name, v, &p.maxCompletion)
	case "max_output_tokens":
		return integer(name, v, &p.maxOutput)
	case "background":
		return p.background(v)
	case "system", "instructions":
		if name == p.surface.systemMember() {
			p.env.Features.member(name, v)
		}
	case "n":
		return positive(name, v, &p.n)
	case "best_of":
		return positive(name, v, &p.bestOf)
	case "tools", "functions", "response_format":
		if p.surface.conversation() {
			p.env.Tools = p.env.Tools || name != "response_format" && v.Kind() == '[' && v[skipSpace(v, 1)] != ']'
			p.env.Features.member(name, v)
		}
	case p.surface.promptMember():
		return p.prompt(name, v, at)
	}
	return nil
}

// options reads stream_options. Its names are held to the same rule as the top level.
func (p *parser) options(v jsontext.Value, at span) *Error {
	if v.Kind() != '{' {
		return badRequest("stream_options", "stream_options must be an object")
	}
	for m := membersOf(v); m.next(); {
		if string(m.name) != "include_usage" {
			if strings.EqualFold(string(m.name), "include_usage") {
				return badRequest("stream_options.include_usage", "names are case-sensitive: write include_usage")
			}
			continue
		}
		p.env.includesAt = span{at.from + m.value.from, at.from + m.value.to}
		if raw := jsontext.Value(m.value.of(v)); raw.Kind() != 'n' {
			return boolean("stream_options.include_usage", raw, &p.env.IncludeUsage)
		}
	}
	return nil
}

// prompt takes the messages, the prompt or the input.
func (p *parser) prompt(name string, v jsontext.Value, at span) *Error {
	kind := v.Kind()
	turns := name == "messages"
	if kind != '[' && (kind != '"' || turns) {
		if turns {
			return badRequest(name, name+" must be an array")
		}
		return badRequest(name, name+" must be a string or an array")
	}
	if kind == '[' && v[skipSpace(v, 1)] == ']' {
		return badRequest(name, name+" must not be empty")
	}
	p.seenPrompt, p.env.promptAt = true, at
	p.env.Features.member(name, v)
	if p.surface.conversation() {
		p.env.Features[ofRequests] = 1
	}
	if p.surface == Completions {
		p.prompts = countPrompts(v)
	}
	return nil
}

// metadata may name the end user. Whatever else it is, is the upstream's to judge.
func (p *parser) metadata(v jsontext.Value) {
	if !p.surface.Anthropic() || v.Kind() != '{' {
		return
	}
	if at := memberOf(v, span{0, len(v)}, "user_id"); !at.absent() && v[at.from] == '"' {
		_ = text("metadata.user_id", at.of(v), &p.env.User)
	}
}

// background is a wish that cannot be met yet: the answer of a response that
// runs by itself would have to be kept.
func (p *parser) background(v jsontext.Value) *Error {
	var yes bool
	if p.surface != Responses {
		return nil
	}
	if err := boolean("background", v, &yes); err != nil || !yes {
		return err
	}
	return badRequest("background", "background responses are not offered here; leave background out and stream the answer")
}

// finish checks what must be there and works out the totals.
func (p *parser) finish() *Error {
	e := &p.env
	if e.Model == "" {
		return badRequest("model", "you must provide a model")
	}
	if name := p.surface.promptMember(); !p.seenPrompt {
		return badRequest(name, "you must provide "+name)
	}
	e.Choices = 1
	if p.surface == Embeddings {
		if e.Stream {
			return badRequest("stream", "embeddings cannot be streamed")
		}
	} else {
		limit := p.maxTokens
		switch p.surface {
		case ChatCompletions:
			e.Choices = max(p.n, 1)
			if p.maxCompletion > 0 {
				limit = p.maxCompletion
			}
		case Completions:
			e.Choices = times(max(p.n, p.bestOf, 1), p.prompts)
		case Responses:
			limit = p.maxOutput
		case Messages:
			if limit <= 0 {
				return badRequest("max_tokens", "max_tokens is required and must be above zero")
			}
		}
		// A limit of zero or less is how some servers spell "no limit".
		e.MaxOutput = times(max(limit, 0), e.Choices)
	}
	e.Input = e.Features.Tokens()
	return nil
}

// canonical returns which known member a quoted name is, "" for any other. It is
// false for another spelling of a known one, which it then returns.
func canonical(raw []byte) (string, bool) {
	name := raw[1 : len(raw)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, raw)
	}
	for _, k := range &known {
		if string(name) == k {
			return k, true
		}
	}
	for _, k := range &known {
		if strings.EqualFold(string(name), k) {
			return k, false
		}
	}
	return "", true
}

// tooDeep says whether valid JSON nests deeper than maxDepth. Few bodies have
// enough brackets for the question to arise.
func tooDeep(b []byte) bool {
	if bytes.Count(b, []byte{'['})+bytes.Count(b, []byte{'{'}) <= maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

func badRequest(param, message string) *Error {
	return CodeInvalid.Of(param, message)
}

// syntaxError says where the body stops being the JSON that is accepted.
func syntaxError(err error) *Error {
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) {
		return badRequest("", "the request body is not valid JSON: it ends early")
	}
	param := strings.ReplaceAll(strings.TrimPrefix(string(se.JSONPointer), "/"), "/", ".")
	if len(param) > 100 {
		param = strings.ToValidUTF8(param[:100], "")
	}
	what := "syntax error"
	if se.Err != nil {
		what = strings.TrimPrefix(se.Err.Error(), "jsontext: ")
	}
	if param != "" {
		what += " in " + param
	}
	return badRequest(param, "the request body is not valid JSON: "+what+" at byte "+strconv.FormatInt(se.ByteOffset, 10))
}
