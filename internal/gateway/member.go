package gateway

import (
	"errors"
	"strings"

	"github.com/spillway-llm/spillway/internal/edge/dialect"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// memberNames are the members of a caller's body for those of the neutral form,
// where the two differ. What is refused or left out when a request is written
// for a provider is told in the caller's words.
var memberNames = map[wire.Surface]map[string]string{
	wire.ChatCompletions: {
		"parallel": "parallel_tool_calls", "max_output": "max_completion_tokens", "effort": "reasoning_effort", "format": "response_format",
		"system": "messages", "turns": "messages",
	},
	wire.Messages: {
		"parallel": "tool_choice.disable_parallel_tool_use", "max_output": "max_tokens", "effort": "output_config.effort", "budget": "thinking.budget_tokens",
		"format": "output_config.format", "stop": "stop_sequences", "user": "metadata.user_id", "turns": "messages",
	},
	wire.Responses: {
		"parallel": "parallel_tool_calls", "max_output": "max_output_tokens", "effort": "reasoning.effort", "format": "text.format",
		"system": "instructions", "turns": "input",
	},
}

// member is a path of the neutral form in the words of a surface. The places of
// turns and parts are not those of the caller's messages, so they are not told.
func member(s wire.Surface, path string) string {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	name, ok := memberNames[s][path[:end]]
	switch {
	case !ok:
		return path
	case path[:end] == "turns", path[:end] == "system":
		return name
	}
	return name + path[end:]
}

// inWords is the error of writing a request, in the words of a surface.
func inWords(s wire.Surface, err error) error {
	var d *dialect.Error
	if !errors.As(err, &d) {
		return err
	}
	said := *d
	said.Field = member(s, d.Field)
	return &said
}
