package config

import (
	"crypto/sha256"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestHashKey(t *testing.T) {
	const want = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	if got := HashKey("foo"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLookup(t *testing.T) {
	k := good(t, "full").Keys()
	if tenant, _, ok := k.Lookup(time.Now(), "key-of-bank"); !ok || tenant != "bank" {
		t.Errorf("bank's key is %q's (%v)", tenant, ok)
	}
	for _, key := range []string{"", "key-of-bank ", "Key-of-bank", HashKey("key-of-bank"), "other"} {
		if tenant, _, ok := k.Lookup(time.Now(), key); ok || tenant != "" {
			t.Errorf("%q is %q's", key, tenant)
		}
	}
	if _, _, ok := good(t, "two-lines").Keys().Lookup(time.Now(), ""); ok {
		t.Error("an open gateway knows a key")
	}
}

func TestNameOfAKey(t *testing.T) {
	other := HashKey("other")
	k := parse(t, "providers: {a: {base_url: http://h/v1}}\ntenants: [{name: t, keys: ["+HashKey("foo")+", {hash: "+other+", name: ci}]}]").Keys()
	for key, want := range map[string]string{"foo": "2c26b46b68ff", "other": "ci", "nobody's": ""} {
		if _, got, _ := k.Lookup(time.Now(), key); got != want {
			t.Errorf("%s is called %q, want %q", key, got, want)
		}
	}
	if tenant, _, ok := k.Lookup(time.Now(), "other"); !ok || tenant != "t" {
		t.Errorf("%q, %v", tenant, ok)
	}
}

// Hashes that begin alike share a bucket; only the whole hash counts.
func TestLookupComparesTheWholeHash(t *testing.T) {
	sum := sha256.Sum256([]byte("key"))
	near := sum
	near[31] ^= 1
	k := &Keys{buckets: map[[8]byte][]stored{[8]byte(sum[:8]): {{near, "near", "", 0, new(atomic.Int64)}}}}
	if tenant, _, ok := k.Lookup(time.Now(), "key"); ok {
		t.Errorf("a hash that differs in its last bit is %q's", tenant)
	}
	k.buckets[[8]byte(sum[:8])] = append(k.buckets[[8]byte(sum[:8])], stored{sum, "right", "", 0, new(atomic.Int64)})
	if tenant, _, ok := k.Lookup(time.Now(), "key"); !ok || tenant != "right" {
		t.Errorf("%q, %v", tenant, ok)
	}
}

func TestLookupAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owners := rapid.MapOf(rapid.String(), rapid.StringMatching(`[a-z]{1,8}`)).Draw(t, "owners")
		var tenants []Tenant
		for key, name := range owners {
			tenants = append(tenants, Tenant{Name: name, Keys: []Key{{Hash: HashKey(key)}}})
		}
		keys := newKeys(tenants)
		for key, name := range owners {
			if got, _, ok := keys.Lookup(time.Now(), key); !ok || got != name {
				t.Fatalf("%q is %q's, want %q", key, got, name)
			}
		}
		other := rapid.String().Draw(t, "other")
		if _, known := owners[other]; !known {
			if got, _, ok := keys.Lookup(time.Now(), other); ok {
				t.Fatalf("%q is %q's", other, got)
			}
		}
	})
}

func TestParseHash(t *testing.T) {
	for text, want := range map[string]bool{
		HashKey("a"): true, "sha256:": false, "sha256:" + strings.Repeat("g", 64): false, "sha256:" + strings.Repeat("0", 63): false,
		"sha512:" + strings.Repeat("0", 64): false, strings.Repeat("0", 64): false, "sha256:" + strings.Repeat("0", 66): false,
	} {
		if _, ok := parseHash(text); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	var tenants []Tenant
	for i := range 5000 {
		tenants = append(tenants, Tenant{Name: "t", Keys: []Key{{Hash: HashKey(string(rune(i)))}}})
	}
	k := newKeys(tenants)
	b.ReportAllocs()
	for b.Loop() {
		k.Lookup(time.Now(), "sk-a-key-of-usual-length-0123456789abcdef")
	}
}

// A key ends at its time, and who used it last is known over a change of the configuration.
func TestUntil(t *testing.T) {
	const text = "providers: {a: {base_url: http://h/v1}}\ntenants: [{name: t, keys: [{hash: " + hashOfShop + ", name: ci, until: 2026-12-24T00:00:00Z}]}]"
	end := time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)
	c := parse(t, text)
	key := &c.Tenants[0].Keys[0]
	if at := c.Keys().LastUse(key); !at.IsZero() {
		t.Errorf("used at %v, by nobody", at)
	}
	if _, name, ok := c.Keys().Lookup(end.Add(-time.Millisecond), "foo"); !ok || name != "ci" || key.Ended(end.Add(-time.Second)) {
		t.Error("until its end it is a key")
	}
	if _, _, ok := c.Keys().Lookup(end, "foo"); ok || !key.Ended(end) {
		t.Error("it has ended")
	}
	next := parse(t, text)
	next.Keys().Follow(c.Keys())
	if at := next.Keys().LastUse(key); !at.Equal(end.Add(-time.Second)) {
		t.Errorf("last used at %v", at)
	}
}
