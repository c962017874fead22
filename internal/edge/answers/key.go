package answers

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// KeyOf returns the key of a request, from its body as the caller sent it. It is
// false for requests whose answers must not be kept or looked up: surfaces that
// are not known here, bodies that are no JSON object or name a member twice, and
// requests that refer to what is kept elsewhere, look at the world, or let the
// provider run tools; see refuses. Randomness is no reason: the caller asked for
// an answer that was given before.
//
// The surface is named as in metrics. Beside the body may stand whatever else
// changes the answer, as a header of a beta; the order counts.
//
// Bodies are the same if their canonical forms are (RFC 8785), with these
// differences:
//
//   - Members that change no answer are left out: those that say who asks and how
//     the provider should bill and cache it. On responses they stay, as the answer
//     repeats them, but for the tier. The member store stays everywhere: the id of
//     an answer that the provider stored can be referred to, and that of another
//     cannot. So do stream and stream_options, which say what is sent.
//   - Schemas and tools keep the order of their members: models write structured
//     output in the order of its schema.
//   - Integers keep all their digits; the canonical form takes them for floats.
//
// The member model stays too, as the answer tells it. The body is not changed.
func KeyOf(tenant, surface, pool string, body []byte, beside ...string) (Key, bool) {
	form, ok := formOf(surface)
	if !ok {
		return Key{}, false
	}
	c := canonicals.Get().(*canonical)
	defer c.release()
	if !c.read(form, body) {
		return Key{}, false
	}
	c.say(tenant, surface, pool)
	c.say(beside...)
	return c.sum(), true
}

// canonical is the memory for the canonical form of one body.
type canonical struct {
	in      bytes.Buffer // the body
	dec     jsontext.Decoder
	out     bytes.Buffer // names and values of the members, each with a line end
	enc     jsontext.Encoder
	members []member
	hash    hash.Hash
	head    []byte
	key     Key
}

// member is one top-level member by its places in out, quoted name first.
type member struct{ from, value, to int }

// mostKept bounds the memory that waits for the next request, in bytes.
const mostKept = 1 << 20

var canonicals = sync.Pool{New: func() any { return &canonical{hash: sha256.New()} }}

func (c *canonical) release() {
	c.in = bytes.Buffer{}
	c.dec.Reset(&c.in)
	if c.out.Cap() <= mostKept {
		canonicals.Put(c)
	}
}

// The forms of values; see KeyOf.
var (
	asItIs = []jsontext.Options{jsontext.CanonicalizeRawFloats(true)}
	sorted = []jsontext.Options{jsontext.CanonicalizeRawFloats(true), jsontext.ReorderRawObjects(true)}
)

// read takes the members of a body that belong to its key. It is false if the
// request has none.
func (c *canonical) read(form form, body []byte) bool {
	c.members = c.members[:0]
	c.out.Reset()
	c.out.Grow(len(body) + len(body)/4) // numbers can be longer than they were
	c.in = *bytes.NewBuffer(body)
	c.dec.Reset(&c.in)
	if t, err := c.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for c.dec.PeekKind() == '"' {
		m := member{from: c.out.Len()}
		if !c.take(asItIs) {
			return false
		}
		m.value = c.out.Len()
		order := sorted
		if keepsOrder(c.name(m)) {
			order = asItIs
		}
		if !c.take(order) {
			return false
		}
		m.to = c.out.Len()
		switch name := c.name(m); {
		case form.exempts(name):
			c.out.Truncate(m.from)
		case form.refuses(name, c.out.Bytes()[m.value:m.to-1]):
			return false
		default:
			c.members = append(c.members, m)
		}
	}
	if _, err := c.dec.ReadToken(); err != nil { // the end of the object
		return false
	}
	_, err := c.dec.ReadToken()
	return err == io.EOF
}

// name is the name of a member, whose canonical form has no escapes if it is one
// that is known here.
func (c *canonical) name(m member) []byte { return c.out.Bytes()[m.from+1 : m.value-2] }

// take appends the next name or value in a form.
func (c *canonical) take(form []jsontext.Options) bool {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return false
	}
	c.enc.Reset(&c.out, form...)
	return c.enc.WriteValue(raw) == nil
}

// say adds strings to the hash so that no two lists of them are alike.
func (c *canonical) say(list ...string) {
	c.head = binary.AppendUvarint(c.head[:0], uint64(len(list)))
	for _, s := range list {
		c.head = append(binary.AppendUvarint(c.head, uint64(len(s))), s...)
	}
	c.hash.Write(c.head)
}

// sum is the key, after what was said.
func (c *canonical) sum() Key {
	text := c.out.Bytes()
	slices.SortFunc(c.members, func(a, b member) int {
		return bytes.Compare(text[a.from:a.value], text[b.from:b.value])
	})
	for _, m := range c.members { // a line end is in no canonical value
		c.hash.Write(text[m.from:m.to])
	}
	c.hash.Sum(c.key[:0])
	c.hash.Reset()
	return c.key
}
