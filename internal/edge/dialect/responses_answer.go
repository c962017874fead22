package dialect

import "github.com/tidwall/gjson"

func (responses) ReadAnswer(body []byte) (*Answer, error) {
	body = respMend(body)
	if err := respCheck(body, false); err != nil {
		return nil, err
	}
	v := gjson.ParseBytes(body)
	a := &Answer{
		ID:      v.Get("id").String(),
		Model:   v.Get("model").String(),
		Created: v.Get("created_at").Int(),
		Usage:   respUsage(v.Get("usage")),
	}
	status := v.Get("status").Str
	if e := v.Get("error"); e.IsObject() || status == "failed" {
		return nil, malformed("error", "the provider answered that it failed: %s: %s", e.Get("code").String(), e.Get("message").String())
	}
	switch status {
	case "completed", "incomplete":
	default:
		return nil, malformed("status", "%q is not the status of an answer", status)
	}
	err := respElements("output", v.Get("output"), func(path string, v gjson.Result) *Error {
		parts, err := respOutput(path, v, status)
		a.Parts = append(a.Parts, parts...)
		return err
	})
	if err != nil {
		return nil, err
	}
	a.Stop = respStop(status, v.Get("incomplete_details.reason").Str, a.Parts)
	return a, nil
}

// respOutput reads an item of the output. Items of tools that run at OpenAI are
// refused: they were not asked for.
func respOutput(path string, v gjson.Result, status string) ([]Part, *Error) {
	switch kind := v.Get("type").Str; kind {
	case "message":
		var parts []Part
		content := v.Get("content")
		if !content.Exists() {
			return nil, nil
		}
		err := respElements(path+".content", content, func(path string, v gjson.Result) *Error {
			switch kind := v.Get("type").Str; kind {
			case "output_text":
				parts = append(parts, Part{Kind: Text, Text: v.Get("text").String()})
			case "refusal":
				parts = append(parts, Part{Kind: Refusal, Text: v.Get("refusal").String()})
			default:
				return unsupported(path+".type", "%q is not known in an answer", kind)
			}
			return nil
		})
		return parts, err
	case "function_call":
		arguments, ok := respArguments(v.Get("arguments").String())
		if !ok && status == "incomplete" {
			return nil, nil // cut in its middle: the stop reason says so
		}
		if !ok {
			return nil, malformed(path+".arguments", "is not a JSON object")
		}
		return []Part{{Kind: ToolCall, ID: v.Get("call_id").String(), Name: v.Get("name").String(), Arguments: arguments}}, nil
	case "reasoning":
		if p, ok := respThinking(v); ok {
			return []Part{p}, nil
		}
		return nil, nil
	default:
		return nil, unsupported(path+".type", "%q is not known in an answer", kind)
	}
}

// respStop is why an answer stopped. Responses has no word for calls and
// refusals: that they are there says it.
func respStop(status, reason string, parts []Part) StopReason {
	if status == "incomplete" {
		switch reason {
		case "max_output_tokens", "max_tokens":
			return StopLength
		case "content_filter":
			return StopFilter
		}
		return StopUnknown
	}
	stop := StopEnd
	for i := range parts {
		switch parts[i].Kind {
		case ToolCall:
			return StopTool
		case Refusal:
			stop = StopRefusal
		}
	}
	return stop
}

func respUsage(v gjson.Result) Usage {
	if !v.IsObject() {
		return Usage{}
	}
	count := func(path string) int64 { return min(max(v.Get(path).Int(), 0), 1<<40) }
	u := Usage{Known: true, Input: count("input_tokens"), Output: count("output_tokens")}
	// A part cannot exceed the whole, whatever the provider says.
	u.Cached = min(count("input_tokens_details.cached_tokens"), u.Input)
	u.CacheWrite = min(count("input_tokens_details.cache_write_tokens"), u.Input-u.Cached)
	u.reasoned(count("output_tokens_details.reasoning_tokens"), count("total_tokens"))
	return u
}

// WriteAnswer says the answer to a stream's writer and takes the object with
// which the stream would end, so that the two are the same.
func (responses) WriteAnswer(a *Answer) ([]byte, error) {
	w := newRespWriter(WriterOptions{})
	var scratch []byte
	say := func(e Event) { scratch = w.Write(scratch[:0], &e) }
	say(Event{Kind: Begin, ID: a.ID, Model: a.Model, Created: a.Created})
	for i := range a.Parts {
		p := &a.Parts[i]
		text := p.Text
		switch p.Kind {
		case ToolCall:
			text = string(p.Arguments)
		case Text, Refusal, Thinking, Redacted:
		default:
			return nil, unsupported("parts", "an answer of Responses has no place for it")
		}
		say(Event{Kind: BlockBegin, Index: i, Block: p.Kind, ID: p.ID, Name: p.Name, Data: p.Data})
		if text != "" {
			say(Event{Kind: Delta, Index: i, Text: []byte(text)})
		}
		if p.Signature != "" {
			say(Event{Kind: Sign, Index: i, Text: []byte(p.Signature)})
		}
		say(Event{Kind: BlockEnd, Index: i})
	}
	say(Event{Kind: Finish, Stop: a.Stop})
	say(Event{Kind: Used, Usage: a.Usage})
	s := w.final()
	return w.head.append(nil, &s, w.output), nil
}
