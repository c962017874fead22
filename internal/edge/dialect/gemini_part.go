package dialect

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// geminiPart is a Part in JSON.
type geminiPart struct {
	Text      *string             `json:"text,omitzero"`
	Thought   bool                `json:"thought,omitzero"`
	Inline    *geminiBlob         `json:"inlineData,omitzero"`
	File      *geminiFile         `json:"fileData,omitzero"`
	Call      *geminiCall         `json:"functionCall,omitzero"`
	Response  *geminiCallResponse `json:"functionResponse,omitzero"`
	Signature string              `json:"thoughtSignature,omitzero"`
}

type geminiBlob struct {
	Media string `json:"mimeType"`
	Data  string `json:"data"`
	name  string
}

type geminiFile struct {
	Media string `json:"mimeType,omitzero"`
	URI   string `json:"fileUri"`
	name  string
}

type geminiCall struct {
	ID   string         `json:"id,omitzero"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type geminiCallResponse struct {
	ID       string         `json:"id,omitzero"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	Parts    []geminiPart   `json:"parts,omitempty"`
}

// readGeminiPart takes one part apart. unknown is the name of a member that
// nobody here knows, and detail the resolution at which an image is looked at.
func readGeminiPart(v gjson.Result) (p geminiPart, detail, unknown string, err *Error) {
	err = geminiMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "text":
			p.Text = new(string)
			return readString(v, p.Text)
		case "thought":
			return readBool(v, &p.Thought)
		case "thoughtSignature":
			return readString(v, &p.Signature)
		case "inlineData":
			p.Inline = new(geminiBlob)
			return geminiMembers(v, func(name string, v gjson.Result) *Error {
				switch name {
				case "mimeType":
					return readString(v, &p.Inline.Media)
				case "data":
					return readString(v, &p.Inline.Data)
				case "displayName":
					return readString(v, &p.Inline.name)
				}
				return geminiUnknown()
			})
		case "fileData":
			p.File = new(geminiFile)
			return geminiMembers(v, func(name string, v gjson.Result) *Error {
				switch name {
				case "mimeType":
					return readString(v, &p.File.Media)
				case "fileUri":
					return readString(v, &p.File.URI)
				case "displayName":
					return readString(v, &p.File.name)
				}
				return geminiUnknown()
			})
		case "functionCall":
			p.Call = new(geminiCall)
			return p.Call.read(v)
		case "functionResponse":
			p.Response = new(geminiCallResponse)
			return p.Response.read(v)
		case "mediaResolution":
			return geminiMembers(v, func(name string, v gjson.Result) *Error {
				if name != "level" {
					return geminiUnknown()
				}
				detail = geminiDetail(v.Str)
				return nil
			})
		case "partMetadata": // a label
		default:
			unknown = name
		}
		return nil
	})
	if err == nil && p.kinds() > 1 {
		err = malformed("", "has more than one of text, inlineData, fileData, functionCall and functionResponse: make them parts of their own")
	}
	return p, detail, unknown, err
}

func (p *geminiPart) kinds() (n int) {
	for _, there := range [...]bool{p.Text != nil, p.Inline != nil, p.File != nil, p.Call != nil, p.Response != nil} {
		if there {
			n++
		}
	}
	return n
}

func (c *geminiCall) read(v gjson.Result) *Error {
	c.Args = jsontext.Value("{}")
	err := geminiMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "id":
			return readString(v, &c.ID)
		case "name":
			return readString(v, &c.Name)
		case "args":
			if !v.IsObject() {
				return malformed("", "must be an object")
			}
			c.Args = jsontext.Value(v.Raw)
			return nil
		}
		return geminiUnknown() // arguments in pieces, which come only if asked for
	})
	if err == nil && c.Name == "" {
		err = malformed("name", "must name the function")
	}
	return err
}

