package dialect

import (
	"strings"

	"github.com/tidwall/gjson"
)

// part reads one part of a message, or of a tool's output, which has the parts
// of a user's message.
func (q *respRequest) part(path string, v gjson.Result, role string) (Part, *Error) {
	kind, err := respTyped(path, v)
	if err != nil {
		return Part{}, err
	}
	media := role == "user"
	said := role == "assistant"
	p := Part{}
	switch {
	case kind == "input_text" && !said, kind == "output_text" && said:
		p.Kind = Text
		err = q.textPart(path, v, "text", &p)
	case kind == "refusal" && said:
		p.Kind = Refusal
		err = q.textPart(path, v, "refusal", &p)
	case kind == "input_image" && media:
		p.Kind = Image
		err = q.imagePart(path, v, &p)
	case kind == "input_file" && media:
		p.Kind = Document
		err = q.filePart(path, v, &p)
	case kind == "input_text", kind == "output_text", kind == "refusal", kind == "input_image", kind == "input_file":
		err = malformed(path+".type", "%q has no place in a message of the %s", kind, role)
	default:
		err = unsupported(path+".type", "%q is not known here: say text, images or files", kind)
	}
	return p, err
}

func (q *respRequest) textPart(path string, v gjson.Result, member string, p *Part) *Error {
	said := false
	err := respMembers(path, v, func(name string, v gjson.Result) *Error {
		switch name {
		case "type":
		case member:
			said = true
			return respText(path+"."+name, v, &p.Text)
		case "annotations", "logprobs":
			if v.Get("#").Int() > 0 {
				q.r.drop(name)
			}
		case "prompt_cache_breakpoint":
			q.r.drop(name)
		default:
			return respUnknown(path + "." + name)
		}
		return nil
	})
	if err == nil && !said {
		return malformed(path+"."+member, "is missing")
	}
	return err
}

func (q *respRequest) imagePart(path string, v gjson.Result, p *Part) *Error {
	said := false
	err := respMembers(path, v, func(name string, v gjson.Result) *Error {
		at := path + "." + name
		switch name {
		case "image_url":
			said = true
			return respURL(at, v, p)
		}
		return q.mediaMember(at, name, v, p)
	})
	if err == nil && !said {
		return malformed(path+".image_url", "is missing")
	}
	return err
}

func (q *respRequest) filePart(path string, v gjson.Result, p *Part) *Error {
	said := 0
	err := respMembers(path, v, func(name string, v gjson.Result) *Error {
		at := path + "." + name
		switch name {
		case "file_data":
			said++
			if !strings.HasPrefix(v.Str, "data:") {
				return malformed(at, "must be a data URL, such as data:application/pdf;base64,…")
			}
			return respURL(at, v, p)
		case "file_url":
			said++
			if strings.HasPrefix(v.Str, "data:") {
				return malformed(at, "must be an https URL: write data in file_data")
			}
			return respURL(at, v, p)
		case "filename":
			return respText(at, v, &p.Name)
		}
		return q.mediaMember(at, name, v, p)
	})
	if err == nil && said != 1 {
		return malformed(path, "must have one of file_data and file_url")
	}
	return err
}

// mediaMember reads what images and files have in common.
func (q *respRequest) mediaMember(at, name string, v gjson.Result, p *Part) *Error {
	switch name {
	case "type":
		return nil
	case "file_id":
		return unsupported(at, "uploaded files are known to OpenAI alone: send a URL or the data itself")
	case "detail":
		switch v.Str {
		case "low", "high", "auto":
			p.Detail = v.Str
			return nil
		}
		return unsupported(at, "only low, high and auto can be said")
	case "prompt_cache_breakpoint":
		q.r.drop(name)
		return nil
	}
	return respUnknown(at)
}

// respURL takes a URL, or the data that stands in one.
func respURL(path string, v gjson.Result, p *Part) *Error {
	if v.Type != gjson.String {
		return malformed(path, "must be a string")
	}
	if strings.HasPrefix(v.Str, "https://") || strings.HasPrefix(v.Str, "http://") {
		p.URL = v.Str
		return nil
	}
	head, data, ok := strings.Cut(v.Str, ",")
	media, isData := strings.CutPrefix(head, "data:")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	if !ok || !isData || !isBase64 || media == "" || data == "" {
		return malformed(path, "must be an https URL or a data URL of the form data:<media type>;base64,<data>")
	}
	p.Media, _, _ = strings.Cut(media, ";") // no parameters
	p.Data = data
	return nil
}
