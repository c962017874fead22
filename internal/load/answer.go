package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// maxBody bounds a whole answer, in bytes.
const maxBody = 64 << 20

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readWhole reads an answer that is no stream. It returns the slot time that the upstream says it took, or -1.
func readWhole(resp *http.Response) (service time.Duration, err error) {
	if err := wantType(resp, "json"); err != nil {
		return -1, err
	}
	buf := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(buf)
	buf.Reset()
	if _, err := buf.ReadFrom(io.LimitReader(resp.Body, maxBody)); err != nil {
		return -1, fmt.Errorf("read the answer: %w", err)
	}
	if !gjson.ValidBytes(buf.Bytes()) {
		return -1, fmt.Errorf("answer is no valid JSON: %.60q", buf.Bytes())
	}
	p := peek(buf.Bytes())
	if p.err != nil {
		return -1, fmt.Errorf("error in an answer with status 200: %w", p.err)
	}
	if !p.choices {
		return -1, errors.New("answer without choices")
	}
	return p.service, nil
}

// readStream reads a streamed answer to its [DONE]. It calls first at the first token and stops if that returns an
// error. A stream without finish_reason or [DONE] is unsound: it may have been cut.
func readStream(resp *http.Response, first func() error) (service time.Duration, err error) {
	if err := wantType(resp, "text/event-stream"); err != nil {
		return -1, err
	}
	events := newEventReader(resp.Body)
	service = -1
	started, finished := false, false
	for {
		e, err := events.next()
		switch {
		case err == io.EOF && !finished:
			return -1, errors.New("stream ended without finish_reason and [DONE]")
		case err == io.EOF:
			return -1, errors.New("stream ended without [DONE]")
		case err != nil:
			return -1, fmt.Errorf("read the stream: %w", err)
		}
		if string(e.data) == "[DONE]" {
			if !finished {
				return -1, errors.New("stream without finish_reason")
			}
			return service, nil
		}
		if !gjson.ValidBytes(e.data) {
			return -1, fmt.Errorf("event in the stream is no valid JSON: %.60q", e.data)
		}
		p := peek(e.data)
		if p.err == nil && e.name == "error" {
			p.err = fmt.Errorf("%.60q", e.data)
		}
		if p.err != nil {
			return -1, fmt.Errorf("error event in the stream: %w", p.err)
		}
		if p.token && !started {
			started = true
			if err := first(); err != nil {
				return -1, err
			}
		}
		finished = finished || p.finish
		if p.service >= 0 {
			service = p.service
		}
	}
}

// peeked is what the generator wants to know of an answer or of one event.
type peeked struct {
	choices bool          // it has some
	token   bool          // a choice carries content or a tool call
	finish  bool          // a choice has a finish_reason
	service time.Duration // the upstream's slot time; -1 = not told
	err     error         // an error object
}

func peek(data []byte) peeked {
	p := peeked{service: -1}
	gjson.ParseBytes(data).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "error":
			if value.Type != gjson.Null {
				p.err = errors.New(errorText(value))
			}
		case "choices":
			value.ForEach(func(_, choice gjson.Result) bool {
				p.choices = true
				delta := choice.Get("delta")
				p.token = p.token || delta.Get("content").Str != "" || delta.Get("tool_calls.0").Exists()
				p.finish = p.finish || choice.Get("finish_reason").Str != ""
				return true
			})
		case "mock":
			if s := value.Get("service_s"); s.Type == gjson.Number {
				if d, ok := seconds(s.Num); ok {
					p.service = max(0, d)
				}
			}
		}
		return true
	})
	return p
}

// errorText is the message and code of an error object, or the object itself where it has none.
func errorText(e gjson.Result) string {
	message := e.Get("message").String()
	if message == "" {
		return clip(e.String())
	}
	if code := e.Get("code").String(); code != "" {
		return code + ": " + clip(message)
	}
	return clip(message)
}

func clip(s string) string {
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// refusalText reads the body of an answer that is no success, so that the connection can be kept, and returns a
// message for the summary.
func refusalText(resp *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what could be read is good enough for a message
	text := errorText(gjson.GetBytes(body, "error"))
	if text == "" {
		text = clip(string(body))
	}
	return fmt.Sprintf("status %d: %s", resp.StatusCode, text)
}

func wantType(resp *http.Response, want string) error {
	if got := resp.Header.Get("Content-Type"); !strings.Contains(got, want) {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("status 200 with content type %q instead of %s: %.60q", got, want, body)
	}
	return nil
}

// queueTime finds the queue metric of Server-Timing, which counts milliseconds, or returns -1.
func queueTime(h http.Header) time.Duration {
	for _, line := range h["Server-Timing"] {
		for metric := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(strings.TrimSpace(metric), ";")
			if name != "queue" {
				continue
			}
			for param := range strings.SplitSeq(params, ";") {
				if v, ok := strings.CutPrefix(strings.TrimSpace(param), "dur="); ok {
					if ms, err := strconv.ParseFloat(strings.Trim(v, `"`), 64); err == nil && ms >= 0 && ms < 1e9 {
						return time.Duration(ms * float64(time.Millisecond))
					}
				}
			}
		}
	}
	return -1
}
