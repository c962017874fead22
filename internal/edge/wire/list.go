package wire

import "bytes"

// elements walks the elements of one array, as leniently as members does.
type elements struct {
	data  []byte
	pos   int
	value span // in data
}

// elementsOf starts a walk over the array at a span. Anything else has no
// elements.
func elementsOf(data []byte, at span) elements {
	data = data[:at.to]
	if at.absent() || data[at.from] != '[' {
		return elements{data: data, pos: len(data)}
	}
	return elements{data: data, pos: at.from + 1}
}

func (l *elements) next() bool {
	i := skipSpace(l.data, l.pos)
	if i < len(l.data) && l.data[i] == ',' {
		i = skipSpace(l.data, i+1)
	}
	to := skipValue(l.data, i)
	if to < 0 {
		l.pos = len(l.data)
		return false
	}
	l.value, l.pos = span{i, to}, to
	return true
}

// piece is an element of an array or a member of an object, with its name.
type piece struct {
	span
	gone bool
}

// removal finds the next run of pieces that are gone, from the one at i on. It
// returns what to cut so that a list remains, and the run; an absent span when
// there is no other.
func removal(list []piece, i int) (at span, from, to int) {
	for i < len(list) && !list[i].gone {
		i++
	}
	if i == len(list) {
		return span{}, i, i
	}
	from, to = i, i+1
	for to < len(list) && list[to].gone {
		to++
	}
	switch {
	case to < len(list):
		return span{list[from].from, list[to].from}, from, to
	case from > 0:
		return span{list[from-1].to, list[to-1].to}, from, to
	}
	return span{list[from].from, list[to-1].to}, from, to
}

// unquoted is the text of a string without its quotes; nothing of anything else.
func unquoted(v []byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	if s := v[1 : len(v)-1]; bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	return []byte(unquote(v))
}
