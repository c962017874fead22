package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/edge/wire"
	"github.com/spillway-llm/spillway/internal/gateway"
)

const (
	// quiet is how long a live stream may say nothing. A picture comes each
	// second, and where none can be made a comment each quarter of a minute;
	// without either the other side is gone, and TCP would take minutes to say so.
	quiet = 40 * time.Second
	// Pauses between attempts grow up to longestPause. A gateway that refuses us
	// is asked no more often than that: ten wrong tokens in a minute lock an
	// address out.
	firstPause   = 500 * time.Millisecond
	longestPause = 15 * time.Second
)

// Watcher hears of a followed gateway, from one goroutine.
type Watcher interface {
	// Picture is a new one.
	Picture(*gateway.Picture)
	// Lost says that none will come before the gateway is asked again, in that
	// time.
	Lost(why error, again time.Duration)
}

// Follow tells a watcher each picture of a gateway, and asks again whenever the
// stream ends. It returns when ctx is done.
func (c *Client) Follow(ctx context.Context, w Watcher) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = firstPause, longestPause
	for ctx.Err() == nil {
		err := c.live(ctx, quiet, func(p *gateway.Picture) {
			pause.Reset()
			w.Picture(p)
		})
		if ctx.Err() != nil {
			return
		}
		wait := pause.NextBackOff()
		var refused *Refused
		if errors.As(err, &refused) && refused.Status < 500 {
			wait = longestPause
		}
		w.Lost(err, wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// live reads one stream until it ends, and says why it did.
func (c *Client) live(ctx context.Context, quiet time.Duration, each func(*gateway.Picture)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(quiet, func() { cancel(fmt.Errorf("%s has said nothing for %s", c.base, quiet)) })
	defer silence.Stop()
	res, err := c.open(ctx, http.MethodGet, "/admin/v1/live", nil)
	if err != nil {
		return because(ctx, err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return fmt.Errorf("%s answers with %q, not with events; is it the address for operators?", c.base, kind)
	}
	events := wire.NewEventReader(heard{res.Body, silence, quiet}, maxAnswer)
	defer events.Release()
	for {
		e, err := events.Next()
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return because(ctx, fmt.Errorf("%s has ended the stream", c.base))
		case err != nil:
			return because(ctx, fmt.Errorf("read the events of %s: %w", c.base, err))
		case string(e.Name) != "picture":
			continue
		}
		var p gateway.Picture
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return fmt.Errorf("read a picture of %s: %w; is it a gateway of this version?", c.base, err)
		}
		each(&p)
	}
}

// because prefers our own reason for the end of a context to what the reader
// says of it.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// heard is a body of which every byte, heartbeats included, says that the other
// side is there.
type heard struct {
	io.Reader
	silence *time.Timer
	quiet   time.Duration
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.silence.Reset(h.quiet)
	}
	return n, err
}
