package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// respHear reads a stream of events, one JSON object a line, and gives the
// neutral events as words.
func respHear(t *testing.T, r Reader, lines string) string {
	t.Helper()
	var said []string
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		events, err := r.Read(nil, []byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, e := range events {
			said = append(said, respSaid(e))
		}
	}
	return strings.Join(said, "\n")
}

func respSaid(e Event) string {
	switch e.Kind {
	case Begin:
		return fmt.Sprintf("begin %s %s %d", e.ID, e.Model, e.Created)
	case BlockBegin:
		return strings.TrimSpace(fmt.Sprintf("%d opens %s %s%s %s", e.Index, [...]string{Text: "text", ToolCall: "call", Thinking: "thinking", Redacted: "redacted", Refusal: "refusal"}[e.Block], e.ID, e.Data, e.Name))
	case Delta:
		return fmt.Sprintf("%d says %q", e.Index, e.Text)
	case Sign:
		return fmt.Sprintf("%d signs %q", e.Index, e.Text)
	case BlockEnd:
		return fmt.Sprintf("%d ends", e.Index)
	case Finish:
		return fmt.Sprintf("finish %d", e.Stop)
	case Used:
		return fmt.Sprintf("used %d+%d", e.Usage.Input, e.Usage.Output)
	case End:
		return "end"
	case Fault:
		return fmt.Sprintf("fault %s %q", e.Code, e.Text)
	}
	return "ping"
}

func TestResponsesReadStream(t *testing.T) {
	const created = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"gpt","created_at":5.0,"usage":null}}` + "\n"
	const completed = `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message"}],"usage":{"input_tokens":1,"output_tokens":2}}}`
	const begin, end = "begin resp_1 gpt 5\n", "\nused 1+2\nend"
	for _, c := range []struct{ name, lines, want string }{
		{"text", created + `{"type":"response.in_progress","response":{"id":"resp_1"}}
			{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}
			{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}
			{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi\n","obfuscation":"xyz"}
			{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":" \u00e9\ud83d\ude00"}
			{"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation":{}}
			{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Hi\n é😀"}
			{"type":"response.content_part.done","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Hi\n é😀"}}
			{"type":"response.content_part.added","output_index":0,"content_index":1,"part":{"type":"refusal","refusal":""}}
			{"type":"response.refusal.delta","output_index":0,"content_index":1,"delta":"no"}
			{"type":"response.refusal.done","output_index":0,"content_index":1,"refusal":"no"}
			{"type":"response.content_part.done","output_index":0,"content_index":1,"part":{"type":"refusal","refusal":"no"}}
			{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hi"},{"type":"refusal","refusal":"no"}]}}
			` + completed + "\n[DONE]",
			begin + "0 opens text\n0 says \"Hi\\n\"\n0 says \" é😀\"\n0 ends\n1 opens refusal\n1 says \"no\"\n1 ends\nfinish 6" + end},
		{"thinking", created + `{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}
			{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}
			{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}
			{"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":0,"text":"a"}
			{"type":"response.reasoning_summary_part.done","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"a"}}
			{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}
			{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"b"}
			{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"s"}}
			{"type":"response.output_item.added","output_index":1,"item":{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"early"}}
			{"type":"response.output_item.done","output_index":1,"item":{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"x"}}
			{"type":"response.output_item.added","output_index":2,"item":{"id":"rs_3","type":"reasoning","summary":[]}}
			{"type":"response.output_item.done","output_index":2,"item":{"id":"rs_3","type":"reasoning","summary":[]}}
			` + completed,
			begin + "0 opens thinking\n0 says \"a\"\n0 says \"\\n\\n\"\n0 says \"b\"\n0 signs \"openai:s\"\n0 ends\n1 opens redacted openai:x\n1 ends\nfinish 1" + end},
		{"reasoning of open models", created + `{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning"}}
			{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"hm"}
			{"type":"response.reasoning_text.done","output_index":0,"content_index":0,"text":"hm"}
			{"type":"response.content_part.done","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":"hm"}}
			{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}
			` + completed,
			begin + "0 opens thinking\n0 says \"hm\"\n0 ends\nfinish 1" + end},
		{"calls in parallel", created + `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}
			{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"b","name":"g","arguments":""}}
			{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"x\":"}
			{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}
			{"type":"response.function_call_arguments.delta","output_index":1,"delta":"1}"}
			{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"}
			{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","arguments":"{}"}}
			{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","arguments":"{\"x\":1}"}}
			` + completed,
			begin + "0 opens call a f\n1 opens call b g\n1 says \"{\\\"x\\\":\"\n0 says \"{}\"\n1 says \"1}\"\n0 ends\n1 ends\nfinish 4" + end},
		{"no word before the end of each", created + `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}}
			{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"a","name":"f"}}
			{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}}
			{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"b","name":"g","arguments":"[]"}}
			` + completed,
			begin + "0 opens text\n0 says \"a\"\n0 ends\n1 opens text\n1 says \"b\"\n1 ends\n2 opens call a f\n2 says \"{}\"\n2 ends\n3 opens call b g\n3 says \"[]\"\n3 ends\nfinish 4" + end},
		{"parts that were not announced", `{"type":"response.output_text.delta","delta":"a"}
			{"type":"response.output_text.done","text":"a"}
			{"type":"response.output_text.done","content_index":1,"text":"b"}
			{"type":"response.completed","response":{}}`,
			"begin   0\n0 opens text\n0 says \"a\"\n0 ends\n1 opens text\n1 says \"b\"\n1 ends\nfinish 1\nend"},
		{"nothing but the whole", `{"type":"response.completed","response":{"id":"resp_1","model":"gpt","created_at":5,"status":"completed","output":[{"type":"reasoning","summary":[],"encrypted_content":"x"},{"type":"message","content":[{"type":"output_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":2}}}`,
			begin + "0 opens redacted openai:x\n0 ends\n1 opens text\n1 says \"a\"\n1 ends\n2 opens call c f\n2 says \"{}\"\n2 ends\nfinish 4" + end},
		{"a cap", created + `{"type":"response.output_text.delta","delta":"a"}
			{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`,
			begin + "0 opens text\n0 says \"a\"\n0 ends\nfinish 3\nend"},
		{"failed", created + `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_is_overloaded","message":"later"}}}
			{"type":"response.completed","response":{}}`, begin + "fault overloaded \"later\""},
		{"error", created + `{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}
			{"type":"response.failed","response":{}}`, begin + "fault rate_limit \"slow\""},
		{"error with an object", `{"type":"error","error":{"type":"invalid_request_error","code":null,"message":"bad"}}`, "fault invalid_request \"bad\""},
		{"an error alone", `{"error":{"type":"server_error","message":"bad"}}`, "fault server_error \"bad\""},
		{"a bad picture", `{"type":"error","code":"invalid_image_url","message":"m"}`, "fault invalid_request \"m\""},
		{"half a character", `{"type":"response.output_text.delta","delta":"a\ud83d","delta2":1}
			{"type":"response.output_text.delta","delta":"b` + "\xff" + `"}`, "begin   0\n0 opens text\n0 says \"a\uFFFD\"\n0 says \"b\uFFFD\""},
		{"what is new", created + `{"type":"keepalive","sequence_number":3}
			{"type":"response.surprise","item":{"type":"x"}}`, begin + "ping"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Responses().NewReader()
			if got := respHear(t, r, c.lines); got != strings.TrimSpace(c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if ends := strings.HasSuffix(c.want, "end") || strings.Contains(c.want, "fault"); r.Finished() != ends {
				t.Errorf("finished %v, want %v", r.Finished(), ends)
			}
		})
	}
}

