package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// target joins the base URL of a provider with the paths of calls.
type target struct {
	base      url.URL // without path and query
	prefix    string  // path of the base, without a final slash
	versioned bool    // the prefix ends in a version, which replaces that of the call
}

func parseTarget(base string) (target, error) {
	u, err := url.Parse(base)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // without the URL: a query may hold a key
		}
		return target{}, err
	}
	base, _, _ = strings.Cut(u.Redacted(), "?")
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return target{}, fmt.Errorf("%q does not begin with http:// or https://", base)
	case u.Host == "":
		return target{}, fmt.Errorf("%q has no host", base)
	case u.User != nil:
		return target{}, errors.New("a user in the URL is not supported, use the key or a header")
	}
	t := target{prefix: strings.TrimRight(u.Path, "/")}
	t.versioned = isVersion(t.prefix[strings.LastIndexByte(t.prefix, '/')+1:])
	t.base = url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}
	return t, nil
}

// url returns the address of a call. "/v1/models" at the base "https://a/api/v4"
// is "https://a/api/v4/models".
func (t *target) url(path string) *url.URL {
	u := t.base
	path, query, _ := strings.Cut(path, "?")
	path = "/" + strings.TrimLeft(path, "/")
	first, rest, _ := strings.Cut(path[1:], "/")
	if t.versioned && isVersion(first) || first == "openai" && strings.HasSuffix(t.prefix, "/openai") {
		path = "/" + rest
	}
	u.Path = t.prefix + path
	if u.RawQuery != "" && query != "" {
		query = "&" + query
	}
	u.RawQuery += query
	return &u
}

// isVersion reports whether a path segment is one like v1, v4 or v1beta.
func isVersion(s string) bool {
	if len(s) < 2 || s[0] != 'v' || s[1] < '0' || s[1] > '9' {
		return false
	}
	rest := strings.TrimLeft(s[1:], "0123456789")
	return rest == "" || strings.HasPrefix(rest, "beta") || strings.HasPrefix(rest, "alpha")
}

// providerHeader returns the headers that go with every call, without the key.
func providerHeader(p *Provider) (http.Header, error) {
	h := http.Header{}
	for name, value := range p.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("header %q is not valid", name)
		}
		h.Set(name, value)
	}
	// Compressed events cannot be cut without decoding them.
	h.Set("Accept-Encoding", "identity")
	return h, nil
}

// callHeader merges the headers of a call with the provider's, which win
// whatever the case of the names.
func (c *Client) callHeader(call *Call) http.Header {
	h := make(http.Header, len(call.Header)+len(c.header)+4)
	for name, values := range call.Header {
		if name = http.CanonicalHeaderKey(name); !ownHeader(name) {
			h[name] = values
		}
	}
	for name, values := range c.header {
		h[name] = values
	}
	c.keys.set(h, call.Key)
	set := func(name string, def []string) {
		if len(h[name]) == 0 {
			h[name] = def
		}
	}
	set("Content-Type", jsonType)
	set("User-Agent", userAgent)
	if call.Stream {
		set("Accept", eventType)
	} else {
		set("Accept", jsonType)
	}
	return h
}

var (
	jsonType  = []string{"application/json"}
	eventType = []string{"text/event-stream"}
	userAgent = []string{"spillway"}
)

// ownHeader reports whether a header of a call is a caller's credential or
// belongs to one connection. The caller of this package filters by intent; this
// is the second lock.
func ownHeader(name string) bool {
	switch name {
	case "Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie",
		"Accept-Encoding", "Content-Length", "Transfer-Encoding", "Host", "Expect",
		"Connection", "Keep-Alive", "Te", "Trailer", "Upgrade":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}
