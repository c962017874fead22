package dialect

import "bytes"

// sameForm knows a chunk that says nothing but a piece of text, so that the next
// one need not be parsed if it differs only in that piece: nearly all chunks of
// a stream do. What stands before and behind a string is then known to be the
// rest of the same JSON.
//
// OpenAI ends each chunk with padding of random length, which nobody reads.
type sameForm struct {
	head, tail []byte // with the quotes of the string; the tail without the padding
	padded     bool
}

// padding is what stands before the padding, which is the last member.
var padding = []byte(`,"obfuscation":"`)

// sameFormMost bounds what is kept of a chunk, in bytes.
const sameFormMost = 4 << 10

// keep takes the form of a chunk whose text is the given part of it, quotes
// included.
func (f *sameForm) keep(data, text []byte) {
	if len(data)-len(text) > sameFormMost {
		f.forget()
		return
	}
	at := cap(data) - cap(text) // where it begins
	f.head = append(f.head[:0], data[:at+1]...)
	f.tail = append(f.tail[:0], data[at+len(text)-1:]...)
	if i := bytes.LastIndex(f.tail, padding); i >= 0 && isPadding(f.tail[i+len(padding):]) {
		f.tail, f.padded = f.tail[:i+len(padding)], true
	} else {
		f.padded = false
	}
}

// isPadding says whether this is the rest of a string without escapes, and the
// end of the chunk.
func isPadding(rest []byte) bool {
	n := len(rest) - len(`"}`)
	if n < 0 || string(rest[n:]) != `"}` {
		return false
	}
	for _, b := range rest[:n] {
		if b == '"' || b == '\\' || b < ' ' {
			return false
		}
	}
	return true
}

func (f *sameForm) forget() { f.head = f.head[:0] }

// text is the text of a chunk of the same form, with its quotes; nil if it is of
// another, or cannot be judged here.
func (f *sameForm) text(data []byte) []byte {
	from := len(f.head)
	if from == 0 || !bytes.HasPrefix(data, f.head) {
		return nil
	}
	for to := from; to < len(data); to++ {
		switch b := data[to]; {
		case b == '"':
			if rest := data[to:]; !bytes.HasPrefix(rest, f.tail) || !f.ends(rest[len(f.tail):]) {
				return nil
			}
			return data[from-1 : to+1]
		case b < ' ':
			return nil
		case b == '\\':
			if to++; to == len(data) {
				return nil
			}
			switch data[to] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			default: // \u has rules of its own
				return nil
			}
		}
	}
	return nil
}

// ends says whether what follows the tail is what may.
func (f *sameForm) ends(rest []byte) bool {
	if f.padded {
		return isPadding(rest)
	}
	return len(rest) == 0
}
