package ops

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops/console"
)

// description is what docs/openapi.json says of a route, beside who may use it.
// The schemas of bodies are made from Go types and their comments, so the text
// here is only what no type can say.
type description struct {
	says    string      // what it is for: a sentence
	params  []parameter // of the path and of the query
	takes   any         // a value of the body's type; nil if it takes none
	orNone  bool        // the body may be left out
	answers []answer    // those that are no problem; what a successful call gets is first
	fails   []int       // statuses of its own that are problems; those of every route, of its need and of a body come by themselves
}

// parameter is one of the path, if it stands in the pattern, or of the query.
type parameter struct {
	name string
	of   any    // a value of its type
	says string // meaning, range and default
}

// answer is one way in which a route answers.
type answer struct {
	status int
	says   string
	media  string // "" is application/json
	of     any    // a value of the body's type; of a stream, that of each event or line; nil: free text, or no body at all
}

// Media types of answers that are not JSON.
const (
	mediaPage   = "text/html; charset=utf-8"
	mediaText   = "text/plain; charset=utf-8"
	mediaLines  = "application/jsonl"
	mediaEvents = "text/event-stream"
)

// changing is how a change may fail: there is no such thing, the file alone counts
// or somebody was faster, or it would not be a right configuration.
var changing = []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}

