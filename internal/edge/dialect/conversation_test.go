package dialect

import (
	"github.com/tidwall/gjson"

	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var allDialects = []struct {
	name string
	d    Dialect
}{{"chat", Chat()}, {"messages", Messages()}, {"responses", Responses()}, {"gemini", Gemini()}}

// agent makes a long conversation of an agent with its tools: questions with
// images, several calls at once and their results, thinking, plain talk. rich
// adds what not every dialect has a word for.
func agent(seed uint64, turns int, rich bool) *Request {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields(`harbour clerk "quoted" back\slash café 北京 🙂 line` + "\u2028" + `end <tag> & {"json":1} tide`)
	say := func() string {
		var b strings.Builder
		for range 3 + rng.IntN(12) {
			b.WriteString(words[rng.IntN(len(words))] + []string{" ", "\n", "\t"}[rng.IntN(3)])
		}
		return b.String() + fmt.Sprint(rng.IntN(1_000_000))
	}
	image := func() Part {
		data := make([]byte, 20+rng.IntN(200))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		p := Part{Kind: Image, Media: "image/png", Data: base64.StdEncoding.EncodeToString(data)}
		if rich && rng.IntN(3) == 0 {
			p.Detail = "low"
		}
		return p
	}
	r := &Request{
		Model: "m", System: []Part{{Kind: Text, Text: say()}}, MaxOutput: new(int64(9000)), Temperature: new(0.5), TopP: new(0.9), Choice: ChoiceAuto,
		Tools: []Tool{
			{Name: "look", Description: "Looks.", Schema: Raw(`{"type":"object","properties":{"at":{"type":"string"},"n":{"type":"integer"}},"required":["at"]}`)},
			{Name: "write_file", Description: "Writes.", Schema: Raw(`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"string"}}}}`)},
		},
	}
	call := 0
	var open []Part
	for len(r.Turns) < turns {
		user := Turn{Role: User}
		for _, c := range open {
			result := Part{Kind: ToolResult, ID: c.ID, Name: c.Name, Parts: []Part{{Kind: Text, Text: say()}}}
			if rich && rng.IntN(4) == 0 {
				result.Failed = true
			}
			if rich && rng.IntN(4) == 0 {
				result.Parts = append(result.Parts, image())
			}
			user.Parts = append(user.Parts, result)
		}
		if len(open) == 0 {
			user.Parts = append(user.Parts, Part{Kind: Text, Text: say()})
			if rng.IntN(3) == 0 {
				user.Parts = append(user.Parts, image())
			}
			if rich && rng.IntN(5) == 0 {
				user.Parts = append(user.Parts, Part{Kind: Document, Media: "application/pdf", Data: "JVBERi0=", Name: "tides.pdf"})
			}
		}
		open = nil
		assistant := Turn{Role: Assistant}
		if rich && rng.IntN(3) == 0 {
			assistant.Parts = append(assistant.Parts, Part{Kind: Thinking, Text: say(), Signature: fmt.Sprintf("c2ln%04d", call)})
		}
		calls := rng.IntN(4)
		if calls == 0 || rng.IntN(2) == 0 {
			assistant.Parts = append(assistant.Parts, Part{Kind: Text, Text: say()})
		}
		for range calls {
			args, err := json.Marshal(map[string]any{"at": say(), "n": rng.IntN(100), "lines": []string{say(), ""}})
			if err != nil {
				panic(err)
			}
			call++
			c := Part{Kind: ToolCall, ID: fmt.Sprintf("call_%d", call), Name: r.Tools[rng.IntN(2)].Name, Arguments: args}
			assistant.Parts = append(assistant.Parts, c)
			open = append(open, c)
		}
		r.Turns = append(r.Turns, user, assistant)
	}
	last := Turn{Role: User, Parts: []Part{{Kind: Text, Text: say()}}}
	if len(open) > 0 {
		last.Parts = nil
		for _, c := range open {
			last.Parts = append(last.Parts, Part{Kind: ToolResult, ID: c.ID, Name: c.Name, Parts: []Part{{Kind: Text, Text: say()}}})
		}
	}
	r.Turns = append(r.Turns, last)
	return r
}

// tale is all that a request says, a line each, with calls and results paired by
// the place of the call and not by its id. The first word of a line is what can
// be lost. What dialects say in other ways is the same line: that a tool failed,
// and the images of its result, which chat completions can say only in words and
// as the user's.
func tale(r *Request) (lines []string) {
	add := func(what, format string, args ...any) { lines = append(lines, what+" "+fmt.Sprintf(format, args...)) }
	ids := map[string]int{}
	var images []string // of results
	moved := false      // the next image of the user is one
	var part func(who string, p *Part)
	part = func(who string, p *Part) {
		switch p.Kind {
		case Text, Refusal:
			text := p.Text
			if strings.HasPrefix(who, "result") {
				if rest, ok := strings.CutPrefix(text, "Error: "); ok {
					add("failed", "%s", who)
					text = rest
				}
				if text = strings.TrimSuffix(strings.TrimSuffix(text, chatMoved), "\n"); text == "" {
					return
				}
			} else if moved = strings.HasPrefix(text, "From the result of the tool call "); moved {
				return
			}
			add("text", "%s %q", who, text)
		case Image, Document:
			what := map[PartKind]string{Image: "image", Document: "document"}[p.Kind]
			if moved || strings.HasPrefix(who, "result") {
				images = append(images, "result-"+what+" "+p.Media+" "+p.URL+" "+p.Data)
				return
			}
			add(what, "%s %s %s %s", who, p.Media, p.URL, p.Data)
			if p.Detail != "" && p.Detail != "auto" { // the default
				add("detail", "%s", p.Detail)
			}
			if p.Name != "" && p.Name != "document.pdf" { // where one is needed
				add("document-name", "%s", p.Name)
			}
		case ToolCall:
			ids[p.ID] = len(ids)
			var args any
			if err := json.Unmarshal(p.Arguments, &args); err != nil {
				args = string(p.Arguments)
			}
			add("call", "%d %s %v", ids[p.ID], p.Name, args)
		case ToolResult:
			n, ok := ids[p.ID]
			if !ok {
				n = -1
			}
			add("result", "of %d", n)
			if p.Failed {
				add("failed", "result-%d", n)
			}
			for i := range p.Parts {
				part(fmt.Sprintf("result-%d", n), &p.Parts[i])
			}
		case Thinking:
			if p.Text == "" && strings.HasSuffix(p.Signature, "skip_thought_signature_validator") {
				return // stands for there being none
			}
			add("thinking", "%q", p.Text)
			add("signature", "%s", p.Signature)
		case Redacted:
			add("redacted", "%s", p.Data)
		}
	}
	for i := range r.System {
		part("system", &r.System[i])
	}
	for _, turn := range r.Turns {
		moved = false
		for i := range turn.Parts {
			part([]string{"user", "assistant"}[turn.Role], &turn.Parts[i])
		}
	}
	for _, t := range r.Tools {
		var schema any
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			schema = string(t.Schema)
		}
		add("tool", "%s %s %v", t.Name, t.Description, schema)
	}
	add("options", "%s %v %d %v %v %v", r.Model, r.Stream, r.Choice, value(r.MaxOutput), value(r.Temperature), value(r.TopP))
	return append(lines, images...)
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// cannotSay is what a dialect has no word for in a conversation: it is gone when
// a request has been through it. All the rest comes back as it was, in order.
var cannotSay = map[string][]string{
	"chat":      {"thinking", "signature"},
	"messages":  {"detail"},
	"responses": {"thinking", "signature"},                            // thinking but its own
	"gemini":    {"thinking", "signature", "detail", "document-name"}, // thinking but its own
}

// through is a request after it was said in a dialect and read again.
func through(t *testing.T, d Dialect, r *Request) *Request {
	t.Helper()
	body, err := d.WriteRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.ReadRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	again.Dropped = nil
	if again.Model == "" { // Gemini has it in the path
		again.Model = r.Model
	}
	return again
}

// A long conversation that a caller has in one dialect, said to a provider in
// another and back, is the same but for what that one cannot say.
func TestLongConversations(t *testing.T) {
	for _, rich := range []bool{false, true} {
		source := agent(7, 100, rich)
		for _, a := range allDialects {
			said := through(t, a.d, source) // what a caller in this dialect can have said
			want := tale(said)
			for _, b := range allDialects {
				t.Run(fmt.Sprintf("rich %v, %s by %s", rich, a.name, b.name), func(t *testing.T) {
					back := through(t, a.d, through(t, b.d, said))
					got := tale(back)
					lost := map[string]bool{}
					kept := want[:0:0]
					for _, line := range want {
						what, _, _ := strings.Cut(line, " ")
						if slices.Contains(cannotSay[b.name], what) {
							lost[what] = true
							continue
						}
						kept = append(kept, line)
					}
					if !reflect.DeepEqual(got, kept) {
						t.Errorf("%d lines, want %d\n%s", len(got), len(kept), firstDifference(got, kept))
					}
				})
			}
		}
	}
}

// What OpenAI and Anthropic have sealed goes back to whom it is of, through the
// other's surface too, and to nobody else.
func TestSealsGoHome(t *testing.T) {
	ofOpenAI, err := Responses().ReadAnswer([]byte(`{"id":"r","object":"response","status":"completed","output":[
		{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"seal"},{"type":"reasoning","summary":[],"encrypted_content":"dark"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ofAnthropic, err := Messages().ReadAnswer([]byte(`{"id":"m","type":"message","role":"assistant","content":[
		{"type":"thinking","thinking":"hm","signature":"seal"},{"type":"redacted_thinking","data":"dark"}],"stop_reason":"end_turn"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name            string
		answer          *Answer
		surface, to     Dialect
		shown, returned string
	}{
		{"OpenAI's by messages to OpenAI", ofOpenAI, Messages(), Responses(), `"signature":"openai:seal"`, `"encrypted_content":"seal"`},
		{"OpenAI's by messages to Anthropic", ofOpenAI, Messages(), Messages(), `"data":"openai:dark"`, ""},
		{"Anthropic's by responses to Anthropic", ofAnthropic, Responses(), Messages(), `"encrypted_content":"anthropic:seal"`, `"signature":"seal"`},
		{"Anthropic's by responses to OpenAI", ofAnthropic, Responses(), Responses(), `"encrypted_content":"anthropic:dark"`, ""},
	} {
		body, err := x.surface.WriteAnswer(x.answer)
		if err != nil || !strings.Contains(string(body), x.shown) {
			t.Errorf("%s: the caller has %s (%v), want %s in it", x.name, body, err, x.shown)
		}
		again := gjson.GetBytes(body, "content").Raw
		request := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":` + again + `},{"role":"user","content":"b"}]}`
		if x.surface == Responses() {
			request = `{"model":"m","input":[{"role":"user","content":"a"},` + strings.Trim(gjson.GetBytes(body, "output").Raw, "[]") + `,{"role":"user","content":"b"}]}`
		}
		r, err := x.surface.ReadRequest([]byte(request))
		if err != nil {
			t.Errorf("%s: %v in %s", x.name, err, request)
			continue
		}
		sent, err := x.to.WriteRequest(r)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		text := string(sent)
		if x.returned == "" && (strings.Contains(text, "seal") || strings.Contains(text, "dark")) || !strings.Contains(text, x.returned) || strings.Contains(text, "openai:") || strings.Contains(text, "anthropic:") {
			t.Errorf("%s: the provider has %s, want %q in it", x.name, text, x.returned)
		}
	}
	for sealed, want := range map[string]bool{"": false, "own": false, "anthropic:s": true, "gemini:s": true, "gemini-next:s": true, "anthropi": false} {
		if Unowned([]byte(sealed)) != want {
			t.Errorf("%q is not OpenAI's: %v", sealed, !want)
		}
	}
	for signature, want := range map[string]bool{"": true, "own": false, "openai:s": true, "gemini:s": true, "opena": false} {
		if Unsealed([]byte(signature)) != want {
			t.Errorf("%q is not Anthropic's: %v", signature, !want)
		}
	}
}

func firstDifference(got, want []string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	return fmt.Sprintf("at %d got  %.300s\nwant %.300s", i, strings.Join(got[i:min(i+2, len(got))], "\n "), strings.Join(want[i:min(i+2, len(want))], "\n "))
}
