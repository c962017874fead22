package wire

import "bytes"

// field is what the name of a line says about it.
type field uint8

const (
	fieldOther field = iota // comments, retry, unknown names: not relayed
	fieldData
	fieldEvent
	fieldID
)

// splitField returns the kind of a line and where its value begins.
func splitField(line []byte) (f field, value int) {
	name := line
	if i := bytes.IndexByte(line[:min(len(line), len("event:"))], ':'); i >= 0 {
		name, value = line[:i], i+1
		if value < len(line) && line[value] == ' ' {
			value++
		}
	} else {
		value = len(line)
	}
	switch string(name) {
	case "data":
		return fieldData, value
	case "event":
		return fieldEvent, value
	case "id":
		return fieldID, value
	}
	return fieldOther, value
}

func blank(value []byte) bool {
	for _, c := range value {
		if c != ' ' && c != '\t' {
			return false
		}
	}
	return true
}

// lineEnd returns the index of the first CR or LF, or -1. It looks in windows,
// so that a stream without LF does not cost a search to its end for every line.
func lineEnd(b []byte) int {
	const window = 1 << 10
	for at := 0; at < len(b); at += window {
		w := b[at:min(at+window, len(b))]
		lf := bytes.IndexByte(w, '\n')
		if lf >= 0 {
			w = w[:lf]
		}
		if cr := bytes.IndexByte(w, '\r'); cr >= 0 {
			return at + cr
		}
		if lf >= 0 {
			return at + lf
		}
	}
	return -1
}