// descriptions has every route by its pattern. A route without one fails
// TestEveryRouteIsDescribed.
var descriptions = map[string]description{
	"GET /healthz": {
		says:    "Says that the process lives, and what it holds.",
		answers: []answer{{http.StatusOK, "It lives, also while it is draining.", "", gateway.Health{}}},
	},
	"GET /readyz": {
		says: "Says whether new requests are welcome.",
		answers: []answer{
			{http.StatusOK, "They are.", mediaText, nil},
			{http.StatusServiceUnavailable, "The gateway is draining.", mediaText, nil},
		},
	},
	"GET /metrics": {
		says:    "Gives the metrics, for Prometheus; docs/metrics.md lists them.",
		params:  []parameter{{"name[]", []string{}, "Metrics to give. Default all."}},
		answers: []answer{{http.StatusOK, "The metrics; in the OpenMetrics form for who accepts that.", "text/plain", nil}},
	},
	"GET /{$}": {
		says:    "Leads a browser to the console.",
		answers: []answer{{http.StatusFound, "The console is at Location.", mediaPage, nil}},
	},
	"GET " + console.Prefix: {
		says: "Gives the console, a page for browsers, and its files; docs/console.md explains it.",
		answers: []answer{
			{http.StatusOK, "The page. It holds no data.", mediaPage, nil},
			{http.StatusNotModified, "The browser has it.", "", nil},
			{http.StatusNotFound, "There is no file of this name.", mediaText, nil},
		},
	},
	"GET /debug/events": {
		says:    "Gives the last events of the decision core, for spillway replay.",
		answers: []answer{{http.StatusOK, "One event a line, oldest first.", mediaLines, nil}},
	},
	"GET /admin/v1/openapi.json": {
		says:    "Gives this description.",
		answers: []answer{{http.StatusOK, "An OpenAPI 3.1 document.", "", map[string]any{}}},
	},
	"POST /admin/v1/session": {
		says:    "Logs in: gives a cookie for a token, for twelve hours.",
		takes:   Login{},
		answers: []answer{{http.StatusOK, "Who it is. The cookie is in Set-Cookie, and scripts cannot read it.", "", Who{}}},
		fails:   []int{http.StatusUnauthorized},
	},
	"GET /admin/v1/session": {
		says:    "Says who asks.",
		answers: []answer{{http.StatusOK, "Who it is.", "", Who{}}},
	},
	"DELETE /admin/v1/session": {
		says:    "Logs out: ends the session of the cookie.",
		answers: []answer{{http.StatusNoContent, "It is over.", "", nil}},
	},
	"GET /admin/v1/snapshot": {
		says:    "Gives the picture of now: what is full, who waits, what is predicted.",
		answers: []answer{{http.StatusOK, "The picture. Times in seconds, money in dollars.", "", gateway.Picture{}}},
	},
	"GET /admin/v1/history": {
		says:    "Gives what was decided and what ended, second by second.",
		params:  []parameter{{"seconds", 0, "How many, from 1 to 900. Default 900."}},
		answers: []answer{{http.StatusOK, "The last seconds that are over, oldest first.", "", History{}}},
	},
	"GET /admin/v1/live": {
		says:    "Streams the picture, once a second, until the listener leaves or may no longer look.",
		answers: []answer{{http.StatusOK, "Events called picture, the first at once; comments while there is none.", mediaEvents, gateway.Picture{}}},
		fails:   []int{http.StatusServiceUnavailable},
	},
	"GET /admin/v1/upstreams": {
		says:    "Says what every deployment is doing.",
		answers: []answer{{http.StatusOK, "Every deployment; docs/upstreams.md explains the figures.", "", Upstreams{}}},
	},
	"POST /admin/v1/upstreams/{name}": {
		says:    "Drains, disables or enables a deployment, or gives it another weight. It is a change of settings like others.",
		params:  []parameter{{"name", "", "The deployment, as GET /admin/v1/upstreams calls it; a slash is written %2F."}},
		takes:   UpstreamWish{},
		answers: []answer{{http.StatusOK, "What was changed.", "", ChangeReport{}}},
		fails:   changing,
	},
	"GET /admin/v1/settings": {
		says:    "Lists what can be changed while the gateway runs, with the value in force.",
		params:  []parameter{{"under", "", "A path: only settings at it and below. Default all."}},
		answers: []answer{{http.StatusOK, "The settings.", "", SettingsList{}}},
		fails:   []int{http.StatusNotFound, http.StatusConflict},
	},
	"GET /admin/v1/changes": {
		says:    "Says who changed what, why, and what it was before; also readings of the file.",
		params:  []parameter{{"limit", 0, "How many, from 1 to 1000. Default 50."}},
		answers: []answer{{http.StatusOK, "The last changes, newest first.", "", ChangesList{}}},
		fails:   []int{http.StatusConflict},
	},
	"POST /admin/v1/changes": {
		says:    "Changes settings at once, or says what a change would do. All of it happens, or nothing.",
		takes:   Proposal{},
		answers: []answer{{http.StatusOK, "What was changed.", "", ChangeReport{}}},
		fails:   changing,
	},
	"POST /admin/v1/changes/{id}/revert": {
		says:    "Puts back what a change changed, unless it was changed again since.",
		params:  []parameter{{"id", "", "The change."}},
		takes:   Why{},
		orNone:  true,
		answers: []answer{{http.StatusOK, "What was changed.", "", ChangeReport{}}},
		fails:   changing,
	},
	"POST /admin/v1/reload": {
		says:    "Reads the configuration file again, with the changes beside it.",
		answers: []answer{{http.StatusOK, "It is in force.", "", ChangeReport{}}},
		fails:   changing,
	},
	"POST /admin/v1/whatif": {
		says:    "Says what the last minutes would have been under other settings, by simulation. Nothing is changed.",
		takes:   WhatIfAsk{},
		answers: []answer{{http.StatusOK, "The minutes under today's settings and under the others, and as they were.", "", WhatIf{}}},
		fails:   []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusServiceUnavailable},
	},
	"GET /admin/v1/tenants": {
		says:    "Lists who may call, with their keys, none of which can be read here.",
		answers: []answer{{http.StatusOK, "The tenants, in the order of the configuration.", "", Tenants{}}},
		fails:   []int{http.StatusConflict},
	},
	"PUT /admin/v1/tenants/{name}": {
		says:    "Makes a tenant, or says what is other of one than its file says. A new one that is given no keys gets one.",
		params:  []parameter{{"name", "", "The tenant."}},
		takes:   map[string]any{},
		answers: []answer{{http.StatusOK, "What was changed, and the key of a new tenant, this once.", "", TenantChange{}}},
		fails:   changing,
	},
	"DELETE /admin/v1/tenants/{name}": {
		says:    "Takes away a tenant that was made so. One of the file is taken out of the file.",
		params:  []parameter{{"name", "", "The tenant."}},
		answers: []answer{{http.StatusOK, "What was changed.", "", TenantChange{}}},
		fails:   changing,
	},
	"POST /admin/v1/tenants/{name}/keys": {
		says:    "Makes a key.",
		params:  []parameter{{"name", "", "The tenant."}},
		takes:   KeyWish{},
		orNone:  true,
		answers: []answer{{http.StatusOK, "What was changed, and the key, this once.", "", KeyChange{}}},
		fails:   changing,
	},
	"POST /admin/v1/tenants/{name}/keys/{key}/rotate": {
		says:    "Makes a key in place of another, which goes on for a while.",
		params:  []parameter{{"name", "", "The tenant."}, {"key", "", "The key, by its id."}},
		takes:   KeyWish{},
		orNone:  true,
		answers: []answer{{http.StatusOK, "What was changed, and the new key, this once.", "", KeyChange{}}},
		fails:   changing,
	},
	"DELETE /admin/v1/tenants/{name}/keys/{key}": {
		says:    "Ends a key at once, also one of the file. What it began goes on.",
		params:  []parameter{{"name", "", "The tenant."}, {"key", "", "The key, by its id."}},
		answers: []answer{{http.StatusOK, "What was changed.", "", KeyChange{}}},
		fails:   changing,
	},
	"GET /admin/v1/refusals": {
		says:    "Lists the last refusals, newest first.",
		params:  []parameter{{"limit", 0, "How many, from 1 to 1000. Default 50."}},
		answers: []answer{{http.StatusOK, "The last refusals.", "", Refusals{}}},
	},
	"POST /admin/v1/explain": {
		says:    "Explains a refusal, or what would be decided on a request. Nothing is admitted or counted.",
		takes:   Ask{},
		answers: []answer{{http.StatusOK, "The stages one by one, the decision, and what would change it.", "", Explanation{}}},
		fails:   []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	},
}

// knows refuses a parameter of the query that the route does not take: a
// misspelt limit would be as good as none.
func (to *route) knows(r *http.Request) error {
	d, ok := descriptions[to.pattern]
	if !ok || r.URL.RawQuery == "" {
		return nil
	}
	takes := "it takes none"
	if names := d.query(to.pattern); len(names) > 0 {
		takes = "it takes " + strings.Join(names, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if !slices.Contains(d.query(to.pattern), name) {
			return bad(name, to.pattern+" has no such parameter", takes)
		}
	}
	return nil
}

// query names the parameters that are not of the path.
func (d *description) query(pattern string) (names []string) {
	for _, p := range d.params {
		if !inPath(pattern, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

func inPath(pattern, name string) bool {
	return strings.Contains(pattern, "{"+name+"}") || strings.Contains(pattern, "{"+name+"...}")
}
