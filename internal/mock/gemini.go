package mock

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// generation words an answer of Gemini's generateContent. A tool call has no
// id, as is usual there, and comes whole.
type generation struct {
	*answer
	sent int // tokens
}

// gemini serves POST /v1beta/models/{model}:{method}.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	e := endpoint{route: generate, dialect: google, model: model}
	switch method {
	case "generateContent":
	case "streamGenerateContent":
		e.stream, e.array = true, r.URL.Query().Get("alt") != "sse"
	case "countTokens":
		s.countTokens(e, w, r)
		return
	default:
		google.writeError(w, 404, "Unknown method: "+method+".", "invalid_request_error", "unknown_url")
		return
	}
	s.infer(e, w, r)
}

// parseGenerate reads a request for generateContent, or of countTokens for one.
func (c *call) parseGenerate(root gjson.Result) error {
	if inner := root.Get("generateContentRequest"); inner.IsObject() {
		root = inner
	}
	var p prompt
	p.bytes = len(messageText(either(root, "systemInstruction", "system_instruction").Get("parts")))
	contents := root.Get("contents")
	if !contents.IsArray() {
		return errors.New("contents is not specified")
	}
	contents.ForEach(func(_, content gjson.Result) bool {
		parts := content.Get("parts")
		result := parts.Get("#.functionResponse").Get("#").Int() > 0 || parts.Get("#.function_response").Get("#").Int() > 0
		p.say(content.Get("role").Str != "model", messageText(parts), result)
		return true
	})
	root.Get("tools").ForEach(func(_, t gjson.Result) bool {
		either(t, "functionDeclarations", "function_declarations").ForEach(func(_, f gjson.Result) bool {
			p.tools = append(p.tools, offer{f.Get("name").Str, either(f, "parametersJsonSchema", "parameters")})
			return true
		})
		return true
	})
	calling := either(root, "toolConfig", "tool_config")
	calling = either(calling, "functionCallingConfig", "function_calling_config")
	p.required, p.none = calling.Get("mode").Str == "ANY", calling.Get("mode").Str == "NONE"
	if p.required {
		p.named = calling.Get("allowedFunctionNames.0").Str
	}
	config := either(root, "generationConfig", "generation_config")
	c.maxTokens = int(either(config, "maxOutputTokens", "max_output_tokens").Int())
	c.inputTokens = tokens(p.bytes)
	c.choose(p)
	return nil
}

// either is the first of two members that is there.
func either(v gjson.Result, a, b string) gjson.Result {
	if first := v.Get(a); first.Exists() {
		return first
	}
	return v.Get(b)
}

func (g *generation) whole(dst []byte, _ time.Time, work []byte) []byte {
	dst = g.appendParts(dst, 0, g.job.outs[0])
	if g.call.toolName != "" {
		dst = g.appendCall(dst)
	}
	return g.appendEnd(dst, g.job.outs[0], true, work)
}

// appendParts appends a response up to the end of a part of text.
func (g *generation) appendParts(dst []byte, from, to int) []byte {
	dst = append(dst, `{"candidates":[{"content":{"parts":[{`...)
	if g.call.toolName != "" {
		return dst
	}
	return append(g.appendText(append(dst, `"text":"`...), 0, from, to), '"')
}

func (g *generation) appendCall(dst []byte) []byte {
	dst = gjson.AppendJSONString(append(dst, `"functionCall":{"name":`...), g.call.toolName)
	return append(append(append(dst, `,"args":`...), g.call.toolArgs...), '}')
}

// appendEnd appends the rest of a response, after the members of its part.
func (g *generation) appendEnd(dst []byte, out int, over bool, work []byte) []byte {
	dst = append(dst, `}],"role":"model"},`...)
	if over && g.fault.fault != NoFinish {
		finish := "STOP"
		if g.job.capped[0] {
			finish = "MAX_TOKENS"
		}
		dst = append(append(append(dst, `"finishReason":"`...), finish...), `",`...)
	}
	in := g.call.inputTokens
	dst = strconv.AppendInt(append(dst, `"index":0}],"usageMetadata":{"promptTokenCount":`...), int64(in), 10)
	dst = strconv.AppendInt(append(dst, `,"candidatesTokenCount":`...), int64(out), 10)
	dst = strconv.AppendInt(append(dst, `,"totalTokenCount":`...), int64(in+out), 10)
	dst = gjson.AppendJSONString(append(dst, `},"modelVersion":`...), g.call.model)
	dst = append(appendHex(append(dst, `,"responseId":"`...), g.job.id), '"')
	if len(work) > 0 {
		dst = append(append(dst, ','), work...)
	}
	return append(dst, '}')
}

func (g *generation) begin(*output) error { return nil }

func (g *generation) delta(out *output, _, from, to int) error {
	if g.sent = to; g.call.toolName != "" {
		return nil
	}
	g.buf = g.appendEnd(g.appendParts(g.buf[:0], from, to), to, false, nil)
	return out.event("", g.buf)
}

func (g *generation) end(out *output, _ int, work []byte) error {
	g.buf = g.appendParts(g.buf[:0], g.sent, g.sent)
	if g.call.toolName != "" {
		g.buf = g.appendCall(g.buf)
	}
	g.buf = g.appendEnd(g.buf, g.job.outs[0], true, work)
	return out.event("", g.buf)
}

// appendGeminiError appends an error as Google words it; how long to wait, and
// which limit was met, is in its details.
func appendGeminiError(dst []byte, status int, message, code, wait string) []byte {
	word := "UNKNOWN"
	switch status {
	case 400, 413:
		word = "INVALID_ARGUMENT"
	case 401:
		word = "UNAUTHENTICATED"
	case 403:
		word = "PERMISSION_DENIED"
	case 404:
		word = "NOT_FOUND"
	case 429:
		word = "RESOURCE_EXHAUSTED"
	case 500:
		word = "INTERNAL"
	case 503:
		word = "UNAVAILABLE"
	case 504:
		word = "DEADLINE_EXCEEDED"
	}
	if code == "context_length_exceeded" {
		message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
	}
	dst = strconv.AppendInt(append(dst, `{"error":{"code":`...), int64(status), 10)
	dst = gjson.AppendJSONString(append(dst, `,"message":`...), message)
	dst = append(append(append(dst, `,"status":"`...), word...), '"')
	if status == 429 {
		per := "Minute"
		if code == "insufficient_quota" {
			per = "Day"
		}
		dst = append(dst, `,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_requests","quotaId":"GenerateRequestsPer`...)
		dst = append(append(dst, per...), `PerProjectPerModel"}]}`...)
		if wait != "" {
			dst = gjson.AppendJSONString(append(dst, `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":`...), wait+"s")
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, "}}"...)
}
