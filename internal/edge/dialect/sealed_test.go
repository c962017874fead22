package dialect

import (
	"slices"
	"strings"
	"testing"
)

// Thinking that another provider has signed is left out, and said to be.
func TestForeignThinking(t *testing.T) {
	for name, d := range map[string]Dialect{"messages": Messages(), "responses": Responses()} {
		for _, signature := range []string{"", "gemini:abc", "gemini-next:abc"} {
			r := &Request{Model: "m", MaxOutput: new(int64), Turns: []Turn{
				{User, []Part{{Kind: Text, Text: "hello"}}},
				{Assistant, []Part{{Kind: Thinking, Text: "hm", Signature: signature}, {Kind: Text, Text: "hi"}}},
				{User, []Part{{Kind: Text, Text: "go on"}}},
			}}
			*r.MaxOutput = 100
			body, err := d.WriteRequest(r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			told := slices.ContainsFunc(r.Dropped, func(s string) bool { return strings.HasPrefix(s, "thinking") })
			if strings.Contains(string(body), "hm") || !told {
				t.Errorf("%s, signed %q: %s, dropped %v", name, signature, body, r.Dropped)
			}
		}
	}
}
