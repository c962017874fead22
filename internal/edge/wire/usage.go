package wire

import (
	"math"
	"strconv"
)

// Usage is what an upstream says a request cost, in tokens. Cached and
// CacheWrite are part of Input, Reasoning is part of Output, whatever a surface
// counts in or out.
type Usage struct {
	Input, Output int64
	Cached        int64 // read from the provider's cache
	CacheWrite    int64 // written to it
	Reasoning     int64
	Known         bool // the upstream said so; false = nothing is known
}

// readUsageObject reads a usage object in the words of chat and embeddings
// (prompt_tokens) or of responses (input_tokens). It is complete if it has the
// input and either the output or the total; a part alone is not reported.
func readUsageObject(data []byte) (Usage, bool) {
	input, output, total := int64(-1), int64(-1), int64(-1)
	var cached, hit, written, reasoning int64
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
			cached, written = readDetail(v, "cached_tokens"), readDetail(v, "cache_write_tokens")
		case "prompt_cache_hit_tokens": // of DeepSeek
			hit = max(readCount(v), 0)
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
	if reasoning > 0 && total-input-output == reasoning { // xAI counts it beside the output
		output += reasoning
	}
	u := Usage{Input: input, Output: output, Cached: cached, CacheWrite: written, Reasoning: reasoning, Known: true}
	if cached == 0 {
		u.Cached = hit
	}
	return u.within(), true
}

// within keeps the parts within the whole, whatever the upstream says.
func (u Usage) within() Usage {
	u.Cached = min(u.Cached, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.Cached)
	u.Reasoning = min(u.Reasoning, u.Output)
	return u
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
