package wire

import (
	"bytes"
	"strings"
	"testing"
)

// chunkOf is a chunk as OpenAI sends it.
func chunkOf(text, more string) string {
	return `{"id":"c","object":"chat.completion.chunk","model":"vendor-m","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}],"usage":null` + more + `}`
}

// Whatever a chunk is, it is read as it would be read alone.
func TestSameText(t *testing.T) {
	padded := func(n int) string { return `,"obfuscation":"` + strings.Repeat("x", n) + `"` }
	for name, chunks := range map[string][]string{
		"plain":            {chunkOf("a", ""), chunkOf("b c", ""), chunkOf("", ""), chunkOf("d", "")},
		"padded":           {chunkOf("a", padded(3)), chunkOf("b", padded(9)), chunkOf("b", ""), chunkOf("b", padded(0))},
		"escapes":          {chunkOf("a", ""), chunkOf(`say \"hi\"`, ""), chunkOf(`back\\`, ""), chunkOf(`\u00e9`, ""), chunkOf("c", "")},
		"another model":    {chunkOf("a", ""), strings.Replace(chunkOf("b", ""), "vendor-m", "other", 1), chunkOf("c", "")},
		"an end":           {chunkOf("a", ""), strings.Replace(chunkOf("b", ""), `"finish_reason":null`, `"finish_reason":"stop"`, 1), chunkOf("c", "")},
		"usage":            {chunkOf("a", ""), strings.Replace(chunkOf("b", ""), `"usage":null`, `"usage":{"prompt_tokens":1,"completion_tokens":2}`, 1), chunkOf("c", "")},
		"an error":         {chunkOf("a", ""), chunkOf("b", `,"error":{"message":"x"}`), chunkOf("c", "")},
		"error null":       {chunkOf("a", `,"error":null`), chunkOf("b", `,"error":null`), chunkOf("c", "")},
		"cut":              {chunkOf("a", ""), chunkOf("b", "")[:90], chunkOf("c", "")},
		"two texts":        {chunkOf("a", ""), strings.Replace(chunkOf("b", ""), `"delta":{`, `"delta":{"content":"z",`, 1)},
		"tool call":        {chunkOf("a", ""), `{"id":"c","model":"vendor-m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]},"finish_reason":null}]}`},
		"model at the end": {`{"choices":[{"delta":{"content":"a"},"finish_reason":null}],"model":"vendor-m"}`, `{"choices":[{"delta":{"content":"b"},"finish_reason":null}],"model":"vendor-m"}`},
		"what looks alike": {chunkOf("a", padded(2)), chunkOf("b", `,"obfuscation":"x","error":{"message":"y"}`), chunkOf("b", `,"obfuscation":"\"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			for order := range 2 {
				var s Chunks
				for i := range chunks {
					data := []byte(chunks[i])
					if order == 1 {
						data = []byte(chunks[len(chunks)-1-i])
					}
					same(t, &s, data)
				}
			}
		})
	}
}

// same fails unless a chunk is read as it is alone, and framed as it is rewritten.
func same(t *testing.T, s *Chunks, data []byte) {
	t.Helper()
	want := *ReadChunk(data)
	rewritten := want.Rewrite("alias", nil)
	_, fails := want.Failure()
	_, usage := want.Usage()
	if framed, ok := s.Pass(nil, data, "alias"); ok {
		if !bytes.Equal(framed, append(append([]byte("data: "), rewritten...), "\n\n"...)) || fails || usage || want.Finished() || want.Broken() {
			t.Errorf("%s, alone %+v, is passed as %q", data, want, framed)
		}
		return
	}
	got := s.Read(data)
	_, gotFails := got.Failure()
	_, wantFails := want.Failure()
	gotUsage, _ := got.Usage()
	wantUsage, _ := want.Usage()
	if gotFails != wantFails || gotUsage != wantUsage || got.Finished() != want.Finished() || got.Broken() != want.Broken() || got.UsageOnly() != want.UsageOnly() ||
		!bytes.Equal(got.Rewrite("alias", nil), rewritten) {
		t.Errorf("%s is read as %+v, alone as %+v", data, got, want)
	}
}

// FuzzSameText looks for two chunks of which the second is read wrongly for the first.
func FuzzSameText(f *testing.F) {
	f.Add([]byte(chunkOf("a", "")), []byte(chunkOf("b", "")))
	f.Add([]byte(chunkOf("a", `,"obfuscation":"xx"`)), []byte(chunkOf(`b\"`, `,"obfuscation":"x"`)))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if bytes.ContainsAny(a, "\n\r") || bytes.ContainsAny(b, "\n\r") {
			t.Skip()
		}
		var s Chunks
		same(t, &s, a)
		same(t, &s, b)
	})
}
