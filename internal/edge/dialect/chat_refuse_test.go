package dialect

import (
	"strings"
	"testing"
)

func TestChatReadRequestRefuses(t *testing.T) {
	const unsupported, malformed = true, false
	user := func(parts string) string { return chatSays(`{"role":"user","content":[` + parts + `]}`) }
	assistant := func(members string) string {
		return chatSays(`{"role":"user","content":"hi"},{"role":"assistant",` + members + `}`)
	}
	call := func(members string) string { return assistant(`"tool_calls":[{` + members + `}]`) }
	for _, tt := range []struct {
		name, body, field string
		unsupported       bool
	}{
		{"empty", ``, "", malformed},
		{"array", `[]`, "", malformed},
		{"cut", `{"model":"m","messages":[{"role":"user"`, "messages[0]", malformed},
		{"trailing", chatWith(`"seed":1`) + `{}`, "", malformed},
		{"duplicate", chatWith(`"seed":1,"seed":2`), "seed", malformed},
		{"duplicate, escaped", chatWith(`"seed":1,"\u0073eed":2`), "seed", malformed},
		{"duplicate inside", chatSays(`{"role":"user","content":"a","content":"b"}`), "messages[0].content", malformed},
		{"bad UTF-8", chatSays(`{"role":"user","content":"` + "\xff" + `"}`), "messages[0].content", malformed},
		{"half a surrogate", chatSays(`{"role":"user","content":"\ud800"}`), "messages[0].content", malformed},
		{"too deep", chatWith(`"x":` + strings.Repeat("[", 100000)), "x" + strings.Repeat("[0]", 11), malformed},

		{"no model", `{"messages":[{"role":"user","content":"hi"}]}`, "model", malformed},
		{"model number", `{"model":1}`, "model", malformed},
		{"no messages", `{"model":"m"}`, "messages", malformed},
		{"messages null", `{"model":"m","messages":null}`, "messages", malformed},
		{"messages empty", chatSays(``), "messages", malformed},
		{"messages string", `{"model":"m","messages":"hi"}`, "messages", malformed},
		{"message null", chatSays(`null`), "messages[0]", malformed},

		{"n", chatWith(`"n":2`), "n", unsupported},
		{"logprobs", chatWith(`"logprobs":true`), "logprobs", unsupported},
		{"top_logprobs", chatWith(`"top_logprobs":3`), "top_logprobs", unsupported},
		{"logit_bias", chatWith(`"logit_bias":{"1":1}`), "logit_bias", unsupported},
		{"audio", chatWith(`"audio":{"voice":"x"}`), "audio", unsupported},
		{"modalities", chatWith(`"modalities":["text","audio"]`), "modalities", unsupported},
		{"prediction", chatWith(`"prediction":{}`), "prediction", unsupported},
		{"web_search_options", chatWith(`"web_search_options":{}`), "web_search_options", unsupported},
		{"store", chatWith(`"store":true`), "store", unsupported},
		{"service_tier", chatWith(`"service_tier":"flex"`), "service_tier", unsupported},
		{"verbosity", chatWith(`"verbosity":"low"`), "verbosity", unsupported},
		{"moderation", chatWith(`"moderation":{}`), "moderation", unsupported},
		{"functions", chatWith(`"functions":[]`), "functions", unsupported},
		{"function_call", chatWith(`"function_call":"auto"`), "function_call", unsupported},
		{"of a server", chatWith(`"top_k":5`), "top_k", unsupported},
		{"other case", chatWith(`"Temperature":1`), "Temperature", unsupported},
		{"long name", chatWith(`"` + strings.Repeat("é", 1000) + `":1`), strings.Repeat("é", 32) + "...", unsupported},
		{"stream_options", chatWith(`"stream_options":{"x":1}`), "stream_options.x", unsupported},
		{"stream_options array", chatWith(`"stream_options":[]`), "stream_options", malformed},
		{"include_usage", chatWith(`"stream_options":{"include_usage":1}`), "stream_options.include_usage", malformed},
		{"stream", chatWith(`"stream":"true"`), "stream", malformed},
		{"max_tokens", chatWith(`"max_tokens":1.5`), "max_tokens", malformed},
		{"max_tokens text", chatWith(`"max_tokens":"1"`), "max_tokens", malformed},
		{"max_completion_tokens", chatWith(`"max_completion_tokens":1e99`), "max_completion_tokens", malformed},
		{"temperature", chatWith(`"temperature":"1"`), "temperature", malformed},
		{"temperature huge", chatWith(`"temperature":1e999`), "temperature", malformed},
		{"top_p", chatWith(`"top_p":true`), "top_p", malformed},
		{"frequency_penalty", chatWith(`"frequency_penalty":[]`), "frequency_penalty", malformed},
		{"presence_penalty", chatWith(`"presence_penalty":{}`), "presence_penalty", malformed},
		{"seed", chatWith(`"seed":99999999999999999999`), "seed", malformed},
		{"stop", chatWith(`"stop":1`), "stop", malformed},
		{"stops", chatWith(`"stop":["a",null]`), "stop[1]", malformed},
		{"user", chatWith(`"user":1`), "user", malformed},
		{"safety_identifier", chatWith(`"safety_identifier":[]`), "safety_identifier", malformed},
		{"effort", chatWith(`"reasoning_effort":"xhigh"`), "reasoning_effort", unsupported},
		{"effort number", chatWith(`"reasoning_effort":1`), "reasoning_effort", malformed},
		{"format", chatWith(`"response_format":{}`), "response_format.type", malformed},
		{"format string", chatWith(`"response_format":"json"`), "response_format", malformed},
		{"grammar", chatWith(`"response_format":{"type":"grammar"}`), "response_format.type", unsupported},
		{"format member", chatWith(`"response_format":{"type":"text","x":1}`), "response_format.x", unsupported},
		{"schema without type", chatWith(`"response_format":{"type":"text","json_schema":{}}`), "response_format.json_schema", malformed},
		{"no json_schema", chatWith(`"response_format":{"type":"json_schema"}`), "response_format.json_schema", malformed},
		{"no schema", chatWith(`"response_format":{"type":"json_schema","json_schema":{"name":"n"}}`), "response_format.json_schema.schema", malformed},
		{"schema string", chatWith(`"response_format":{"type":"json_schema","json_schema":{"schema":"n"}}`), "response_format.json_schema.schema", malformed},
		{"schema described", chatWith(`"response_format":{"type":"json_schema","json_schema":{"description":"n"}}`), "response_format.json_schema.description", unsupported},
		{"schema member", chatWith(`"response_format":{"type":"json_schema","json_schema":{"x":1}}`), "response_format.json_schema.x", unsupported},

		{"tools object", chatWith(`"tools":{}`), "tools", malformed},
		{"tool without type", chatWith(`"tools":[{"function":{"name":"f"}}]`), "tools[0].type", malformed},
		{"custom tool", chatWith(`"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{}}]`), "tools[1].type", unsupported},
		{"tool member", chatWith(`"tools":[{"type":"function","x":1,"function":{"name":"f"}}]`), "tools[0].x", unsupported},
		{"no function", chatWith(`"tools":[{"type":"function"}]`), "tools[0].function", malformed},
		{"no name", chatWith(`"tools":[{"type":"function","function":{}}]`), "tools[0].function.name", malformed},
		{"parameters", chatWith(`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`), "tools[0].function.parameters", malformed},
		{"function member", chatWith(`"tools":[{"type":"function","function":{"name":"f","x":1}}]`), "tools[0].function.x", unsupported},
		{"choice word", chatWith(`"tool_choice":"any"`), "tool_choice", malformed},
		{"choice without type", chatWith(`"tool_choice":{}`), "tool_choice.type", malformed},
		{"allowed tools", chatWith(`"tool_choice":{"type":"allowed_tools","allowed_tools":{}}`), "tool_choice.type", unsupported},
		{"choice member", chatWith(`"tool_choice":{"type":"function","function":{"name":"f"},"x":1}`), "tool_choice.x", unsupported},
		{"choice name", chatWith(`"tool_choice":{"type":"function","function":{}}`), "tool_choice.function.name", malformed},
		{"choice inside", chatWith(`"tool_choice":{"type":"function","function":{"name":"f","x":1}}`), "tool_choice.function.x", unsupported},
		{"parallel", chatWith(`"parallel_tool_calls":"no"`), "parallel_tool_calls", malformed},

		{"no role", chatSays(`{"content":"hi"}`), "messages[0].role", malformed},
		{"other role", chatSays(`{"role":"critic","content":"hi"}`), "messages[0].role", unsupported},
		{"function role", chatSays(`{"role":"function","name":"f","content":"hi"}`), "messages[0].role", unsupported},
		{"name", chatSays(`{"role":"user","name":"bob","content":"hi"}`), "messages[0].name", unsupported},
		{"message member", chatSays(`{"role":"user","content":"hi","x":1}`), "messages[0].x", unsupported},
		{"calls of the user", chatSays(`{"role":"user","content":"hi","tool_calls":[]}`), "messages[0].tool_calls", malformed},
		{"no content", chatSays(`{"role":"user"}`), "messages[0].content", malformed},
		{"content number", chatSays(`{"role":"user","content":1}`), "messages[0].content", malformed},
		{"image of the system", chatSays(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}`), "messages[0].content[0].type", unsupported},
		{"refusal of the user", user(`{"type":"refusal","refusal":"no"}`), "messages[0].content[0].type", unsupported},
		{"part string", user(`"hi"`), "messages[0].content[0]", malformed},
		{"part without type", user(`{"text":"hi"}`), "messages[0].content[0].type", malformed},
		{"audio part", chatSays(`{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio","input_audio":{}}]}`), "messages[2].content[1].type", unsupported},
		{"video part", user(`{"type":"video_url","video_url":{}}`), "messages[0].content[0].type", unsupported},
		{"part member", user(`{"type":"text","text":"a","x":1}`), "messages[0].content[0].x", unsupported},
		{"no text", user(`{"type":"text"}`), "messages[0].content[0].text", malformed},
		{"text number", user(`{"type":"text","text":1}`), "messages[0].content[0].text", malformed},
		{"image string", user(`{"type":"image_url","image_url":"https://x"}`), "messages[0].content[0].image_url", malformed},
		{"no URL", user(`{"type":"image_url","image_url":{}}`), "messages[0].content[0].image_url.url", malformed},
		{"plain http", user(`{"type":"image_url","image_url":{"url":"http://x"}}`), "messages[0].content[0].image_url.url", unsupported},
		{"file URL", user(`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`), "messages[0].content[0].image_url.url", unsupported},
		{"data without base64", user(`{"type":"image_url","image_url":{"url":"data:image/png,x"}}`), "messages[0].content[0].image_url.url", unsupported},
		{"data without type", user(`{"type":"image_url","image_url":{"url":"data:;base64,x"}}`), "messages[0].content[0].image_url.url", unsupported},
		{"data with parameters", user(`{"type":"image_url","image_url":{"url":"data:a/b;c=d;base64,x"}}`), "messages[0].content[0].image_url.url", unsupported},
		{"data without data", user(`{"type":"image_url","image_url":{"url":"data:a/b;base64,"}}`), "messages[0].content[0].image_url.url", malformed},
		{"detail", user(`{"type":"image_url","image_url":{"url":"https://x","detail":"original"}}`), "messages[0].content[0].image_url.detail", unsupported},
		{"image member", user(`{"type":"image_url","image_url":{"url":"https://x","x":1}}`), "messages[0].content[0].image_url.x", unsupported},
		{"file id", user(`{"type":"file","file":{"file_id":"f"}}`), "messages[0].content[0].file.file_id", unsupported},
		{"file without data", user(`{"type":"file","file":{}}`), "messages[0].content[0].file.file_data", malformed},
		{"file of bare base64", user(`{"type":"file","file":{"file_data":"aGk="}}`), "messages[0].content[0].file.file_data", unsupported},
		{"file member", user(`{"type":"file","file":{"x":1}}`), "messages[0].content[0].file.x", unsupported},

		{"nothing said", assistant(`"content":null`), "messages[1].content", malformed},
		{"name of the model", assistant(`"content":"a","name":"bob"`), "messages[1].name", unsupported},
		{"audio of the model", assistant(`"content":"a","audio":{"id":"x"}`), "messages[1].audio", unsupported},
		{"old call", assistant(`"content":"a","function_call":{}`), "messages[1].function_call", unsupported},
		{"image of the model", assistant(`"content":[{"type":"image_url","image_url":{"url":"https://x"}}]`), "messages[1].content[0].type", unsupported},
		{"calls object", assistant(`"tool_calls":{}`), "messages[1].tool_calls", malformed},
		{"call without id", call(`"type":"function","function":{"name":"f","arguments":"{}"}`), "messages[1].tool_calls[0].id", malformed},
		{"custom call", call(`"id":"1","type":"custom","custom":{}`), "messages[1].tool_calls[0].type", unsupported},
		{"call member", call(`"id":"1","x":1,"function":{"name":"f","arguments":"{}"}`), "messages[1].tool_calls[0].x", unsupported},
		{"call without function", call(`"id":"1"`), "messages[1].tool_calls[0].function", malformed},
		{"call without name", call(`"id":"1","function":{"arguments":"{}"}`), "messages[1].tool_calls[0].function.name", malformed},
		{"arguments cut", call(`"id":"1","function":{"name":"f","arguments":"{\"a"}`), "messages[1].tool_calls[0].function.arguments", malformed},
		{"arguments array", call(`"id":"1","function":{"name":"f","arguments":"[]"}`), "messages[1].tool_calls[0].function.arguments", malformed},
		{"arguments object", call(`"id":"1","function":{"name":"f","arguments":{}}`), "messages[1].tool_calls[0].function.arguments", malformed},
		{"called member", call(`"id":"1","function":{"name":"f","x":1}`), "messages[1].tool_calls[0].function.x", unsupported},
		{"result without id", chatSays(`{"role":"tool","content":"x"}`), "messages[0].tool_call_id", malformed},
		{"result without content", chatSays(`{"role":"tool","tool_call_id":"1"}`), "messages[0].content", malformed},
		{"result member", chatSays(`{"role":"tool","tool_call_id":"1","content":"x","refusal":"y"}`), "messages[0].refusal", malformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Chat().ReadRequest([]byte(tt.body))
			if err == nil {
				t.Fatalf("accepted as %s", asChatJSON(r))
			}
			refusedChat(t, err, tt.field, tt.unsupported)
		})
	}
}
