package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// tenant finds who calls.
func (x *exchange) tenant() (*config.Tenant, *wire.Error) {
	t, key := callerOf(x.state, x.r)
	if t == nil {
		return nil, wrongKey()
	}
	x.record.Key = key
	return t, nil
}

// callerOf is the tenant of a request's key, nil if there is none, and what the
// key is called. The key is
// a bearer token, or stands in x-api-key or api-key as other SDKs send it.
func callerOf(s *state, r *http.Request) (t *config.Tenant, name string) {
	if s.config.Open() {
		return s.config.Tenant(config.OpenTenant), ""
	}
	key, ok := bearer(r.Header.Get("Authorization"))
	for _, name := range []string{"X-Api-Key", "Api-Key"} {
		if !ok {
			key = r.Header.Get(name)
			ok = key != ""
		}
	}
	if !ok {
		return nil, ""
	}
	tenant, name, ok := s.keys.Lookup(time.Now(), key)
	if !ok {
		return nil, ""
	}
	return s.config.Tenant(tenant), name
}

func bearer(authorization string) (string, bool) {
	scheme, token, ok := strings.Cut(authorization, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

// classify decides the request's class and deadline: what the caller asks for,
// as far as the tenant may.
func (x *exchange) classify(t *config.Tenant) *wire.Error {
	class := t.DefaultClass
	if asked := wire.ClassOf(x.intent, x.envelope.ServiceTier); asked != "" {
		c, ok := admit.ParseClass(asked)
		switch {
		case ok && t.MayUse(c):
			class = c
		case x.intent.Class != "": // said in our own words: an answer, not a guess
			return wire.CodeInvalidClass.Of("x-spillway-class", fmt.Sprintf("class %q is not one that tenant %s may use: %v", asked, t.Name, t.Classes))
		case ok && c > class: // a hint may lower itself
			for k := c; k < admit.NumClasses; k++ {
				if t.MayUse(k) {
					class = k
					break
				}
			}
		}
	}
	x.record.Class = class
	if x.intent.Deadline > 0 {
		x.explicit = x.record.Arrived.Add(x.intent.Deadline)
	}
	return nil
}

// request is what the core is told.
func (x *exchange) request() admit.Request {
	r := admit.Request{
		Tenant: x.record.Tenant, Model: x.pool, Key: x.record.Key, User: name(x.record.User), Session: name(x.record.Session), Tier: x.envelope.ServiceTier, Class: x.record.Class, Attempt: x.intent.Attempt,
		Input: x.envelope.Input, MaxOutput: x.maxOutput(), Bytes: int64(len(x.body)), Stream: x.envelope.Stream,
		Arrived: x.record.Arrived, Deadline: x.explicit, May: x.consent(), Task: x.intent.Task, Affinity: x.affinity(),
	}
	x.shapes(&r)
	return r
}

// name is a name that a caller chose, as the core knows it: a long one by its
// hash, so that it is the same wherever it is kept.
func name(s string) string {
	if len(s) <= maxName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

const maxName = 64

// maxOutput is 0 without a cap; embeddings have no output at all.
func (x *exchange) maxOutput() int64 {
	if x.surface.wire == wire.Embeddings {
		return 1
	}
	return x.envelope.MaxOutput
}

func (g *Gateway) isDraining() bool {
	select {
	case <-g.draining:
		return true
	default:
		return false
	}
}

func (g *Gateway) drainLeft() time.Duration {
	return time.Until(time.Unix(0, g.drainEnd.Load()))
}
