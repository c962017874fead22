package ops

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

const (
	keyBytes  = 32 // of randomness in a key
	keyDigits = 12 // of its hash, that name one without a name
	maxGrace  = 90 * 24 * time.Hour
	anyGrace  = 24 * time.Hour
)

// KeyWish is the body of POST /admin/v1/tenants/{name}/keys and of …/rotate.
type KeyWish struct {
	Name  string `json:"name,omitzero"`  // what logs and budgets call it; default by its hash
	Until string `json:"until,omitzero"` // when it ends, as in RFC 3339; default never
	Grace string `json:"grace,omitzero"` // how long the old one goes on, when it is rotated; default 24h
	Why   string `json:"why,omitzero"`
}

// NewKey is a key, the only time that it is shown.
type NewKey struct {
	ID  string `json:"id"`
	Key string `json:"key"` // what callers send; only its hash is kept
}

// KeyChange is the answer of what is done with keys.
type KeyChange struct {
	ChangeReport
	Key *NewKey    `json:"key,omitempty"` // a new one
	Old *time.Time `json:"old_until,omitempty"`
}

// newKey makes a key and what is kept of it. until is 0 for never.
func newKey(name string, until int64) (*NewKey, jsontext.Value, error) {
	b := make([]byte, keyBytes)
	rand.Read(b) // never fails
	k := &NewKey{ID: name, Key: "sk-" + base64.RawURLEncoding.EncodeToString(b)}
	hash := config.HashKey(k.Key)
	if k.ID == "" {
		_, digits, _ := strings.Cut(hash, ":")
		k.ID = digits[:keyDigits]
	}
	kept := map[string]string{"hash": hash}
	if until != 0 {
		kept["until"] = moment(time.Unix(until, 0))
	}
	entry, err := json.Marshal(kept, json.Deterministic(true))
	return k, entry, err
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// createKey makes a key and tells it once.
func (s *Surface) createKey(w http.ResponseWriter, r *http.Request, who identity) error {
	var in KeyWish
	if err := read(w, r, &in, `{"name": "ci"} or nothing`); err != nil {
		return err
	}
	if in.Grace != "" {
		return bad("grace", "a new key takes nobody's place", "leave it out, or POST …/keys/KEY/rotate")
	}
	return s.changeKeys(w, r, func(all *Settings, _ string, t *config.Tenant) (*KeyChange, error) {
		k, set, err := in.make(t)
		if err != nil {
			return nil, err
		}
		c, err := all.changeLocked(&proposal{kind: KindKey, who: who.name, why: in.Why, set: set})
		return &KeyChange{ChangeReport: c, Key: k}, err
	})
}

// make makes a key, and what is to be set for it. A name that another key has
// would put the new one in its place at once, for whoever calls with it.
func (in *KeyWish) make(t *config.Tenant) (*NewKey, config.Overlay, error) {
	if slices.ContainsFunc(t.Keys, func(k config.Key) bool { return k.Name == in.Name }) {
		return nil, nil, &problem{
			status: http.StatusConflict, place: "name", detail: fmt.Sprintf("tenant %s has a key of this name", t.Name),
			remedy: "give the new one another name, or none; POST …/keys/KEY/rotate replaces a key",
		}
	}
	until := int64(0)
	if in.Until != "" {
		t, err := time.Parse(time.RFC3339, in.Until)
		if err != nil || !t.After(time.Now()) {
			return nil, nil, bad("until", "not a time to come", "write it like 2030-12-24T00:00:00Z")
		}
		until = t.Unix()
	}
	k, entry, err := newKey(in.Name, until)
	return k, config.Overlay{keyPath(t.Name, k.ID): entry}, err
}

// rotateKey makes a key in the place of another, which goes on for a while so that
// callers can change over.
func (s *Surface) rotateKey(w http.ResponseWriter, r *http.Request, who identity) error {
	var in KeyWish
	if err := read(w, r, &in, `{"grace": "24h"} or nothing`); err != nil {
		return err
	}
	grace := anyGrace
	if in.Grace != "" {
		var err error
		if grace, err = time.ParseDuration(in.Grace); err != nil || grace < 0 || grace > maxGrace {
			return bad("grace", "not a time from 0s to 2160h", "write it like 24h")
		}
	}
	return s.changeKeys(w, r, func(all *Settings, tenant string, t *config.Tenant) (*KeyChange, error) {
		now := time.Now()
		old, err := keyOf(t, r.PathValue("key"))
		if err != nil {
			return nil, err
		}
		if old.Ended(now) {
			return nil, &problem{status: http.StatusConflict, place: "key", detail: "the key has ended", remedy: "make a new one with POST /admin/v1/tenants/NAME/keys"}
		}
		if in.Name == old.Name {
			return nil, bad("name", "is the name of the old key, which is there until its time is over", "give the new one another name, or none")
		}
		k, set, err := in.make(t)
		if err != nil {
			return nil, err
		}
		end := now.Add(grace).UTC().Truncate(time.Second)
		if old.Until != 0 && old.Until.Time().Before(end) {
			end = old.Until.Time()
		}
		set[keyPath(tenant, old.Name)+".until"] = quoted(moment(end))
		c, err := all.changeLocked(&proposal{kind: KindKey, who: who.name, why: in.Why, set: set})
		return &KeyChange{ChangeReport: c, Key: k, Old: &end}, err
	})
}

// revokeKey ends a key at once. It stays listed, as one that has ended: the file
// may have it, and whoever asks later finds it.
func (s *Surface) revokeKey(w http.ResponseWriter, r *http.Request, who identity) error {
	return s.changeKeys(w, r, func(all *Settings, tenant string, t *config.Tenant) (*KeyChange, error) {
		now := time.Now()
		old, err := keyOf(t, r.PathValue("key"))
		if err != nil {
			return nil, err
		}
		end := now.UTC().Truncate(time.Second)
		if old.Ended(now) {
			end = old.Until.Time()
		}
		set := config.Overlay{keyPath(tenant, old.Name) + ".until": quoted(moment(end))}
		c, err := all.changeLocked(&proposal{kind: KindKey, who: who.name, set: set})
		return &KeyChange{ChangeReport: c, Old: &end}, err
	})
}

// changeKeys does something with the keys of a tenant while nobody else changes
// anything.
func (s *Surface) changeKeys(w http.ResponseWriter, r *http.Request, do func(*Settings, string, *config.Tenant) (*KeyChange, error)) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	i, err := s.tenantOf(r.PathValue("name"))
	if err != nil {
		return err
	}
	t := &s.gateway.Config().Tenants[i]
	c, err := do(all, t.Name, t)
	if err != nil {
		return err
	}
	return writeJSON(w, c)
}

// keyOf finds a key by its name, or by the first digits of its hash.
func keyOf(t *config.Tenant, id string) (*config.Key, error) {
	digits := strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(id), "sha256:"), "…")
	const least = 8
	i := slices.IndexFunc(t.Keys, func(k config.Key) bool { return k.Name == id })
	if i < 0 && len(digits) >= least {
		i = slices.IndexFunc(t.Keys, func(k config.Key) bool { return strings.HasPrefix(k.Hash, "sha256:"+digits) })
	}
	if i < 0 {
		return nil, &problem{status: http.StatusNotFound, place: "key", detail: fmt.Sprintf("tenant %s has no such key", t.Name), remedy: "GET /admin/v1/tenants lists them by id"}
	}
	return &t.Keys[i], nil
}

func quoted(s string) jsontext.Value { return jsontext.Value(`"` + s + `"`) } // of what needs no escapes
