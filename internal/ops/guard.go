package ops

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// identity is who asks.
type identity struct {
	name    string // of the token; "" for anybody on this machine
	role    config.Role
	session string // that the cookie names; "" for a bearer
}

// anybody on this machine may look while there are no tokens.
var anybody = identity{role: config.RoleViewer}

const (
	remedyToken = "send a token of the configuration's admin.tokens as Authorization: Bearer TOKEN, or log in with POST /admin/v1/session"
	remedyNone  = "write a token into the configuration, admin: {tokens: [{name: you, hash: …, role: admin}]}; its hash is what spillway check --hash-key - prints"
)

// admit says who asks, if they may do what they ask for.
func (s *Surface) admit(r *http.Request, to need) (identity, error) {
	admin := &s.gateway.Config().Admin
	if to == aPage || to == nothing && !s.rebound(r) {
		return anybody, nil
	}
	if len(admin.Tokens) == 0 {
		return s.admitAnybody(r, to)
	}
	if to == toLogIn {
		return identity{}, sameOrigin(r, true) // logging somebody else in is a forgery too
	}
	who, err := s.identify(r, admin)
	switch {
	case err != nil:
		return who, err
	case to == toChange && who.role != config.RoleAdmin:
		return who, &problem{status: http.StatusForbidden, detail: "token " + who.name + " may look only", remedy: "use a token with role: admin"}
	}
	return who, nil
}

// admitAnybody holds while there are no tokens. A name in Host that is not this
// machine's is a page of somebody else whose name was made to lead here.
func (s *Surface) admitAnybody(r *http.Request, to need) (identity, error) {
	switch {
	case to == toChange || to == toLogIn:
		return identity{}, &problem{status: http.StatusForbidden, detail: "no tokens are configured, so nobody may log in or change anything", remedy: remedyNone}
	case !s.loopback:
		return identity{}, &problem{status: http.StatusForbidden, detail: "no tokens are configured, and this listener can be reached from other machines", remedy: remedyNone + ", or have ops listen on 127.0.0.1"}
	case !thisMachine(r.Host):
		return identity{}, &problem{status: http.StatusForbidden, detail: "without tokens this listener answers to 127.0.0.1 and localhost only", remedy: remedyNone}
	}
	return anybody, sameOrigin(r, true) // programs say no origin
}

// rebound says that a page of somebody else may be asking, whose name was made to
// lead to this machine: it could read what needs no token. Scrapers and probes
// may come by another name, through a proxy, but say no browser's.
func (s *Surface) rebound(r *http.Request) bool {
	return s.loopback && !thisMachine(r.Host) && strings.HasPrefix(r.UserAgent(), "Mozilla/")
}

// identify reads the bearer token or the cookie; what both say must not differ,
// so a bearer token alone counts where there is one.
func (s *Surface) identify(r *http.Request, admin *config.Admin) (identity, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "bearer") {
			return identity{}, &problem{status: http.StatusUnauthorized, detail: "the Authorization header is not a bearer token", remedy: remedyToken}
		}
		t, err := s.check(r, admin, strings.TrimSpace(token))
		return identity{name: t.Name, role: t.Role}, err
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return identity{}, &problem{status: http.StatusUnauthorized, detail: "this needs a token", remedy: remedyToken}
	}
	hash, ok := s.sessions.find(cookie.Value)
	for _, t := range admin.Tokens {
		if ok && t.Hash == hash { // as it is now: a token that is gone from the file has no session
			return identity{name: t.Name, role: t.Role, session: cookie.Value}, sameOrigin(r, false)
		}
	}
	return identity{}, &problem{status: http.StatusUnauthorized, detail: "the session is over", remedy: remedyToken}
}

// check finds whose token it is. Too many wrong ones from one address are not
// looked at any more for a while.
func (s *Surface) check(r *http.Request, admin *config.Admin, token string) (config.AdminToken, error) {
	from := address(r)
	if wait := s.failures.wait(from); wait > 0 {
		return config.AdminToken{}, &problem{status: http.StatusTooManyRequests, detail: "too many wrong tokens from " + from, remedy: "wait, and send a right one", retry: wait}
	}
	t, ok := admin.Lookup(token)
	if !ok {
		s.failures.count(from)
		s.log.Warn("an operator's token was refused", "client", from)
		return t, &problem{status: http.StatusUnauthorized, detail: "no such token", remedy: remedyToken}
	}
	return t, nil
}

// headerIntent is what a page of ours sends with whatever changes something: a
// form of another site cannot.
const headerIntent = "X-Spillway-Request"

// sameOrigin refuses what another site made a browser send with our cookie. A
// login carries none, nor does anybody without tokens, and both may be programs,
// which say no origin.
func sameOrigin(r *http.Request, free bool) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	from, err := url.Parse(origin)
	switch {
	case site != "" && site != "same-origin",
		origin != "" && (err != nil || from.Host != r.Host),
		!free && site == "" && origin == "":
		return &problem{status: http.StatusForbidden, detail: "the request does not come from a page of this gateway", remedy: "send the token as Authorization: Bearer TOKEN instead of a cookie"}
	case !free && r.Header.Get(headerIntent) != "1":
		return &problem{status: http.StatusForbidden, detail: "with a cookie this needs the header " + headerIntent + ": 1", remedy: "send it, or the token as Authorization: Bearer TOKEN"}
	}
	return nil
}

func thisMachine(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// address is who is connected. Proxies are not asked: what they say can be made up.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
