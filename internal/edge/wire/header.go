package wire

import (
	"net/http"
	"strings"
)

// forwarded are the request headers that an upstream may see. Everything else
// stays here: credentials and cookies are the caller's, framing and encoding
// belong to one connection, and the rest was said to the gateway.
var forwarded = passedOn(sent)

// relayed are the response headers that a caller may see. Cookies, rate limits,
// organisation and project are about the gateway's account at the upstream.
var relayed = passedOn(answered)

// ForwardHeaders copies to dst the headers of a caller's request that an upstream
// may see. Headers already in dst win. The values are shared with src.
func ForwardHeaders(dst, src http.Header) { copyAllowed(dst, src, forwarded) }

// RelayHeaders copies to dst the headers of an upstream's answer that a caller
// may see. Headers already in dst win. The values are shared with src.
func RelayHeaders(dst, src http.Header) { copyAllowed(dst, src, relayed) }

func copyAllowed(dst, src http.Header, allowed []string) {
	hops := src["Connection"]
	for _, name := range allowed {
		values := src[name]
		if len(values) == 0 || dst[name] != nil || named(hops, name) {
			continue
		}
		// Full, so that appending to one header does not write into the other.
		dst[name] = values[:len(values):len(values)]
	}
}

// named says whether a Connection header makes name a matter of one connection.
func named(connection []string, name string) bool {
	for _, line := range connection {
		for field := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(field), name) {
				return true
			}
		}
	}
	return false
}
