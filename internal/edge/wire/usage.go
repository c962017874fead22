package wire

import (
	"math"
	"strconv"
)

// Usage is what an upstream says a request cost, in tokens. Cached is part of
// Input and Reasoning is part of Output.
type Usage struct {
	Input, Output, Cached, Reasoning int64
	Known                            bool // the upstream said so; false = nothing is known
}

// readUsageObject reads a usage object in the words of chat and embeddings
// (prompt_tokens) or of responses (input_tokens). It is complete if it has the
// input and either the output or the total; a part alone is not reported.
func readUsageObject(data []byte) (Usage, bool) {
	input, output, total, cached, reasoning := int64(-1), int64(-1), int64(-1), int64(0), int64(0)
	for m := membersOf(data); m.next(); {
		v := m.value.of(data)
		switch string(m.name) {
		case "prompt_tokens", "input_tokens":
			input = readCount(v)
		case "completion_tokens", "output_tokens":
			output = readCount(v)
		case "total_tokens":
			total = readCount(v)
		case "prompt_tokens_details", "input_tokens_details":
			cached = readDetail(v, "cached_tokens")
		case "completion_tokens_details", "output_tokens_details":
			reasoning = readDetail(v, "reasoning_tokens")
		}
	}
	if output < 0 && total >= 0 {
		output = max(0, total-input)
	}
	if input < 0 || output < 0 {
		return Usage{}, false
	}
	return Usage{
		Input: input, Output: output, Known: true,
		// A part cannot exceed the whole, whatever the upstream says.
		Cached: min(cached, input), Reasoning: min(reasoning, output),
	}, true
}

// readDetail returns one count of a details object, 0 if it has none.
func readDetail(data []byte, name string) int64 {
	for m := membersOf(data); m.next(); {
		if string(m.name) == name {
			return max(0, readCount(m.value.of(data)))
		}
	}
	return 0
}

// readCount returns a token count, or -1 if v is not one.
func readCount(v []byte) int64 {
	if len(v) == 0 || v[0] < '0' || v[0] > '9' {
		return -1
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return min(n, maxCount)
	}
	if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == math.Trunc(f) {
		return int64(min(f, maxCount))
	}
	return -1
}
