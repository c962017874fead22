package answers

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// form is the shape of a surface's requests and answers.
type form uint8

const (
	chat form = iota
	completions
	embeddings
	responses
	messages
)

// formOf knows the surfaces whose answers can be kept, by their names in metrics.
func formOf(surface string) (form, bool) {
	switch surface {
	case "chat.completions":
		return chat, true
	case "completions":
		return completions, true
	case "embeddings":
		return embeddings, true
	case "responses":
		return responses, true
	case "messages":
		return messages, true
	}
	return 0, false
}

// exempts says whether a member of a request changes nothing of its answer.
func (f form) exempts(name []byte) bool {
	switch string(name) {
	case "service_tier":
		return true
	case "metadata":
		return f != responses
	case "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options":
		return f != responses && f != messages
	}
	return false
}

// keepsOrder says whether the order of members within the value of this one can
// change the answer: it holds schemas.
func keepsOrder(name []byte) bool {
	switch string(name) {
	case "response_format", "text", "tools", "functions", // of the vendors
		"output_config", "output_format",
		"structured_outputs", "guided_json", "json_schema": // of servers
		return true
	}
	return false
}

// refuses says whether a member, by its canonical value, makes a request one
// whose answer is good only once:
//
//   - it goes on from what the provider keeps: an earlier answer, a conversation,
//     a stored prompt, a container, an item by its id;
//   - it looks at the world when it is asked: searches, plugins;
//   - the provider runs tools for it, with effects of their own;
//   - its answer is not there when it ends, or not for long: work in the
//     background, sound, which is referred to by an id that expires.
func (f form) refuses(name, value []byte) bool {
	switch string(name) {
	case "previous_response_id", "conversation", "container", "background", "audio",
		"mcp_servers", "plugins", "web_search_options", "search_parameters":
		return string(value) != "null" && string(value) != "false"
	case "prompt":
		return f == responses && string(value) != "null"
	case "input":
		return f == responses && bytes.Contains(value, []byte(`"type":"item_reference"`))
	case "tools":
		return string(value) != "null" && runsTools(value)
	}
	return false
}

// runsTools says whether some tool is not one that the caller runs itself by the
// call it is told.
func runsTools(tools []byte) bool {
	runs := false
	gjson.ParseBytes(tools).ForEach(func(_, tool gjson.Result) bool {
		kind := tool.Get("type")
		own := kind.Type == gjson.Null || kind.Str == "function" || kind.Str == "custom"
		runs = !own || !tool.IsObject()
		return !runs
	})
	return runs
}
