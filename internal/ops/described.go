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
