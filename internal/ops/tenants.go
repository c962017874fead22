package ops

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// Tenants is the answer of GET /admin/v1/tenants.
type Tenants struct {
	Tenants []TenantReport `json:"tenants"`
}

// TenantReport is one tenant: who it is and its keys. Its settings are in GET
// /admin/v1/settings?under=tenants[NAME].
type TenantReport struct {
	Name   string            `json:"name"`
	Source config.Source     `json:"source"` // file or change: who says that there is such a tenant
	Weight int               `json:"weight"`
	Tier   string            `json:"tier"`
	Keys   []TenantKeyReport `json:"keys"`
}

// TenantKeyReport is a key of a tenant, without what would let somebody call.
type TenantKeyReport struct {
	ID     string        `json:"id"`   // its name, or the first digits of its hash
	Hash   string        `json:"hash"` // shortened
	Source config.Source `json:"source"`
	Until  *time.Time    `json:"until,omitempty"`
	Ended  bool          `json:"ended"`
	Used   *time.Time    `json:"last_use,omitempty"` // since the process began
}

func (s *Surface) listTenants(w http.ResponseWriter, _ *http.Request, _ identity) error {
	c, now := s.gateway.Config(), time.Now()
	out := Tenants{Tenants: []TenantReport{}}
	for i := range c.Tenants {
		t := &c.Tenants[i]
		report := TenantReport{Name: t.Name, Source: c.SourceOf(i, -1), Weight: t.Weight, Tier: t.Tier.String(), Keys: []TenantKeyReport{}}
		for j := range t.Keys {
			report.Keys = append(report.Keys, keyReport(c, now, i, j))
		}
		out.Tenants = append(out.Tenants, report)
	}
	return writeJSON(w, out)
}

func keyReport(c *config.Config, now time.Time, tenant, n int) TenantKeyReport {
	k := &c.Tenants[tenant].Keys[n]
	r := TenantKeyReport{ID: k.Name, Hash: string(hashes.ReplaceAll([]byte(k.Hash), []byte("$1…"))), Source: c.SourceOf(tenant, n), Ended: k.Ended(now)}
	if k.Until != 0 {
		at := k.Until.Time()
		r.Until = &at
	}
	if at := c.Keys().LastUse(k); !at.IsZero() {
		r.Used = &at
	}
	return r
}

// TenantChange is the answer of PUT and DELETE /admin/v1/tenants/{name}.
type TenantChange struct {
	ChangeReport
	Key *NewKey `json:"key,omitempty"` // of a new tenant that was given none
}

// putTenant makes a tenant, or sets what changes say of one: the members of the
// body, each in place of what the file says, and no others. Keys have paths of
// their own, and stay.
func (s *Surface) putTenant(w http.ResponseWriter, r *http.Request, who identity) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	var in map[string]jsontext.Value
	if err := read(w, r, &in, `{"weight": 2, "limits": {"rpm": 600}}`); err != nil {
		return err
	}
	name := r.PathValue("name")
	at := tenantPath(name)
	all.mu.Lock()
	defer all.mu.Unlock()
	set := config.Overlay{}
	tenant := s.gateway.Config().Tenant(name)
	var key *NewKey
	if tenant == nil || s.gateway.Config().Open() {
		set[at] = jsontext.Value("{}")
		if _, ok := in["keys"]; !ok {
			var entry jsontext.Value
			if key, entry, err = newKey("", 0); err != nil {
				return err
			}
			set[keyPath(name, key.ID)] = entry
		}
	} else {
		for path := range all.overlay {
			rest, below := strings.CutPrefix(path, at+".")
			if below && !strings.HasPrefix(rest, "keys") {
				set[path] = jsontext.Value("null")
			}
		}
	}
	for _, member := range slices.Sorted(maps.Keys(in)) {
		if member == "keys" && tenant != nil {
			return bad("keys", "keys of a tenant that is there are not set here", "POST /admin/v1/tenants/NAME/keys makes one")
		}
		path := at + "." + member
		maps.DeleteFunc(set, func(known string, _ jsontext.Value) bool { return strings.HasPrefix(known, path+".") })
		set[path] = in[member]
	}
	if len(set) == 0 {
		return bad("body", "nothing is set", `send {"weight": 2}`)
	}
	c, err := all.changeLocked(&proposal{kind: KindTenant, who: who.name, set: set})
	if err != nil {
		return err
	}
	return writeJSON(w, TenantChange{c, key})
}

// deleteTenant takes away a tenant that a change made.
func (s *Surface) deleteTenant(w http.ResponseWriter, r *http.Request, who identity) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	all.mu.Lock()
	defer all.mu.Unlock()
	i, err := s.tenantOf(name)
	if err != nil {
		return err
	}
	if s.gateway.Config().SourceOf(i, -1) != config.SourceChange {
		return &problem{
			status: http.StatusConflict, place: tenantPath(name), detail: "the tenant stands in the configuration file",
			remedy: "take it out there; to shut it out at once, DELETE its keys under /admin/v1/tenants/NAME/keys",
		}
	}
	c, err := all.changeLocked(&proposal{kind: KindTenant, who: who.name, set: config.Overlay{tenantPath(name): jsontext.Value("null")}})
	if err != nil {
		return err
	}
	return writeJSON(w, TenantChange{ChangeReport: c})
}

// tenantOf is the place of a tenant in the configuration.
func (s *Surface) tenantOf(name string) (int, error) {
	c := s.gateway.Config()
	i := slices.IndexFunc(c.Tenants, func(t config.Tenant) bool { return t.Name == name })
	if i < 0 || c.Open() {
		return 0, &problem{status: http.StatusNotFound, place: "name", detail: fmt.Sprintf("no tenant is called %q", name), remedy: "GET /admin/v1/tenants lists them; PUT /admin/v1/tenants/NAME makes one"}
	}
	return i, nil
}

func tenantPath(name string) string { return config.Element("tenants", name) }

func keyPath(tenant, id string) string { return config.Element(tenantPath(tenant)+".keys", id) }
