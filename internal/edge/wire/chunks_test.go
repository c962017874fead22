package wire

import (
	"reflect"
	"strings"
	"testing"
)

// Reading a stream with the memory of its head finds the same as reading each
// chunk by itself.
func FuzzChunksReadLikeReadChunk(f *testing.F) {
	const head = `{"id":"c","object":"chat.completion.chunk","model":"m",`
	for _, stream := range []string{
		head + `"choices":[{"delta":{"content":"a"},"finish_reason":null}]}` + "\n" +
			head + `"choices":[{"delta":{"content":"b \"model\""},"finish_reason":null}],"usage":null}` + "\n" +
			head + `"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n" +
			head + `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		head + `"error":null,"choices":[1]}` + "\n" + head + `"error":null, "choices":[2]}` + "\n" + head + `"error":null,}`,
		head + `"choices":[1],"error":null}` + "\n" + head + `"error":{"message":"x"}}` + "\n" + head + `"choices":[1],"model":"n"}`,
		`{"choices":[1],"model":"m"}` + "\n" + `{"choices":[],"usage":{}}` + "\n" + `{"object":"error"}` + "\n" + `{}`,
		head + `"finish_reason":"stop","choices":[1]}` + "\n" + head + `"finish_reason":"stop","choices":[2]}`,
		head + `"usage":{"prompt_tokens":1},"choices":[1]}` + "\n" + head + `"usage":{"prompt_tokens":1},"choices":[1],"usage":null}` + "\n" + head,
		"[1]\n" + head + "\n{\nnull\n",
	} {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		var s Chunks
		for line := range strings.SplitSeq(stream, "\n") {
			data := []byte(line)
			got, want := s.Read(data), ReadChunk(data)
			if !reflect.DeepEqual(got, *want) {
				t.Fatalf("%q in %q:\n got %+v\nwant %+v", line, stream, got, want)
			}
		}
	})
}

func TestChunksKeepNothingOverReset(t *testing.T) {
	var s Chunks
	s.Read([]byte(`{"model":"a","choices":[]}`))
	s.Reset()
	c := s.Read([]byte(`{"model":"b","choices":[]}`))
	if got := c.Rewrite("c", nil); string(got) != `{"model":"c","choices":[]}` {
		t.Fatalf("after Reset: %s", got)
	}
}
