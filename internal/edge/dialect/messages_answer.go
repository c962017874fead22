package dialect

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// ReadAnswer reads a whole message of a provider.
func (messages) ReadAnswer(body []byte) (*Answer, error) {
	if !gjson.ValidBytes(body) {
		return nil, malformed("", "the provider's answer is not valid JSON")
	}
	v := gjson.ParseBytes(body)
	if e := v.Get("error"); e.IsObject() {
		return nil, malformed("", "the provider's answer is an error: %.512s", e.Get("message").String())
	}
	if !v.Get("content").IsArray() {
		return nil, malformed("content", "the provider's answer has none")
	}
	a := &Answer{}
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "id":
			a.ID = v.Str
		case "model":
			a.Model = v.Str
		case "content":
			v.ForEach(func(_, v gjson.Result) bool {
				if p, ok := messagesReadPart(v); ok {
					a.Parts = append(a.Parts, p)
				}
				return true
			})
		case "stop_reason":
			a.Stop = messagesStop(v.Str)
		case "stop_sequence":
			a.Sequence = v.Str
		case "usage":
			messagesTake(&a.Usage, v)
		}
		return true
	})
	return a, nil
}

// messagesReadPart reads a block of an answer, if the neutral form has a word
// for it. Citations are left out; the text that they belong to stays.
func messagesReadPart(v gjson.Result) (p Part, ok bool) {
	if p.Kind, ok = messagesKind(messagesType(v)); !ok {
		return p, false
	}
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "text", "thinking":
			p.Text = v.Str
		case "signature":
			p.Signature = v.Str
		case "data":
			p.Data = v.Str
		case "id":
			p.ID = v.Str
		case "name":
			p.Name = v.Str
		case "input":
			if v.IsObject() {
				p.Arguments = Raw(v.Raw)
			}
		}
		return true
	})
	if p.Kind == ToolCall && p.Arguments == nil {
		p.Arguments = Raw("{}")
	}
	return p, true
}

// messagesKind reads the type of a block in an answer.
func messagesKind(kind string) (PartKind, bool) {
	switch kind {
	case "text":
		return Text, true
	case "thinking":
		return Thinking, true
	case "redacted_thinking":
		return Redacted, true
	case "tool_use":
		return ToolCall, true
	}
	return 0, false
}

// messagesAnswer is a whole message as it is written.
type messagesAnswer struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Role     string          `json:"role"`
	Model    string          `json:"model"`
	Content  []messagesBlock `json:"content"`
	Stop     string          `json:"stop_reason"`
	Sequence *string         `json:"stop_sequence"`
	Usage    messagesCounts  `json:"usage"`
}

// WriteAnswer writes a whole message for a caller. A refusal is text with the
// stop reason refusal, as this dialect has no block for it. Thinking that nobody
// signed has the empty signature: this dialect does not send it back to Anthropic.
func (messages) WriteAnswer(a *Answer) ([]byte, error) {
	w := messagesAnswer{
		ID: a.ID, Type: "message", Role: "assistant", Model: a.Model,
		Content: []messagesBlock{}, Usage: messagesUsage(a.Usage),
	}
	var calls, refused bool
	for i := range a.Parts {
		p := &a.Parts[i]
		b := messagesBlock{Type: "text", Text: &p.Text}
		switch p.Kind {
		case Text:
		case Refusal:
			refused = true
		case Thinking:
			b = messagesBlock{Type: "thinking", Thinking: &p.Text, Signature: &p.Signature}
		case Redacted:
			b = messagesBlock{Type: "redacted_thinking", Data: p.Data}
		case ToolCall:
			b = messagesBlock{Type: "tool_use", ID: messagesCallID(p.ID, a.ID, i), Name: p.Name, Input: jsontext.Value(p.Arguments)}
			switch {
			case messagesNothing(p.Arguments):
				b.Input = jsontext.Value("{}")
			case messagesIsObject(p.Arguments):
			case a.Stop == StopLength:
				continue // cut off in its arguments: there is no call to make of it
			default:
				return nil, within(atIndex(malformed("arguments", "the model's arguments are not a JSON object"), i), "parts")
			}
			calls = true
		default:
			return nil, within(atIndex(unsupported("", "the messages API has no such block in an answer"), i), "parts")
		}
		w.Content = append(w.Content, b)
	}
	w.Stop = messagesStopWord(a.Stop, calls, refused)
	if a.Sequence != "" {
		w.Sequence = &a.Sequence
	}
	b, err := json.Marshal(w, messagesWriting)
	if err != nil {
		return nil, malformed("", "write answer: %v", err)
	}
	return b, nil
}

// messagesCallID is the id of a tool call for a caller. A provider that gives
// none gets one of the answer's id and the place in it.
func messagesCallID(id, answer string, i int) string {
	if id == "" {
		id = "toolu_" + answer + "_" + strconv.Itoa(i)
	}
	return messagesID(id)
}
