package top

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/operator"
	"github.com/spillway-llm/spillway/internal/ops"
)

// canned is a gateway that tells what busy has. Its stream ends after two
// pictures if it is cut.
func canned(t *testing.T, cut bool) *operator.Client {
	t.Helper()
	s := busy()
	write := func(w io.Writer, v any) {
		body, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		w.Write(body)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/admin/v1/snapshot":
			write(w, s.picture)
		case "/admin/v1/history":
			write(w, map[string]any{"seconds": s.seconds})
		case "/admin/v1/refusals":
			write(w, ops.Refusals{Refusals: s.refusals})
		case "/admin/v1/explain":
			var ask ops.Ask
			if err := json.UnmarshalRead(r.Body, &ask); err != nil {
				t.Error(err)
			}
			write(w, ops.Explanation{RequestID: ask.RequestID})
		case "/admin/v1/live":
			w.Header().Set("Content-Type", "text/event-stream")
			for range 2 {
				io.WriteString(w, "event: picture\ndata: ")
				write(w, s.picture)
				io.WriteString(w, "\n\n")
				w.(http.Flusher).Flush()
			}
			if !cut {
				<-r.Context().Done()
			}
		default:
			t.Errorf("asked for %s", r.URL)
		}
	}))
	t.Cleanup(server.Close)
	c, err := operator.New(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// terminal is what a screen writes to. It lets a test wait for a text.
type terminal struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (w *terminal) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

func (w *terminal) wait(t *testing.T, want string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		text := w.text.String()
		w.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-w.more:
		case <-limit:
			t.Fatalf("%q never came: %q", want, text)
		}
	}
}

// screen runs one over a terminal of 160 by 50; the test types.
func screen(t *testing.T, c *operator.Client, profile colorprofile.Profile) (out *terminal, keys io.Writer, done chan error) {
	t.Helper()
	in, keys := io.Pipe()
	out, done = &terminal{more: make(chan struct{}, 1)}, make(chan error, 1)
	s := Screen{
		Gateway: c, In: in, Out: out, options: []tea.ProgramOption{tea.WithWindowSize(160, 50), tea.WithColorProfile(profile)},
		Explain: func(w io.Writer, e *ops.Explanation) error {
			_, err := fmt.Fprintf(w, "the reason of %s", e.RequestID)
			return err
		},
	}
	go func() { done <- s.Run(t.Context()) }()
	return out, keys, done
}

// Somebody looks, goes to the refusals, asks why, and quits.
func TestScreen(t *testing.T) {
	out, keys, done := screen(t, canned(t, false), colorprofile.ANSI)
	out.wait(t, "requests a minute") // refusals are there
	out.wait(t, "\x1b[31;1m")        // and alarms are red
	io.WriteString(keys, "\x1b[Z")   // Shift-Tab: from tenants to models,
	io.WriteString(keys, "\x1b[Z")   // and round to refusals
	out.wait(t, "Enter explain")
	io.WriteString(keys, "\r")
	out.wait(t, "the reason of req_00")
	io.WriteString(keys, "q")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// With NO_COLOR only bold and reversed text is left.
func TestScreenWithoutColours(t *testing.T) {
	out, keys, done := screen(t, canned(t, false), colorprofile.ASCII)
	out.wait(t, "requests a minute")
	io.WriteString(keys, "q")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if text := out.text.String(); strings.Contains(text, "31m") || strings.Contains(text, "32m") {
		t.Errorf("there are colours in %q", text)
	}
}

func TestScreenSaysThatItIsStale(t *testing.T) {
	out, keys, done := screen(t, canned(t, true), colorprofile.ANSI)
	out.wait(t, "STALE since")
	out.wait(t, "has ended the stream")
	io.WriteString(keys, "q")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What is wrong at the start is an error, and no screen is drawn.
func TestScreenWithoutGateway(t *testing.T) {
	c, _ := operator.New("127.0.0.1:1", "")
	out, _, done := screen(t, c, colorprofile.ANSI)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || out.text.Len() > 0 {
		t.Errorf("%v, and %q is drawn", err, out.text.String())
	}
}
