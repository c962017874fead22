package dialect

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// content reads the content of a message, of which only some kinds are allowed.
// Empty texts are left out: they say nothing, and some providers refuse them.
func (p *chatRequestReader) content(m *chatMessage, kinds ...PartKind) (parts []Part, err *Error) {
	switch {
	case !m.content.Exists():
		return nil, malformed("content", "you must provide content")
	case m.content.Type == gjson.String:
		if m.content.Str == "" {
			return nil, nil
		}
		return []Part{{Kind: Text, Text: m.content.Str}}, nil
	case !m.content.IsArray():
		return nil, malformed("content", "must be a string or an array of parts")
	}
	err = eachItem(m.content, func(_ int, v gjson.Result) *Error {
		part, err := p.part(v)
		if err == nil && !slices.Contains(kinds, part.Kind) {
			err = unsupported("type", "a message of role %s cannot hold this", m.role)
		}
		if err == nil && (part.Kind != Text || part.Text != "") {
			parts = append(parts, part)
		}
		return err
	})
	if err != nil {
		return nil, within(err, "content")
	}
	return parts, nil
}

// chatPartKinds are the parts that can be passed on. Each has its value in a
// member of the same name.
var chatPartKinds = [...]string{"text", "refusal", "image_url", "file"}

// part reads one part, in one pass: its text may be most of the body.
func (p *chatRequestReader) part(v gjson.Result) (part Part, err *Error) {
	var kind, unknown string
	var values [len(chatPartKinds)]gjson.Result
	err = eachMember(v, func(name string, v gjson.Result) *Error {
		if i := slices.Index(chatPartKinds[:], name); i >= 0 {
			values[i] = v
			return nil
		}
		switch name {
		case "type":
			return readString(v, &kind)
		case "cache_control":
			p.r.drop(name)
		default:
			unknown = name
		}
		return nil
	})
	at := slices.Index(chatPartKinds[:], kind)
	for i, v := range values {
		if i != at && v.Exists() {
			unknown = chatPartKinds[i]
		}
	}
	switch {
	case err != nil:
		return part, err
	case kind == "":
		return part, malformed("type", "you must provide a type")
	case at < 0:
		return part, unsupported("type", "only text, image_url and file can be passed on")
	case unknown != "":
		return part, within(chatUnknown(), unknown)
	}
	value := values[at]
	switch {
	case !value.Exists():
		return part, malformed(kind, "you must provide it")
	case kind == "text":
		err = readString(value, &part.Text)
	case kind == "refusal":
		part.Kind = Refusal
		err = readString(value, &part.Text)
	case kind == "image_url":
		part.Kind = Image
		err = chatImage(value, &part)
	case kind == "file":
		part.Kind = Document
		err = chatFile(value, &part)
	}
	if err != nil {
		return part, within(err, kind)
	}
	return part, nil
}

func chatImage(v gjson.Result, part *Part) *Error {
	var url string
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "url":
			return readString(v, &url)
		case "detail":
			if err := readString(v, &part.Detail); err != nil {
				return err
			}
			if d := part.Detail; d != "low" && d != "high" && d != "auto" {
				return unsupported("", "must be low, high or auto")
			}
			return nil
		}
		return chatUnknown()
	})
	switch {
	case err != nil:
		return err
	case url == "":
		return malformed("url", "you must provide a URL")
	case len(url) > 8 && strings.EqualFold(url[:8], "https://"):
		part.URL = url
		return nil
	case len(url) > 5 && strings.EqualFold(url[:5], "data:"):
		err = chatDataURL(url, part)
	default:
		err = unsupported("", "must be an https or a data URL")
	}
	if err != nil {
		return within(err, "url")
	}
	return nil
}

func chatFile(v gjson.Result, part *Part) *Error {
	var data string
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch name {
		case "filename":
			return readString(v, &part.Name)
		case "file_data":
			return readString(v, &data)
		case "file_id":
			return unsupported("", "a file kept at a provider cannot be passed on: send it as file_data")
		}
		return chatUnknown()
	})
	switch {
	case err != nil:
		return err
	case data == "":
		return malformed("file_data", "you must provide it")
	}
	if err := chatDataURL(data, part); err != nil {
		return within(err, "file_data")
	}
	return nil
}

// chatDataURL reads data:type/subtype;base64,data.
func chatDataURL(url string, part *Part) *Error {
	head, data, ok := strings.Cut(url, ",")
	media, base64 := strings.CutSuffix(head[min(len(head), 5):], ";base64")
	if !strings.EqualFold(head[:min(len(head), 5)], "data:") || !ok || !base64 || !isChatMedia(media) {
		return unsupported("", "must be a URL of the form data:type/subtype;base64,…")
	}
	if data == "" {
		return malformed("", "the URL has no data")
	}
	part.Media, part.Data = strings.ToLower(media), data
	return nil
}

// isChatMedia says whether s is type/subtype without parameters.
func isChatMedia(s string) bool {
	slash := false
	for _, c := range s {
		switch {
		case c == '/' && !slash:
			slash = true
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.':
		default:
			return false
		}
	}
	return slash && s[0] != '/' && s[len(s)-1] != '/'
}
