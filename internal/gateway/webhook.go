package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

// hooks call the operator's own address when a deployment needs more capacity:
// at most once in the configured time for each, never two at once for one, and
// nothing waits for them. They are safe for concurrent use.
type hooks struct {
	client http.Client

	mu    sync.Mutex
	calls map[string]*hook // by deployment
}

// hook is the last call about one deployment.
type hook struct {
	began time.Time
	busy  bool
}

// hookTimeout bounds one call.
const hookTimeout = 10 * time.Second

func newHooks(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *hooks {
	return &hooks{
		calls: map[string]*hook{},
		client: http.Client{
			// A call now and then needs no connection kept.
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dial, DisableKeepAlives: true},
			// What is told is for the configured address alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// call posts the wish for more capacity, unless that was done a short time ago.
func (h *hooks) call(ctx context.Context, log *slog.Logger, s config.ScaleUp, c *admit.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.calls[c.Deployment]
	switch {
	case last == nil:
		last = &hook{}
		h.calls[c.Deployment] = last
	case last.busy || time.Since(last.began) < s.Every:
		return
	}
	last.began, last.busy = time.Now(), true
	deployment := c.Deployment
	go func() {
		err := h.post(ctx, s, deployment, last.began)
		h.mu.Lock()
		last.busy = false
		h.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			log.Warn("the scale-up webhook was not told", "error", err.Error())
		}
	}()
}

// post makes one call. The address may hold a secret, and so may what the
// other side says, so that neither is in an error.
func (h *hooks) post(ctx context.Context, s config.ScaleUp, deployment string, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"event": "scale_up", "deployment": deployment, "at": at.UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(s.Webhook), bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be called")
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := h.client.Do(r)
	if err != nil {
		return hookError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}

// hookError says what kind of error it is and no more.
func hookError(err error) error {
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in %v", hookTimeout)
	case errors.As(err, &dns):
		return errors.New("its name cannot be resolved")
	case errors.As(err, &errno):
		return errno
	}
	return errors.New("the connection failed, or what came was not HTTP")
}
