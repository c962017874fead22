package wire

import "bytes"

// sameText knows the form of a chunk that shows nothing but a piece of text, so
// that the next one need not be looked over if it differs only in that piece, as
// nearly all of a stream do. OpenAI ends each chunk with padding of random
// length, which nobody reads.
type sameText struct {
	head, tail []byte // before and behind the text, without the padding; no head: nothing is known
	model      span   // in the head
	padded     bool
	front      []byte // the head as it goes to the caller, framed
	alias      string // with this model
}

var (
	contentMember = []byte(`"content":"`)
	paddingMember = []byte(`,"obfuscation":"`)
	dataField     = []byte("data: ")
)

// mostForm bounds what is kept of a chunk, in bytes.
const mostForm = 4 << 10

func (f *sameText) forget() { f.head = f.head[:0] }

// keep takes the form of a chunk that was looked over.
func (f *sameText) keep(c *Chunk) {
	f.forget()
	if len(c.data) > mostForm || c.finished || c.noChoices || c.isError || c.broken || !c.usage.absent() || !c.failure.absent() || !c.errorNull.absent() {
		return
	}
	from := bytes.Index(c.data, contentMember)
	if from < 0 {
		return
	}
	from += len(contentMember)
	to := textEnd(c.data, from)
	if to < 0 || c.model.to > from || bytes.IndexByte(c.data[:from], '\n') >= 0 {
		return
	}
	tail := c.data[to:]
	if f.padded = false; bytes.Contains(tail, paddingMember) {
		at := bytes.LastIndex(tail, paddingMember) + len(paddingMember)
		if !isPadding(tail[at:]) {
			return
		}
		tail, f.padded = tail[:at], true
	}
	if bytes.IndexByte(tail, '\n') >= 0 {
		return
	}
	f.tail, f.model, f.front = append(f.tail[:0], tail...), c.model, f.front[:0]
	f.head = append(f.head, c.data[:from]...)
}

// textEnd is where the quote is that ends a string; -1 if that takes a closer look.
func textEnd(data []byte, from int) int {
	n := bytes.IndexByte(data[from:], '"')
	if n < 0 || n > 0 && data[from+n-1] == '\\' || bytes.IndexByte(data[from:from+n], '\n') >= 0 {
		return -1
	}
	return from + n
}

// isPadding says whether this is the rest of a string without escapes, and the
// end of the chunk.
func isPadding(rest []byte) bool {
	n := len(rest) - 2
	return n >= 0 && string(rest[n:]) == `"}` && bytes.IndexByte(rest, '"') == n && bytes.IndexByte(rest, '\\') < 0
}

// is says whether data has the form.
func (f *sameText) is(data []byte) bool {
	from := len(f.head)
	if from == 0 || !bytes.HasPrefix(data, f.head) {
		return false
	}
	to := textEnd(data, from)
	if to < 0 || !bytes.HasPrefix(data[to:], f.tail) {
		return false
	}
	rest := data[to+len(f.tail):]
	if f.padded {
		return isPadding(rest)
	}
	return len(rest) == 0
}

// frame appends the event of data, which has the form, with the alias as its model.
func (f *sameText) frame(dst, data []byte, alias string) []byte {
	if len(f.front) == 0 || f.alias != alias {
		head := Chunk{data: f.head, model: f.model}
		f.front = append(append(f.front[:0], dataField...), head.Rewrite(alias, nil)...)
		f.alias = alias
	}
	dst = append(append(dst, f.front...), data[len(f.head):]...)
	return append(dst, '\n', '\n')
}