// The name of the event serves where the data has no type.
func TestResponsesReadStreamByName(t *testing.T) {
	r := Responses().NewReader()
	events, err := r.Read([]byte("response.output_text.delta"), []byte(`{"delta":"a"}`))
	if err != nil || len(events) != 3 || string(events[2].Text) != "a" {
		t.Errorf("got %+v, %v", events, err)
	}
}

func TestResponsesReadStreamRefuses(t *testing.T) {
	const closed = `{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"a"}]}}` + "\n"
	for _, c := range []struct{ name, lines, field string }{
		{"no JSON", `hello`, ""},
		{"an array", `[]`, ""},
		{"a cut object", `{"type":"response.created"`, ""},
		{"no type", `{"id":"chatcmpl-1","choices":[]}`, "type"},
		{"an item of a tool at OpenAI", `{"type":"response.output_item.added","item":{"type":"web_search_call"}}`, "item.type"},
		{"the same, at its end", `{"type":"response.output_item.done","item":{"type":"web_search_call"}}`, "item.type"},
		{"a part that is not known", `{"type":"response.content_part.added","part":{"type":"video"}}`, "part.type"},
		{"more of what is closed", closed + `{"type":"response.output_text.delta","delta":"b"}`, "output_index"},
		{"arguments of no call", `{"type":"response.function_call_arguments.delta","delta":"b"}`, "output_index"},
		{"a call in the place of a message", closed + `{"type":"response.output_item.added","item":{"type":"function_call"}}`, "output_index"},
		{"another kind of part", `{"type":"response.output_text.delta","delta":"b"}
			{"type":"response.refusal.delta","delta":"b"}`, "type"},
	} {
		r := Responses().NewReader()
		var err error
		for line := range strings.Lines(c.lines) {
			if _, err = r.Read(nil, bytes.TrimSpace([]byte(line))); err != nil {
				break
			}
		}
		var e *Error
		if !errors.As(err, &e) || e.Field != c.field {
			t.Errorf("%s: got %v, want %q", c.name, err, c.field)
		}
	}
}

// The open blocks are bounded.
func TestResponsesReadStreamBounds(t *testing.T) {
	r := Responses().NewReader()
	for i := range respMaxOpen + 1 {
		_, err := r.Read(nil, fmt.Appendf(nil, `{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","call_id":"c","name":"f"}}`, i))
		if (err != nil) != (i == respMaxOpen) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}
