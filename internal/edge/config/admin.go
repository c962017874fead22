package config

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
)

// Admin says who may use the listener for operators.
type Admin struct {
	// The tokens that operators send. Default none: everybody on this machine may look, and nobody may change anything.
	Tokens []AdminToken `yaml:"tokens"`
}

// AdminToken is what one operator, or one program of theirs, shows.
type AdminToken struct {
	// Who it belongs to. Unique.
	Name string `yaml:"name" jsonschema:"required"`
	// The hash of the token, as printed by spillway check --hash-key. The token is a long random word, as openssl rand -hex 32 makes one.
	Hash string `yaml:"hash" jsonschema:"required"`
	// viewer to look, or admin to change things too, where a path does so. Default viewer.
	Role Role `yaml:"role"`
}

// Role is what the bearer of a token may do.
type Role string

const (
	RoleViewer Role = "viewer" // look
	RoleAdmin  Role = "admin"  // and change
)

func (r Role) String() string { return string(r) }

func (Role) choices() []string { return []string{string(RoleViewer), string(RoleAdmin)} }

// Lookup finds whose token it is. All hashes are compared, in constant time.
func (a *Admin) Lookup(token string) (t AdminToken, ok bool) {
	sum := sha256.Sum256([]byte(token))
	for _, known := range a.Tokens {
		if hash, valid := parseHash(known.Hash); valid && subtle.ConstantTimeCompare(hash[:], sum[:]) == 1 {
			t, ok = known, true
		}
	}
	return t, ok
}

func (t *AdminToken) setDefaults() { t.Role = RoleViewer }

// checkAdmin never repeats what stands for a hash: it may be the token.
func (c *Config) checkAdmin(d *document) {
	for i := range c.Admin.Tokens {
		t, path := &c.Admin.Tokens[i], index("admin.tokens", i)
		t.Hash = strings.ToLower(t.Hash)
		if !printableName(t.Name) {
			d.fail(join(path, "name"), "a token's name is 1 to %d characters without spaces", maxName)
		} else if slices.ContainsFunc(c.Admin.Tokens[:i], func(o AdminToken) bool { return o.Name == t.Name }) {
			d.fail(join(path, "name"), "another token has this name already")
		}
		at := join(path, "hash")
		if _, ok := parseHash(t.Hash); !ok {
			d.fail(at, "not a hash; tokens are not stored in the clear: write what this prints: spillway check --hash-key -")
			continue
		}
		if slices.ContainsFunc(c.Admin.Tokens[:i], func(o AdminToken) bool { return o.Hash == t.Hash }) {
			d.fail(at, "written twice; give everybody a token of their own")
		}
		for j := range c.Tenants {
			for n, k := range c.Tenants[j].Keys {
				if k.Hash == t.Hash {
					d.fail(at, "is also a key of the tenant in %s; a caller would be an operator", d.line(index(join(index("tenants", j), "keys"), n)))
				}
			}
		}
	}
}
