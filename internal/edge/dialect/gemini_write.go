package dialect

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// geminiBody is a generateContent request in JSON.
type geminiBody struct {
	Contents []geminiContent `json:"contents"`
	System   *geminiContent  `json:"systemInstruction,omitzero"`
	Tools    []geminiTools   `json:"tools,omitempty"`
	Config   *geminiChoice   `json:"toolConfig,omitzero"`
	Generate geminiGenerate  `json:"generationConfig,omitzero"`
}

type geminiContent struct {
	Role  string       `json:"role,omitzero"`
	Parts []geminiPart `json:"parts"`
}

type geminiTools struct {
	Functions []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"parametersJsonSchema,omitzero"`
}

type geminiChoice struct {
	Calling geminiCalling `json:"functionCallingConfig"`
}

type geminiCalling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

// geminiJSON is how everything is written: what a caller got past the reading
// does not fail here.
var geminiJSON = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// geminiWriter is the state of one WriteRequest.
type geminiWriter struct {
	r       *Request
	calls   map[string]string // names by ID
	details map[string]bool   // of the images
}

// WriteRequest makes a generateContent body. Turns of one side that follow each
// other become one content, because all results of parallel calls must stand in
// one. Thinking that is not Gemini's own is left out, and so are the labels
// that Gemini has no place for; they are added to r.Dropped.
func (gemini) WriteRequest(r *Request) ([]byte, error) {
	w := &geminiWriter{r: r, calls: map[string]string{}, details: map[string]bool{}}
	var body geminiBody
	if len(r.System) > 0 {
		body.System = &geminiContent{}
		for i := range r.System {
			if r.System[i].Kind != Text {
				return nil, unsupported("system["+strconv.Itoa(i)+"]", "Gemini takes only text as system instruction")
			}
			body.System.Parts = append(body.System.Parts, geminiPart{Text: &r.System[i].Text})
		}
	}
	for i := range r.Turns {
		parts, err := w.turn(&r.Turns[i])
		if err != nil {
			return nil, within(atIndex(err, i), "turns")
		}
		role := "user"
		if r.Turns[i].Role == Assistant {
			role = "model"
		}
		if n := len(body.Contents); n > 0 && body.Contents[n-1].Role == role {
			body.Contents[n-1].Parts = append(body.Contents[n-1].Parts, parts...)
		} else if len(parts) > 0 {
			body.Contents = append(body.Contents, geminiContent{role, parts})
		}
	}
	if len(body.Contents) == 0 {
		return nil, malformed("turns", "nothing is said in them: Gemini needs at least one text")
	}
	if err := w.tools(&body); err != nil {
		return nil, err
	}
	if err := w.generate(&body.Generate); err != nil {
		return nil, err
	}
	out, err := json.Marshal(&body, geminiJSON)
	if err != nil {
		return nil, malformed("", "a schema or arguments within are not valid JSON: %v", err)
	}
	return out, nil
}

// turn writes the parts of one turn.
func (w *geminiWriter) turn(t *Turn) (out []geminiPart, err *Error) {
	signature := ""  // for the call that follows
	unsigned := true // no call of this turn has been signed yet
	for i := range t.Parts {
		p := &t.Parts[i]
		var part geminiPart
		switch p.Kind {
		case Text, Refusal:
			if p.Text == "" {
				continue
			}
			part.Text = &p.Text
			part.Signature, _ = strings.CutPrefix(p.Signature, geminiMark)
			if part.Signature == p.Signature {
				part.Signature = ""
			}
		case Image, Document:
			part, err = w.media(p)
		case ToolCall:
			part, err = w.call(p)
			if own, ok := strings.CutPrefix(p.Signature, geminiMark); ok {
				signature = own
			}
			// Only the first of parallel calls is signed, and must be.
			if part.Signature = signature; signature == "" && unsigned {
				part.Signature = geminiUnsigned
			}
			signature, unsigned = "", false
		case ToolResult:
			part, err = w.result(p)
		case Thinking:
			if next, ok := strings.CutPrefix(p.Signature, geminiNext); ok {
				signature = next
				continue
			}
			own, ok := strings.CutPrefix(p.Signature, geminiMark)
			if !ok {
				w.r.drop("thinking")
				continue
			}
			part = geminiPart{Text: &p.Text, Thought: true, Signature: own}
		case Redacted:
			w.r.drop("thinking")
			continue
		default:
			err = unsupported("kind", "Gemini has no such part")
		}
		if err != nil {
			return nil, within(atIndex(err, i), "parts")
		}
		out = append(out, part)
	}
	return out, nil
}

func (w *geminiWriter) media(p *Part) (geminiPart, *Error) {
	if p.Kind == Image {
		w.details[cmp.Or(p.Detail, "auto")] = true
	}
	if p.Kind == Document && p.Name != "" {
		w.r.drop("document name")
	}
	if p.URL == "" {
		if p.Media == "" {
			return geminiPart{}, malformed("media", "Gemini needs the media type of the data")
		}
		return geminiPart{Inline: &geminiBlob{Media: p.Media, Data: p.Data}}, nil
	}
	media := p.Media
	if media == "" {
		media = geminiGuess(p.URL)
	}
	return geminiPart{File: &geminiFile{Media: media, URI: p.URL}}, nil
}

func (w *geminiWriter) call(p *Part) (geminiPart, *Error) {
	if p.Name == "" {
		return geminiPart{}, malformed("name", "a tool call must name its function")
	}
	w.calls[p.ID] = p.Name
	args := jsontext.Value(p.Arguments)
	if len(args) == 0 {
		args = jsontext.Value("{}")
	}
	if args.Kind() != '{' || !args.IsValid(geminiJSON) {
		return geminiPart{}, malformed("arguments", "the arguments of a tool call must be a JSON object")
	}
	return geminiPart{Call: &geminiCall{ID: p.ID, Name: p.Name, Args: args}}, nil
}

// result writes what a tool gave: a JSON object as it stands, a text under
// output, and that of a failure under error.
func (w *geminiWriter) result(p *Part) (geminiPart, *Error) {
	out := &geminiCallResponse{ID: p.ID, Name: w.calls[p.ID]}
	if out.Name == "" {
		out.Name = p.Name
	}
	if out.Name == "" {
		return geminiPart{}, malformed("id", "no tool call with the id %q comes before this result, and Gemini needs the name of its function", p.ID)
	}
	var text strings.Builder
	for i := range p.Parts {
		q := &p.Parts[i]
		switch {
		case q.Kind == Text:
			if text.Len() > 0 {
				text.WriteByte('\n') // the words of two blocks are two words
			}
			text.WriteString(q.Text)
		case q.Kind != Image && q.Kind != Document:
			return geminiPart{}, unsupported("parts["+strconv.Itoa(i)+"]", "Gemini takes text, images and documents as tool results")
		case q.URL != "":
			return geminiPart{}, unsupported("parts["+strconv.Itoa(i)+"].url", "Gemini takes files in tool results only as data, not by address")
		default:
			part, err := w.media(q)
			if err != nil {
				return part, within(atIndex(err, i), "parts")
			}
			out.Parts = append(out.Parts, part)
		}
	}
	said := text.String()
	if object := jsontext.Value(said); !p.Failed && object.Kind() == '{' && object.IsValid() {
		v := gjson.Parse(said)
		if !v.Get("output").Exists() && !v.Get("error").Exists() {
			out.Response = object
			return geminiPart{Response: out}, nil
		}
	}
	name := `{"output":`
	if p.Failed {
		name = `{"error":`
	}
	quoted, _ := jsontext.AppendQuote([]byte(name), said) // what is not UTF-8 is replaced
	out.Response = append(quoted, '}')
	return geminiPart{Response: out}, nil
}

// tools writes the tools and how they may be called.
func (w *geminiWriter) tools(body *geminiBody) *Error {
	r := w.r
	if len(r.Tools) == 0 {
		if r.Choice == ChoiceRequired || r.Choice == ChoiceNamed {
			return malformed("choice", "a tool must be called, but there are no tools")
		}
		return nil
	}
	if r.Parallel != nil && !*r.Parallel && r.Choice != ChoiceNone {
		return unsupported("parallel", "Gemini cannot be held to one tool call a turn; leave it out")
	}
	strict, named := false, r.ChoiceName == ""
	var functions []geminiFunction
	for i := range r.Tools {
		t := &r.Tools[i]
		strict = strict || t.Strict != nil && *t.Strict
		named = named || t.Name == r.ChoiceName
		if schema := jsontext.Value(t.Schema); len(schema) > 0 && (schema.Kind() != '{' || !schema.IsValid(geminiJSON)) {
			return malformed("tools["+strconv.Itoa(i)+"].schema", "must be a JSON object")
		}
		functions = append(functions, geminiFunction{t.Name, t.Description, jsontext.Value(t.Schema)})
	}
	body.Tools = []geminiTools{{functions}}
	var c geminiCalling
	switch r.Choice {
	case ChoiceDefault, ChoiceAuto:
		switch {
		case strict: // arguments follow the schema, and text may still be the answer
			c.Mode = "VALIDATED"
		case r.Choice == ChoiceAuto:
			c.Mode = "AUTO"
		}
	case ChoiceNone:
		c.Mode = "NONE"
	case ChoiceRequired:
		c.Mode = "ANY"
	case ChoiceNamed:
		if !named {
			return malformed("choice", "the tool %q is not among the tools", r.ChoiceName)
		}
		c.Mode, c.Allowed = "ANY", []string{r.ChoiceName}
	}
	if c.Mode != "" {
		body.Config = &geminiChoice{c}
	}
	return nil
}

// geminiSay is a part of an answer for a caller.
func geminiSay(p *Part) (geminiPart, bool) {
	switch p.Kind {
	case Text, Refusal:
		return geminiPart{Text: &p.Text, Signature: geminiShow(p.Signature)}, true
	case Thinking:
		return geminiPart{Text: &p.Text, Thought: true, Signature: geminiShow(p.Signature)}, true
	case Redacted:
		data := base64.StdEncoding.EncodeToString([]byte(geminiRedacted + p.Data))
		return geminiPart{Text: new(string), Thought: true, Signature: data}, true
	case ToolCall:
		args := jsontext.Value(p.Arguments)
		if args.Kind() != '{' || !args.IsValid(geminiJSON) {
			args = jsontext.Value("{}")
		}
		return geminiPart{Call: &geminiCall{ID: p.ID, Name: p.Name, Args: args}}, true
	}
	return geminiPart{}, false
}
