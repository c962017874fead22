// Package operator asks a running gateway what its operators may know, over the
// listener for operators.
package operator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops"
)

const (
	answerTime = 30 * time.Second // for the gateway to answer
	maxAnswer  = 32 << 20         // bytes of an answer, or of one event
)

// Client asks one gateway. It is safe for concurrent use.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New makes a client of the gateway whose listener for operators has this
// address: a URL, or a host and port. Without a token none is sent.
func New(address, token string) (*Client, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the address is none: %w; write it like http://127.0.0.1:9090", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, fmt.Errorf("the address %s is not one of HTTP; write it like http://127.0.0.1:9090", u.Redacted())
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("the address %s has more than a scheme, a host and a path; write it like http://127.0.0.1:9090", u.Redacted())
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"), token: token,
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, // the token is for this address
	}, nil
}

// Address is where the gateway is asked.
func (c *Client) Address() string { return c.base }

// Refused is an answer that is an error. Its words have the remedy, if the
// gateway knows one.
type Refused struct {
	Status int
	words  string
}

func (e *Refused) Error() string { return e.words }

// Snapshot is the picture of now, also as it came.
func (c *Client) Snapshot(ctx context.Context) (*gateway.Picture, []byte, error) {
	answer, err := c.ask(ctx, http.MethodGet, "/admin/v1/snapshot", nil)
	if err != nil {
		return nil, nil, err
	}
	var p gateway.Picture
	return &p, answer, c.read(answer, &p)
}

// History are the last seconds that are over, oldest first, at most 900.
func (c *Client) History(ctx context.Context, seconds int) ([]gateway.Second, error) {
	answer, err := c.ask(ctx, http.MethodGet, fmt.Sprintf("/admin/v1/history?seconds=%d", seconds), nil)
	if err != nil {
		return nil, err
	}
	var h struct {
		Seconds []gateway.Second `json:"seconds"`
	}
	return h.Seconds, c.read(answer, &h)
}

// Refusals are the last ones, newest first.
func (c *Client) Refusals(ctx context.Context, limit int) ([]ops.Refused, error) {
	answer, err := c.ask(ctx, http.MethodGet, fmt.Sprintf("/admin/v1/refusals?limit=%d", limit), nil)
	if err != nil {
		return nil, err
	}
	var r ops.Refusals
	return r.Refusals, c.read(answer, &r)
}

// Explain says why a request is decided on as it is, also as the answer came.
func (c *Client) Explain(ctx context.Context, ask *ops.Ask) (*ops.Explanation, []byte, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, nil, err
	}
	answer, err := c.ask(ctx, http.MethodPost, "/admin/v1/explain", body)
	if err != nil {
		return nil, nil, err
	}
	var e ops.Explanation
	return &e, answer, c.read(answer, &e)
}

func (c *Client) read(answer []byte, into any) error {
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w; is it the address for operators of this version?", c.base, err)
	}
	return nil
}

func (c *Client) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, err := c.open(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	return answer, nil
}

// open asks, and gives an answer with status 200 whose body is to be closed.
func (c *Client) open(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway: %w; is it running, and is --ops its address for operators?", err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // what there is of it may say what is wrong
	return nil, c.refused(res, path, answer)
}

func (c *Client) refused(res *http.Response, path string, answer []byte) *Refused {
	e := &Refused{Status: res.StatusCode}
	var p ops.Problem
	switch {
	case json.Unmarshal(answer, &p) != nil || p.Detail == "":
		e.words = fmt.Sprintf("%s answers %s; is it the address for operators?", c.base, res.Status)
	case p.Remedy == "":
		e.words = fmt.Sprintf("%s answers %s: %s", c.base, res.Status, p.Detail)
	default:
		e.words = fmt.Sprintf("%s answers %s: %s; %s", c.base, res.Status, p.Detail, p.Remedy)
	}
	if place, _, _ := strings.Cut(path, "?"); res.StatusCode == http.StatusNotFound && strings.Contains(p.Detail, place) {
		e.words = fmt.Sprintf("%s has no %s: it is an older gateway, whose own command fits it", c.base, place)
	}
	if res.StatusCode == http.StatusUnauthorized {
		e.words += "; this command takes it from SPILLWAY_TOKEN or --token"
	}
	e.words = Printable(e.words)
	return e
}
