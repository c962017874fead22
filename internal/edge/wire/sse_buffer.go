package wire

import (
	"io"
	"sync"
)

// eventBuffer is the memory of an EventReader. Its size is minEventBuffer
// times four to the power of its class.
type eventBuffer struct {
	b     []byte
	class int
}

const minEventBuffer = 2 << 10

// eventBuffers holds the classes from 2 KiB to 512 KiB; larger ones are rare
// enough to be left to the garbage collector.
var eventBuffers [5]sync.Pool

func getEventBuffer(class int) *eventBuffer {
	if class < len(eventBuffers) {
		if b, ok := eventBuffers[class].Get().(*eventBuffer); ok {
			return b
		}
	}
	return &eventBuffer{b: make([]byte, minEventBuffer<<(2*class)), class: class}
}

func putEventBuffer(b *eventBuffer) {
	if b.class < len(eventBuffers) {
		eventBuffers[b.class].Put(b)
	}
}

// fill reads once, after making room.
func (r *EventReader) fill() {
	r.joined = r.joined[:0]
	r.makeRoom()
	for range 100 {
		n, err := r.r.Read(r.buf.b[r.end:])
		r.end += n
		if r.err = err; n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// makeRoom moves what is left to the front of the buffer and sees to it that a
// quarter of the buffer is free and that it is not larger than needed.
func (r *EventReader) makeRoom() {
	b := r.buf.b
	kept, rest := b[r.start:r.write], b[r.pos:r.end]
	used := len(kept) + len(rest)
	next := r.buf
	switch {
	case used > len(b)-len(b)/4:
		next = getEventBuffer(r.buf.class + 1)
	case r.buf.class > 0 && used <= minEventBuffer/2:
		next = getEventBuffer(0)
	}
	if next != r.buf || r.start > 0 || r.write < r.pos {
		copy(next.b, kept)
		copy(next.b[len(kept):], rest)
	}
	if next != r.buf {
		putEventBuffer(r.buf)
		r.buf = next
	}
	r.scan -= r.pos - len(kept)
	r.start, r.write, r.pos, r.end = 0, len(kept), len(kept), used
}
