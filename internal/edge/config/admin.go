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
	// What becomes of settings that are changed while the gateway runs: durable, they stand beside this file and outlive a restart, or file, there are none and this file alone counts. Default durable.
	Changes Changes `yaml:"changes"`
	// Directory of this gateway alone, for what was changed and by whom. It is made if it is not there. Default spillway-data, from where the gateway is started. A change needs a restart.
	Directory string `yaml:"directory"`
}

// Changes is who owns the settings.
type Changes string

const (
	ChangesDurable Changes = "durable" // the file, and what was changed beside it
	ChangesFile    Changes = "file"    // the file alone
)

func (c Changes) String() string { return string(c) }

func (Changes) choices() []string { return []string{string(ChangesDurable), string(ChangesFile)} }

func (a *Admin) setDefaults() { a.Changes, a.Directory = ChangesDurable, "spillway-data" }

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
	if c.Admin.Directory == "" {
		d.fail("admin.directory", "is empty; leave it out for spillway-data, or write admin: {changes: file}")
	}
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
