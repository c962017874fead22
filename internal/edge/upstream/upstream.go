// Package upstream calls model providers: pooled connections, a timer for each
// thing that can hang, streams cut into events, and one classification of what
// can go wrong. It decides nothing; it reports what an attempt came to.
package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Provider is how one provider is reached. A Client copies it, so later
// changes have no effect.
//
// For every duration zero means the default and a negative value switches the
// limit off. Smaller values give up earlier.
type Provider struct {
	Name    string // appears in errors
	BaseURL string // http or https, with or without /v1 and a final slash; a query is sent with every call

	APIKey     string            // empty: no credential is sent
	APIKeys    []string          // in place of APIKey: Call.Key selects
	AuthHeader string            // header of the key, alone in it; default Authorization, as "Bearer <key>"
	Headers    map[string]string // sent with every call; they win over those of the call

	HTTPVersion string      // "auto" (default: HTTP/2 where TLS offers it), "1.1", or "2" (also without TLS)
	TLS         *tls.Config // nil: the system's roots

	Dial            time.Duration // to connect, and again for the TLS handshake; default 5 s
	ResponseHeaders time.Duration // from the call to the headers, and to the first byte of a body that is not a stream; default 600 s
	FirstToken      time.Duration // from the call to the first event of a stream that has content; default 120 s
	Idle            time.Duration // between two events of a stream or two parts of a body; default 60 s
	Total           time.Duration // from the call to its end; default 3600 s

	// IdleConn is how long an unused connection is kept. It must be below the
	// provider's own limit, or calls are lost on connections it is closing.
	// Default 4 s for http, as common model servers close after 5 s, and 50 s
	// for https.
	IdleConn time.Duration
	MaxIdle  int // unused connections kept; default 256; fewer means more dialing after a burst
	// ConnAge is how long a connection serves new calls, give or take a tenth, so
	// that a name which has moved is followed; calls that run on it are not
	// disturbed. While no new one can be opened it is twice that. Default 5 min;
	// less means more dialing.
	ConnAge  time.Duration
	MaxEvent int // bytes of one event; default 32 MiB

	// Connect opens a connection; nil is TCP with keep-alive probes.
	Connect func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (p *Provider) setDefaults(scheme string) {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&p.Dial, 5*time.Second)
	set(&p.ResponseHeaders, 600*time.Second)
	set(&p.FirstToken, 120*time.Second)
	set(&p.Idle, 60*time.Second)
	set(&p.Total, 3600*time.Second)
	if scheme == "https" {
		set(&p.IdleConn, 50*time.Second)
	} else {
		set(&p.IdleConn, 4*time.Second)
	}
	set(&p.ConnAge, 5*time.Minute)
	if p.MaxIdle <= 0 {
		p.MaxIdle = 256
	}
	if p.AuthHeader == "" {
		p.AuthHeader = "Authorization"
	}
}

// Client calls one provider. It is safe for concurrent use.
//
// Connections are kept by being used. None is opened ahead: a transport does so
// only for a request, no request is harmless at every provider (even a look at
// the models counts towards some limits), and the connections would be closed
// as unused within seconds.
type Client struct {
	p      Provider
	target target
	header http.Header // of the provider, in canonical form, never changed
	keys   keyring
	echoes *echoes

	pool  *generations
	fresh *http.Transport // never reuses a connection: for the one replay
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// NewClient returns a client of p, or an error that names the setting at fault.
// It does not connect.
func NewClient(p Provider) (*Client, error) {
	dial := p.Connect
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return newClient(p, dial)
}

func newClient(p Provider, dial dialFunc) (*Client, error) {
	t, err := parseTarget(p.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("provider %s: base URL: %w", p.Name, err)
	}
	p.setDefaults(t.base.Scheme)
	c := &Client{target: t, echoes: newEchoes(&p)}
	if c.header, err = providerHeader(&p); err != nil {
		return nil, fmt.Errorf("provider %s: %w", p.Name, err)
	}
	if c.keys, err = newKeyring(&p); err != nil {
		return nil, fmt.Errorf("provider %s: %w", p.Name, err)
	}
	protocols := new(http.Protocols)
	switch p.HTTPVersion {
	case "", "auto":
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(true)
	case "1.1":
		protocols.SetHTTP1(true)
	case "2":
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(t.base.Scheme == "http")
	default:
		return nil, fmt.Errorf("provider %s: HTTP version %q: want auto, 1.1 or 2", p.Name, p.HTTPVersion)
	}
	if p.TLS = p.TLS.Clone(); p.TLS == nil {
		p.TLS = new(tls.Config)
	}
	if p.TLS.ClientSessionCache == nil { // a new connection goes on with the session of an old one
		p.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	c.p = p
	c.fresh = newTransport(&p, dial, protocols)
	c.fresh.DisableKeepAlives = true
	open := func() *http.Transport { return newTransport(&p, dial, protocols) }
	c.pool = newGenerations(p.Name, p.ConnAge, open, probeOf(c.fresh, &t.base))
	return c, nil
}

func newTransport(p *Provider, dial dialFunc, protocols *http.Protocols) *http.Transport {
	idle := p.IdleConn
	if idle < 0 { // unused for longer than its age it is of no use
		idle = max(p.ConnAge, 0)
	}
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial,
		TLSClientConfig:        p.TLS.Clone(),
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    p.MaxIdle,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: 256 << 10,
		// An open stream keeps both. Half the default holds eight usual events,
		// and larger bodies go past the buffers.
		ReadBufferSize:  2 << 10,
		WriteBufferSize: 2 << 10,
		// A ping finds a dead connection under a long silent prefill.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	if p.Dial > 0 {
		t.TLSHandshakeTimeout = p.Dial
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, p.Dial, fmt.Errorf("no connection within %v", p.Dial))
			defer cancel()
			conn, err := dial(ctx, network, addr)
			if err != nil && ctx.Err() != nil {
				err = errors.Join(err, context.Cause(ctx))
			}
			return conn, err
		}
	}
	return t
}

// Close closes the unused connections. Running calls go on, and further calls
// are possible.
func (c *Client) Close() {
	c.pool.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}
