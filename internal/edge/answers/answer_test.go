package answers

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// wire counts what it is sent.
type wire struct {
	bytes.Buffer
	writes  []string
	flushed int // bytes
	left    int // flushes until it fails
}

var errGone = errors.New("gone")

func (w *wire) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return w.Buffer.Write(p)
}

func (w *wire) flush() error {
	if w.left--; w.left < 0 {
		return errGone
	}
	w.flushed = w.Len()
	return nil
}

func TestReplayOfAWhole(t *testing.T) {
	w := &wire{left: 9}
	a := &Answer{Body: []byte(`{"a":1}`)}
	if err := a.Replay(w, w.flush); err != nil || w.String() != `{"a":1}` || w.flushed != w.Len() {
		t.Errorf("%v, %q", err, w.String())
	}
}

// Events are sent in writes of several, never a part of one, and all is flushed.
func TestReplayOfAStream(t *testing.T) {
	event := func(size int) string { return "data: " + strings.Repeat("x", size-8) + "\n\n" }
	for _, tt := range []struct {
		name   string
		events []string
		writes int
	}{
		{"one", []string{event(20)}, 1},
		{"small ones", []string{event(20), event(30), event(40)}, 1},
		{"to the bound", []string{event(flushEvery - 20), event(20)}, 1},
		{"beyond it", []string{event(flushEvery - 19), event(20)}, 2},
		{"a large one between", []string{event(20), event(3 * flushEvery), event(20)}, 3},
		{"only large ones", []string{event(2 * flushEvery), event(2 * flushEvery)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &Answer{}
			for _, e := range tt.events {
				a.Body = append(a.Body, e...)
				a.Ends = append(a.Ends, int32(len(a.Body)))
			}
			w := &wire{left: 9}
			if err := a.Replay(w, w.flush); err != nil || !bytes.Equal(w.Bytes(), a.Body) || w.flushed != len(a.Body) {
				t.Errorf("%v, %d bytes of %d, %d flushed", err, w.Len(), len(a.Body), w.flushed)
			}
			if len(w.writes) != tt.writes {
				t.Errorf("%d writes, want %d", len(w.writes), tt.writes)
			}
			for _, p := range w.writes {
				if !strings.HasPrefix(p, "data: ") || !strings.HasSuffix(p, "\n\n") {
					t.Errorf("%.20q is no whole event", p)
				}
			}
			if gone := (&wire{left: tt.writes - 1}); !errors.Is(a.Replay(gone, gone.flush), errGone) {
				t.Error("the caller's leaving is not told")
			}
		})
	}
}
