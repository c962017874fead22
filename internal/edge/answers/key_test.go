package answers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

const ask = `{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":7}`

// key is KeyOf for a request that must have one.
func key(t testing.TB, surface, body string) Key {
	t.Helper()
	k, ok := KeyOf("bank", surface, "big", []byte(body))
	if !ok {
		t.Fatalf("no key: %s", body)
	}
	return k
}

func TestKeyOfTheSame(t *testing.T) {
	for _, tt := range []struct{ name, surface, body, same string }{
		{"space", "chat.completions", ask, " {\n\t\"model\" : \"m\", \"messages\":[ {\"role\":\"user\",\"content\":\"hi\"} ],\"seed\":7}\r\n"},
		{"order", "chat.completions", ask, `{"seed":7,"messages":[{"content":"hi","role":"user"}],"model":"m"}`},
		{"escapes", "chat.completions", ask, `{"\u006dodel":"\u006d","messages":[{"role":"user","content":"h\u0069"}],"seed":7}`},
		{"numbers", "chat.completions", `{"top_p":1,"temperature":0.50}`, `{"top_p":1.0,"temperature":5e-1}`},
		{"a longer number", "chat.completions", `{"a":1e9,"b":[1e9],"c":2}`, `{"c":2,"b":[1000000000],"a":1000000000}`},
		{"who asks", "chat.completions", `{"seed":7}`, `{"seed":7,"user":"u","metadata":{"a":"b"},"safety_identifier":"s","prompt_cache_key":"p","prompt_cache_retention":"24h","prompt_cache_options":{},"service_tier":"flex"}`},
		{"who asks, in escapes", "chat.completions", `{"seed":7}`, `{"seed":7,"\u0075ser":"u"}`},
		{"who asks messages", "messages", `{"max_tokens":7}`, `{"service_tier":"auto","max_tokens":7,"metadata":{"user_id":"u"}}`},
		{"tier of responses", "responses", `{"input":"hi"}`, `{"service_tier":"flex","input":"hi"}`},
	} {
		if key(t, tt.surface, tt.body) != key(t, tt.surface, tt.same) {
			t.Errorf("%s: two keys", tt.name)
		}
	}
}

