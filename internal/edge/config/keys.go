package config

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"
)

// hashPrefix marks a stored key.
const hashPrefix = "sha256:"

// HashKey returns the form in which a key is stored: "sha256:" and 64 hex
// digits. Keys are long random words, so a fast hash without salt is enough.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hashPrefix + hex.EncodeToString(sum[:])
}

func parseHash(s string) (sum [sha256.Size]byte, ok bool) {
	digits, ok := strings.CutPrefix(s, hashPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(sum)) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], []byte(digits))
	return sum, err == nil
}

// Key is a key of a tenant. In the file it may be its hash alone.
type Key struct {
	// Its hash, as printed by spillway check --hash-key.
	Hash string `yaml:"hash" jsonschema:"required"`
	// What metrics, logs and budgets call it, unique among the tenant's keys. Default the first 12 hex digits of the hash.
	Name string `yaml:"name"`
	// When it ends, such as 2026-12-24T00:00:00Z. From then on it is no key. Default never.
	Until Moment `yaml:"until"`
}

// Ended says that the key is none any more.
func (k *Key) Ended(now time.Time) bool { return k.Until.past(now) }

// keyDigits of its hash are the name of a key that has no other.
const keyDigits = 12

func (*Key) want() string { return "a hash in quotes, or keys and values" }

func (k *Key) say(text string) error {
	k.Hash = text
	return nil
}

// Keys finds the tenant of a key. It is not changed once made and may be used
// by any number of goroutines.
type Keys struct {
	// By the first bytes of the hash, so that a lookup does not compare with
	// every key. The time of a lookup can tell these bytes of the hash of a
	// guess, which the guesser knows anyway.
	buckets map[[8]byte][]stored
}

type stored struct {
	sum    [sha256.Size]byte
	tenant string
	name   string // of the key
	until  Moment
	used   *atomic.Int64 // unix seconds of its last use; 0 if there was none
}

func newKeys(tenants []Tenant) *Keys {
	k := &Keys{buckets: map[[8]byte][]stored{}}
	for _, t := range tenants {
		for _, key := range t.Keys {
			if sum, ok := parseHash(key.Hash); ok {
				k.buckets[[8]byte(sum[:8])] = append(k.buckets[[8]byte(sum[:8])], stored{sum, t.Name, key.Name, key.Until, new(atomic.Int64)})
			}
		}
	}
	return k
}

// Lookup returns the tenant that a caller's key belongs to at now, and what the
// key is called, which is unique among the keys of its tenant. Hashes are compared
// in constant time. It notes the time as the key's last use.
func (k *Keys) Lookup(now time.Time, key string) (tenant, name string, ok bool) {
	sum := sha256.Sum256([]byte(key))
	for _, s := range k.buckets[[8]byte(sum[:8])] {
		if subtle.ConstantTimeCompare(s.sum[:], sum[:]) == 1 && !s.until.past(now) {
			tenant, name, ok = s.tenant, s.name, true
			if at := now.Unix(); s.used.Load() != at { // once a second: the line of the cache stays shared
				s.used.Store(at)
			}
		}
	}
	return tenant, name, ok
}

// Follow takes over from the keys of an earlier configuration when each was last
// used. It comes before the first Lookup.
func (k *Keys) Follow(old *Keys) {
	for start, list := range k.buckets {
		for i := range list {
			for _, o := range old.buckets[start] {
				if o.sum == list[i].sum {
					list[i].used = o.used
				}
			}
		}
	}
}

// LastUse is when a caller last showed the key, to the second; zero if none has
// since this process began, or there is no such key.
func (k *Keys) LastUse(key *Key) time.Time {
	sum, ok := parseHash(key.Hash)
	if !ok {
		return time.Time{}
	}
	for _, s := range k.buckets[[8]byte(sum[:8])] {
		if at := s.used.Load(); s.sum == sum && at > 0 {
			return time.Unix(at, 0).UTC()
		}
	}
	return time.Time{}
}
