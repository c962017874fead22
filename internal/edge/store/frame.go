package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A frame is a row in the spool: a mark, the length of the body and its CRC-32C,
// each in four bytes, and the body. A torn write or a flipped bit is told by
// the checksum, and reading goes on at the next mark. In the body stand the
// number of texts, each text with its length, the number of numbers, and the
// numbers, all as varints.
const (
	frameHeader = 12
	maxBody     = 16 << 10 // more than the largest row has
	maxFrame    = frameHeader + maxBody
)

var (
	// No text that was cleaned holds the last byte after the others.
	frameMark  = []byte("row\x9d")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// errNotARow is a body whose checksum is right and which cannot be read.
var errNotARow = errors.New("not a row")

func appendFrame(b []byte, r *Row) []byte {
	start := len(b)
	b = append(b, frameMark...)
	b = append(b, make([]byte, frameHeader-len(frameMark))...)
	b = binary.AppendUvarint(b, numTexts)
	for _, text := range r.texts() {
		s := clean(*text)
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, numNumbers)
	for _, n := range r.numbers() {
		b = binary.AppendVarint(b, n)
	}
	body := b[start+frameHeader:]
	binary.LittleEndian.PutUint32(b[start+4:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+8:], crc32.Checksum(body, castagnoli))
	return b
}

// nextFrame finds the first whole frame of b: its body, the bytes before it that
// belong to none, and where it ends. One that b holds only the beginning of is
// not whole.
func nextFrame(b []byte) (body []byte, skipped, end int, ok bool) {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], frameMark)
		if i < 0 || len(b)-at-i < frameHeader {
			return nil, len(b), len(b), false
		}
		at += i
		n := int64(binary.LittleEndian.Uint32(b[at+4:]))
		if n > maxBody || n > int64(len(b)-at-frameHeader) {
			continue
		}
		body := b[at+frameHeader:][:n]
		if crc32.Checksum(body, castagnoli) == binary.LittleEndian.Uint32(b[at+8:]) {
			return body, at, at + frameHeader + int(n), true
		}
	}
}

// decode reads a body into a row that shares nothing with it.
func decode(body []byte) (Row, error) {
	var r Row
	d := decoder{text: string(body)}
	texts := r.texts()
	for i := range d.uvarint() {
		s := d.take(d.uvarint())
		if i < numTexts {
			*texts[i] = s
		}
		if d.failed {
			return Row{}, errNotARow
		}
	}
	var numbers [numNumbers]int64
	for i := range d.uvarint() {
		n := d.varint()
		if i < numNumbers {
			numbers[i] = n
		}
		if d.failed {
			return Row{}, errNotARow
		}
	}
	if d.failed || r.ID == "" {
		return Row{}, errNotARow
	}
	r.setNumbers(numbers)
	return r, nil
}

// decoder takes values off the front of a text. After a failure it gives zeros.
type decoder struct {
	text   string
	failed bool
}

func (d *decoder) uvarint() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		if len(d.text) == 0 {
			break
		}
		c := d.text[0]
		d.text = d.text[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	d.failed, d.text = true, ""
	return 0
}

func (d *decoder) varint() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) take(n uint64) string {
	if n > uint64(len(d.text)) {
		d.failed, d.text = true, ""
		return ""
	}
	s := d.text[:n]
	d.text = d.text[n:]
	return s
}
