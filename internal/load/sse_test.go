package load

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func events(r io.Reader) (all []string, err error) {
	in := newEventReader(r)
	for {
		e, err := in.next()
		if err != nil {
			return all, err
		}
		all = append(all, e.name+"|"+string(e.data))
	}
}

func TestEventReader(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for _, c := range []struct {
		name, stream string
		want         []string
	}{
		{"events", "data: a\n\ndata:b\n\n", []string{"|a", "|b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
		{"name and several lines", "event: error\ndata: a\ndata: b\n\n", []string{"error|a\nb"}},
		{"a name does not outlive its block", "event: x\n\ndata: a\n\n", []string{"|a"}},
		{"B007: comments", ": OPENROUTER PROCESSING\n\n: k\ndata: a\n\n", []string{"|a"}},
		{"B010: fields alone", "retry: 3000\n\nid: 7\n\nevent: keepalive\n\ndata: a\n\n", []string{"|a"}},
		{"B010: data without a value", "data:\n\ndata\n\n", []string{"|", "|"}},
		{"B010: byte order mark", "\ufeffdata: a\n\n", []string{"|a"}},
		{"only one space is cut off", "data:  a \n\n", []string{"| a "}},
		{"an event cut off is dropped", "data: a\n\ndata: b\n", []string{"|a"}},
		{"a long line", "data: " + long + "\n\n", []string{"|" + long}},
	} {
		got, err := events(strings.NewReader(c.stream))
		if err != io.EOF || !slices.Equal(got, c.want) {
			t.Errorf("%s: %.80q, %v", c.name, got, err)
		}
		got, err = events(iotest.OneByteReader(strings.NewReader(c.stream))) // B001
		if err != io.EOF || !slices.Equal(got, c.want) {
			t.Errorf("%s, byte by byte: %.80q, %v", c.name, got, err)
		}
	}
	if _, err := events(io.LimitReader(endless{}, 3*maxEvent)); err == nil || !strings.Contains(err.Error(), "line of more than") {
		t.Errorf("endless line: %v", err)
	}
	if _, err := events(strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 10))); err == nil || !strings.Contains(err.Error(), "event of more than") {
		t.Errorf("endless event: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// The reader must agree with one that splits the whole text.
func FuzzEventReader(f *testing.F) {
	f.Add([]byte("event: a\ndata: 1\r\ndata: 2\n\n: c\n\ndata\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := events(bytes.NewReader(stream))
		if err != io.EOF {
			t.Fatal(err)
		}
		var want []string
		text := strings.TrimPrefix(string(stream), "\ufeff")
		name, data := "", []string(nil)
		lines := strings.SplitAfter(text, "\n")
		for _, line := range lines[:len(lines)-1] {
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "":
				if data != nil {
					want = append(want, name+"|"+strings.Join(data, "\n"))
				}
				name, data = "", nil
			case field == "data":
				data = append(data, value)
			case field == "event":
				name = value
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", stream, got, want)
		}
	})
}