func (r *geminiCallResponse) read(v gjson.Result) *Error {
	err := geminiMembers(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "id":
			return readString(v, &r.ID)
		case "name":
			return readString(v, &r.Name)
		case "response":
			if !v.IsObject() {
				return malformed("", "must be an object")
			}
			r.Response = jsontext.Value(v.Raw)
			return nil
		case "parts":
			return eachItem(v, func(_ int, v gjson.Result) *Error {
				part, _, unknown, err := readGeminiPart(v)
				switch {
				case err != nil:
					return err
				case unknown != "":
					return within(geminiUnknown(), unknown)
				case part.Inline == nil && part.File == nil:
					return malformed("", "must have inlineData")
				}
				r.Parts = append(r.Parts, part)
				return nil
			})
		case "willContinue":
			if v.Type == gjson.False {
				return nil
			}
		}
		return geminiUnknown()
	})
	if err == nil && r.Name == "" {
		err = malformed("name", "must name the function")
	}
	return err
}

// media makes a neutral part of inline data or a file.
func (p *geminiPart) media() (Part, *Error) {
	out := Part{Kind: Document}
	if p.Inline != nil {
		out.Media, out.Data, out.Name = p.Inline.Media, p.Inline.Data, p.Inline.name
		if out.Media == "" {
			return out, malformed("inlineData.mimeType", "must be given")
		}
	} else {
		out.Media, out.URL, out.Name = p.File.Media, p.File.URI, p.File.name
		if !strings.HasPrefix(out.URL, "https://") {
			return out, unsupported("fileData.fileUri", "only https addresses reach this model's provider")
		}
		if strings.HasPrefix(out.URL, "https://generativelanguage.googleapis.com/") {
			return out, unsupported("fileData.fileUri", "a file kept by Gemini does not reach this model's provider: send it as inlineData")
		}
	}
	switch kind, _, _ := strings.Cut(out.Media, "/"); kind {
	case "image":
		out.Kind, out.Name = Image, ""
	case "audio", "video":
		return out, unsupported("", "%s does not reach this model's provider", kind)
	case "":
		if strings.HasPrefix(geminiGuess(out.URL), "image/") {
			out.Kind, out.Name = Image, ""
		}
	}
	return out, nil
}

// geminiGuess is the media type that an address ends like; "" if none.
func geminiGuess(url string) string {
	if at := strings.IndexAny(url, "?#"); at >= 0 {
		url = url[:at]
	}
	switch strings.ToLower(url[strings.LastIndexByte(url, '.')+1:]) {
	case "png":
		return "image/png"
	case "jpg", "jpeg":
		return "image/jpeg"
	case "webp":
		return "image/webp"
	case "gif":
		return "image/gif"
	case "heic":
		return "image/heic"
	case "pdf":
		return "application/pdf"
	case "txt":
		return "text/plain"
	}
	return ""
}

func geminiDetail(level string) string {
	switch level {
	case "MEDIA_RESOLUTION_LOW":
		return "low"
	case "MEDIA_RESOLUTION_HIGH":
		return "high"
	case "MEDIA_RESOLUTION_MEDIUM":
		return "auto"
	}
	return ""
}

// geminiIDs names tool calls that came without an ID: after the answer they are
// in, so that no two of a conversation are alike, or after the function.
type geminiIDs struct {
	answer string
	calls  int
}

// next is the ID of the next call, which may have brought its own.
func (g *geminiIDs) next(c *geminiCall) string {
	n := strconv.Itoa(g.calls)
	g.calls++
	if c.ID != "" {
		return c.ID
	}
	if g.answer != "" {
		return "call_" + geminiWord(g.answer, 28) + "_" + n
	}
	return "call_" + n + "_" + geminiWord(c.Name, 28)
}

// geminiWord keeps of s what every dialect allows in an ID, up to a length.
func geminiWord(s string, most int) string {
	b := make([]byte, 0, most)
	for i := 0; i < len(s) && len(b) < most; i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b = append(b, c)
		}
	}
	return string(b)
}
