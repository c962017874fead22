package dialect

import "bytes"

// sameForm knows a chunk that says nothing but a piece of text, so that the next
// one need not be parsed if it differs only in that piece: nearly all chunks of
// a stream do. What stands before and behind a string is then known to be the
// rest of the same JSON.
type sameForm struct {
	head, tail []byte // with the quotes of the string
}

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
}

func (f *sameForm) forget() { f.head = f.head[:0] }

// text is the text of a chunk of the same form, with its quotes; nil if it is of
// another, or cannot be judged here.
func (f *sameForm) text(data []byte) []byte {
	from, to := len(f.head), len(data)-len(f.tail)
	if from == 0 || from > to || !bytes.HasPrefix(data, f.head) || !bytes.HasSuffix(data, f.tail) {
		return nil
	}
	for i := from; i < to; i++ {
		switch b := data[i]; {
		case b == '"', b < ' ':
			return nil
		case b == '\\':
			if i++; i == to {
				return nil
			}
			switch data[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			default: // \u has rules of its own
				return nil
			}
		}
	}
	return data[from-1 : to+1]
}
