package wire

import "fmt"

// ForwardOptions says what to change besides the model.
type ForwardOptions struct {
	// AskUsage asks the upstream for the usage chunk of a stream, for accounting.
	// It has no effect on a request that is not streamed.
	AskUsage bool
}

// Forward returns the body to send upstream: body itself if nothing changes, or
// else a copy with the least edit of its bytes. Unknown members, the text of
// numbers, blanks and explicit nulls stay as they are. An upstreamModel of "" or
// equal to the caller's changes nothing.
//
// e must come from a Parse of the same body; anything else is an error.
func (s Surface) Forward(body []byte, e Envelope, upstreamModel string, o ForwardOptions) ([]byte, error) {
	if e.modelAt.absent() || e.modelAt.to > len(body) || body[e.modelAt.from] != '"' ||
		e.optionsAt.to > len(body) || e.includesAt.to > len(body) {
		return nil, fmt.Errorf("forward %s body: the envelope is not of this body", s)
	}
	var edits [2]edit
	n, grows := 0, 0
	if upstreamModel != "" && upstreamModel != e.Model {
		edits[n] = edit{e.modelAt, string(appendQuoted(nil, upstreamModel))}
		grows += len(edits[n].with)
		n++
	}
	if o.AskUsage && e.Stream && !e.IncludeUsage {
		edits[n] = e.askUsage(body)
		grows += len(edits[n].with)
		n++
	}
	if n == 0 {
		return body, nil
	}
	if n == 2 && edits[1].from < edits[0].from {
		edits[0], edits[1] = edits[1], edits[0]
	}
	return appendEdited(make([]byte, 0, len(body)+grows), body, edits[:n]...), nil
}

// askUsage is the edit that makes stream_options.include_usage true.
func (e Envelope) askUsage(body []byte) edit {
	switch {
	case !e.includesAt.absent(): // false or null
		return edit{e.includesAt, "true"}
	case e.optionsAt.absent(): // the object has a model, so a comma follows
		return edit{span{e.open, e.open}, `"stream_options":{"include_usage":true},`}
	case body[e.optionsAt.from] != '{': // null
		return edit{e.optionsAt, `{"include_usage":true}`}
	}
	at := e.optionsAt.from + 1
	if body[skipSpace(body, at)] == '}' {
		return edit{span{at, at}, `"include_usage":true`}
	}
	return edit{span{at, at}, `"include_usage":true,`}
}
