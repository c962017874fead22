package ops

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

const (
	cookieName  = "spillway_session"
	sessionTime = 12 * time.Hour
	loginTime   = 5 * time.Second // for a stranger to send a token
	maxSessions = 256             // beyond, the oldest ends
	maxTries    = 10              // wrong tokens of one address in failTime
	failTime    = time.Minute
	maxAddress  = 4096 // that are counted apart; beyond, all others share one count
)

// Login is the body of POST /admin/v1/session.
type Login struct {
	Token string `json:"token"`
}

// Who is the answer of /admin/v1/session.
type Who struct {
	Name    string `json:"name"` // of the token; empty for anybody on this machine
	Role    string `json:"role" jsonschema:"enum=viewer,enum=admin"`
	Session bool   `json:"session"` // known by a cookie
}

// logIn gives a cookie for a token, so that a page need not keep the token.
func (s *Surface) logIn(w http.ResponseWriter, r *http.Request, _ identity) error {
	const most = 4 << 10
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(loginTime)) // not every writer of a test can
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return err
	}
	var in Login
	if err := json.Unmarshal(body, &in, json.RejectUnknownMembers(true)); err != nil || in.Token == "" {
		return bad("token", "the body is not a token", `send {"token": "…"}`) // the error is not repeated: it may quote the token
	}
	t, err := s.check(r, &s.gateway.Config().Admin, in.Token)
	if err != nil {
		return err
	}
	id := s.sessions.begin(t.Hash)
	if !slices.ContainsFunc(s.gateway.Config().Admin.Tokens, func(x config.AdminToken) bool { return x.Hash == t.Hash }) {
		s.sessions.end(id) // the file was read again meanwhile, and its sessions were ended before this one began
		return &problem{status: http.StatusUnauthorized, detail: "no such token", remedy: remedyToken}
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: id, Path: "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
	return writeJSON(w, Who{t.Name, t.Role.String(), true})
}

func (s *Surface) whoAmI(w http.ResponseWriter, _ *http.Request, who identity) error {
	return writeJSON(w, Who{who.name, who.role.String(), who.session != ""})
}

// logOut ends the session of the cookie. A bearer has none.
func (s *Surface) logOut(w http.ResponseWriter, _ *http.Request, who identity) error {
	s.sessions.end(who.session)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// sessions are those who are logged in: 256 bits of chance each, kept as a hash,
// in this process only.
type sessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

type session struct {
	token string // its hash
	until time.Time
}

func newSessions() *sessions { return &sessions{all: map[[sha256.Size]byte]session{}} }

func (s *sessions) begin(token string) (id string) {
	var b [32]byte
	rand.Read(b[:])
	id = base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxSessions {
		var oldest [sha256.Size]byte
		first := true
		for k, x := range s.all {
			if first || x.until.Before(s.all[oldest].until) {
				oldest, first = k, false
			}
		}
		delete(s.all, oldest)
	}
	s.all[sha256.Sum256([]byte(id))] = session{token, time.Now().Add(sessionTime)}
	return id
}

// find gives the hash of the token that a session began with.
func (s *sessions) find(id string) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(id))
	x, ok := s.all[key]
	if ok && time.Now().After(x.until) {
		delete(s.all, key)
		return "", false
	}
	return x.token, ok
}

// keep ends the sessions of all other tokens: one that is written into the file
// again begins without any.
func (s *sessions) keep(tokens []config.AdminToken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.all, func(_ [sha256.Size]byte, x session) bool {
		return !slices.ContainsFunc(tokens, func(t config.AdminToken) bool { return t.Hash == x.token })
	})
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(id)))
}

// failures counts wrong tokens by address.
type failures struct {
	mu  sync.Mutex
	all map[string]tries
}

type tries struct {
	n     int
	until time.Time // when they are forgotten
}

func newFailures() *failures { return &failures{all: map[string]tries{}} }

// wait is how long an address must not try.
func (f *failures) wait(from string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.all[f.entry(from)]; t.n >= maxTries {
		return max(time.Until(t.until), 0)
	}
	return 0
}

func (f *failures) count(from string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if len(f.all) >= maxAddress {
		for k, t := range f.all {
			if now.After(t.until) {
				delete(f.all, k)
			}
		}
	}
	key := f.entry(from)
	t := f.all[key]
	if now.After(t.until) {
		t = tries{until: now.Add(failTime)}
	}
	t.n++
	f.all[key] = t
}

// entry is where an address is counted.
func (f *failures) entry(from string) string {
	if _, known := f.all[from]; !known && len(f.all) >= maxAddress {
		return ""
	}
	return from
}
