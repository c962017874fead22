package wire

import "bytes"

// Chunks reads the chunks of one stream. The chunks of an answer begin alike:
// id, model and whatever else comes before the choices. That head is looked
// over once and only compared from then on, which saves half of the time. The
// zero value is ready for use. It is for one goroutine.
//
// It is small because with many streams open every line of memory that an
// event touches is a cold one.
type Chunks struct {
	head     []byte // of an earlier chunk, to the first quote of its member choices; empty when there is none
	model    span   // in the head, as in Chunk
	previous int    // where the value before choices ends
	isError  bool   // in the head, as in Chunk
	finished bool   // there is a finish reason in the head
	same     sameText
}

// Pass appends the framed event of a chunk that differs from the one that was
// read last only in its text, as Rewrite makes it. It is false for any other
// chunk, which is to be read.
func (s *Chunks) Pass(dst, data []byte, alias string) ([]byte, bool) {
	if !s.same.is(data) {
		return dst, false
	}
	return s.same.frame(dst, data, alias), true
}

// Read is ReadChunk with the memory of the stream.
func (s *Chunks) Read(data []byte) Chunk {
	c := s.read(data)
	s.same.keep(&c)
	return c
}

func (s *Chunks) read(data []byte) Chunk {
	c := Chunk{data: data}
	m := members{data: data, over: true}
	if len(s.head) > 0 && bytes.HasPrefix(data, s.head) {
		at := len(s.head) - 1
		c.model, c.isError = s.model, s.isError
		c.finished = s.finished || finished(data[at:])
		m.pos, m.value.to, m.over = at, s.previous, false
	} else {
		s.head = s.head[:0]
		c.finished, m = finished(data), membersOf(data)
	}
	for m.next() {
		if len(s.head) == 0 && string(m.name) == "choices" {
			s.keep(&c, &m)
		}
		c.take(&m)
	}
	c.broken = m.broken()
	return c
}

// keep remembers the head, which ends at m. What was found in it depends on
// nothing that follows. A head with more than the usual in it is not kept.
func (s *Chunks) keep(c *Chunk, m *members) {
	if !c.usage.absent() || !c.failure.absent() || !c.errorNull.absent() {
		return
	}
	s.head = append(s.head, c.data[:m.at+1]...)
	s.model, s.isError, s.previous, s.finished = c.model, c.isError, m.previous, finished(s.head)
}

// Reset forgets the stream, for another one.
func (s *Chunks) Reset() {
	s.head = s.head[:0]
	s.same.forget()
}