func TestKeyOfAnother(t *testing.T) {
	for _, tt := range []struct{ name, surface, body, other string }{
		{"a word", "chat.completions", ask, strings.Replace(ask, "hi", "ho", 1)},
		{"a member more", "chat.completions", ask, `{"top_p":1,` + ask[1:]},
		{"order of messages", "chat.completions", `{"messages":[1,2]}`, `{"messages":[2,1]}`},
		{"stream", "chat.completions", `{"seed":7}`, `{"seed":7,"stream":true}`},
		{"usage at the end", "chat.completions", `{"stream":true}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		{"store", "chat.completions", `{"seed":7}`, `{"seed":7,"store":true}`}, // the id of one can be referred to
		{"alias", "chat.completions", ask, strings.Replace(ask, `"m"`, `"n"`, 1)},
		{"a long seed", "chat.completions", `{"seed":9007199254740992}`, `{"seed":9007199254740993}`},
		{"order in a schema", "chat.completions", `{"response_format":{"a":1,"b":2}}`, `{"response_format":{"b":2,"a":1}}`},
		{"order in a tool", "messages", `{"tools":[{"name":"f","input_schema":{}}]}`, `{"tools":[{"input_schema":{},"name":"f"}]}`},
		{"what responses repeats", "responses", `{"input":"hi","user":"u","metadata":{}}`, `{"input":"hi","user":"v","metadata":{}}`},
		{"a member that surface has not", "messages", `{"max_tokens":7}`, `{"max_tokens":7,"user":"u"}`},
		{"a nested user", "chat.completions", `{"messages":[{"user":"u"}]}`, `{"messages":[{"user":"v"}]}`},
	} {
		if key(t, tt.surface, tt.body) == key(t, tt.surface, tt.other) {
			t.Errorf("%s: one key", tt.name)
		}
	}
}

func TestKeyOfNone(t *testing.T) {
	for _, tt := range []struct{ surface, body string }{
		{"chat.completions", ``}, {"chat.completions", `[]`}, {"chat.completions", `"a"`}, {"chat.completions", `{`}, {"chat.completions", `{"a":1`},
		{"chat.completions", `{}{}`}, {"chat.completions", `{"a":1,}`}, {"chat.completions", `{"a":01}`}, {"chat.completions", "{\"a\":\"\xff\"}"},
		{"chat.completions", `{"a":1,"a":2}`}, {"chat.completions", `{"a":1,"\u0061":2}`}, {"chat.completions", `{"a":{"b":1,"b":2}}`},
		{"chat.completions", `{"user":1,"user":2}`}, {"chat.completions", `{"user":{"a":1,"a":1}}`},
		{"messages.count_tokens", ask}, {"", ask}, {"images", ask},
		{"chat.completions", `{"web_search_options":{}}`},
		{"chat.completions", `{"plugins":[{"id":"web"}]}`},
		{"chat.completions", `{"modalities":["text","audio"],"audio":{"voice":"x"}}`},
		{"chat.completions", `{"tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search"}]}`},
		{"chat.completions", `{"tools":["f"]}`}, {"chat.completions", `{"tools":"f"}`}, {"chat.completions", `{"tools":[{"type":7}]}`},
		{"responses", `{"previous_response_id":"r"}`}, {"responses", `{"previous\u005fresponse_id":"r"}`},
		{"responses", `{"conversation":"c"}`}, {"responses", `{"conversation":{"id":"c"}}`},
		{"responses", `{"background":true}`}, {"responses", `{"prompt":{"id":"p"}}`},
		{"responses", `{"input":[{"id":"i", "type":"item\u005freference"}]}`},
		{"responses", `{"tools":[{"type":"mcp","server_url":"https://mcp.example"}]}`},
		{"messages", `{"container":"c"}`}, {"messages", `{"mcp_servers":[{}]}`},
		{"messages", `{"tools":[{"name":"f"},{"type":"web_search_20250305","name":"web_search"}]}`},
	} {
		if _, ok := KeyOf("bank", tt.surface, "big", []byte(tt.body)); ok {
			t.Errorf("%s: %s has a key", tt.surface, tt.body)
		}
	}
	for _, tt := range []struct{ surface, body string }{ // close to those, and good
		{"completions", `{"prompt":"hi"}`}, {"embeddings", `{"input":["a"]}`},
		{"responses", `{"previous_response_id":null,"conversation":null,"background":false,"prompt":null,"tools":null,"input":[{"role":"user","content":"say \"type\":\"item_reference\""}]}`},
		{"responses", `{"tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"}]}`},
		{"messages", `{"tools":[{"name":"f"},{"type":"custom","name":"g"}],"tool_choice":{"type":"auto"}}`},
		{"chat.completions", `{"tools":[],"temperature":1.3,"n":3}`}, {"chat.completions", `{}`},
	} {
		key(t, tt.surface, tt.body)
	}
}

// What stands beside the body is part of the key, and borders between strings
// cannot be moved.
func TestKeyOfWhatIsBeside(t *testing.T) {
	seen := map[Key]string{}
	for _, tt := range []struct {
		tenant, surface, pool string
		beside                []string
	}{
		{"bank", "chat.completions", "big", nil},
		{"shop", "chat.completions", "big", nil},
		{"bank", "completions", "big", nil},
		{"bank", "chat.completions", "small", nil},
		{"bankc", "chat.completions", "big", nil},
		{"bank", "chat.completions", "bigger", nil},
		{"bank", "chat.completions", "big", []string{""}},
		{"bank", "chat.completions", "big", []string{"a"}},
		{"bank", "chat.completions", "big", []string{"ab"}},
		{"bank", "chat.completions", "big", []string{"a", "b"}},
		{"bank", "chat.completions", "big", []string{"b", "a"}},
		{"", "chat.completions", "bankbig", nil},
		{"bankbig", "chat.completions", "", nil},
	} {
		k, ok := KeyOf(tt.tenant, tt.surface, tt.pool, []byte(ask), tt.beside...)
		if what := fmt.Sprint(tt); !ok || seen[k] != "" {
			t.Errorf("%v, %v: as %v", what, ok, seen[k])
		} else {
			seen[k] = what
		}
	}
}

// plain is the canonical form by the dumb way: all of it decoded, without what
// changes no answer.
func plain(t rapid.TB, body []byte) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	for name, v := range members {
		if chat.exempts([]byte(name)) {
			delete(members, name)
			continue
		}
		c := jsontext.Value(bytes.Clone(v))
		if err := c.Canonicalize(jsontext.ReorderRawObjects(!keepsOrder([]byte(name)))); err != nil {
			t.Fatal(err)
		}
		members[name] = json.RawMessage(c)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range members {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, "%q:%s\n", name, members[name])
	}
	return b.String()
}

// drawn is a small request, so that two drawn ones are often the same but for
// their spelling.
func drawn() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var value func(depth int) string
		object := func(names []string, depth int) string {
			names = rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(0, 3).Draw(t, "members")]
			var b strings.Builder
			for i, name := range names {
				if i > 0 {
					b.WriteString(rapid.SampledFrom([]string{",", " , ", ",\n"}).Draw(t, "comma"))
				}
				fmt.Fprintf(&b, `"%s":%s`, name, value(depth))
			}
			return "{" + b.String() + "}"
		}
		value = func(depth int) string {
			if depth > 0 && rapid.Bool().Draw(t, "nested") {
				if rapid.Bool().Draw(t, "object") {
					return object([]string{"a", "b", `\u0062c`, "user"}, depth-1)
				}
				return "[" + value(depth-1) + "," + value(depth-1) + "]"
			}
			return rapid.SampledFrom([]string{`1`, `1.0`, ` 10e-1`, `"x"`, `"\u0078"`, `"<"`, `"\u003c"`, `null`}).Draw(t, "value")
		}
		return []byte(object([]string{"seed", "stream", "response_format", "user", "metadata", `us\u0065r2`}, 2))
	})
}

// Two requests have one key exactly if their canonical forms are the same.
func TestKeyOfAgreesWithPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn().Draw(t, "a"), drawn().Draw(t, "b")
		ka, oka := KeyOf("bank", "chat.completions", "big", a)
		kb, okb := KeyOf("bank", "chat.completions", "big", b)
		if !oka || !okb {
			t.Fatalf("no key: %s\n%s", a, b)
		}
		if pa, pb := plain(t, a), plain(t, b); (ka == kb) != (pa == pb) {
			t.Fatalf("one key: %v\n%s\n%s", ka == kb, pa, pb)
		}
		if other, ok := KeyOf("shop", "chat.completions", "big", a); !ok || other == ka {
			t.Fatalf("tenants share %s", a)
		}
	})
}

// Whatever the body, it is not changed, nor the room behind it, and what has a
// key keeps it when it is spelled canonically.
func FuzzKeyOf(f *testing.F) {
	for _, s := range []string{ask, `{"a":1e9,"b":{"d":1,"c":-0}}`, `{"user":"u","tools":[{"type":"x"}]}`, `{"a":1}}`, "{\"a\":\"\xff\"}", ``} {
		f.Add("chat.completions", []byte(s))
		f.Add("responses", []byte(s))
	}
	f.Fuzz(func(t *testing.T, surface string, body []byte) {
		room := append(bytes.Clone(body), "room"...)
		k, ok := KeyOf("bank", surface, "big", room[:len(body)])
		if string(room) != string(body)+"room" {
			t.Fatal("changed")
		}
		if !ok {
			return
		}
		spaced := jsontext.Value(bytes.Clone(body))
		if err := spaced.Indent(); err != nil {
			t.Fatalf("a key for what is no JSON: %v", err)
		}
		if again, ok := KeyOf("bank", surface, "big", spaced); !ok || again != k {
			t.Fatalf("another key for %s", spaced)
		}
	})
}

func BenchmarkKeyOf(b *testing.B) {
	const turn = `{"role":"user","content":"Summarise the report: \"latency\" rose by 12 % in the last week.\nWhat should we do? 今天天气很好。 Keep it short, and name the numbers that matter most to the people on call."},`
	for _, kb := range []int{4, 100} {
		n := max(1, (kb<<10-300)/len(turn))
		body := []byte(`{"model":"chat-large","messages":[` + strings.TrimSuffix(strings.Repeat(turn, n), ",") +
			`],"temperature":0.7,"stream":true,"max_completion_tokens":512,"metadata":{"team":"x","trace":"abc"},"user":"u-123","seed":42}`)
		b.Run(fmt.Sprintf("%dKB", kb), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, ok := KeyOf("bank", "chat.completions", "big", body); !ok {
					b.Fatal("no key")
				}
			}
		})
	}
}
