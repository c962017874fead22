package upstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A body is read to its end once, and holds nothing after Close.
func TestSendBodyLetsGo(t *testing.T) {
	want := strings.Repeat("prompt ", 1000)
	s := newSendBody([]byte(want))
	got, err := io.ReadAll(s)
	if err != nil || string(got) != want {
		t.Fatalf("read %d bytes, error %v; want %d", len(got), err, len(want))
	}
	if n, err := s.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Fatalf("read past the end: %d, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.rest != nil {
		t.Fatal("the bytes are still held")
	}
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Fatalf("read after Close: %v", err)
	}
}

// Closed early, as when the call is cancelled, a body must not look complete.
func TestSendBodyClosedEarly(t *testing.T) {
	s := newSendBody([]byte("prompt"))
	if _, err := s.Read(make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(make([]byte, 2)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Fatalf("read after Close: %v", err)
	}
}
