package ops

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"
)

// The parts of an OpenAPI document that are used here.
type (
	document struct {
		OpenAPI    string                           `json:"openapi"`
		Info       map[string]any                   `json:"info"`
		Servers    []map[string]string              `json:"servers"`
		Paths      map[string]map[string]*operation `json:"paths"`
		Components components                       `json:"components"`
	}
	components struct {
		Schemas   map[string]*jsonschema.Schema `json:"schemas"`
		Responses map[string]response           `json:"responses"`
		Security  map[string]map[string]string  `json:"securitySchemes"`
	}
	operation struct {
		ID         string                `json:"operationId"`
		Summary    string                `json:"summary"`
		Tags       []string              `json:"tags"`
		Security   []map[string][]string `json:"security"`
		Parameters []map[string]any      `json:"parameters,omitempty"`
		Body       *body                 `json:"requestBody,omitempty"`
		Responses  map[string]response   `json:"responses"`
	}
	body struct {
		Required bool             `json:"required"`
		Content  map[string]media `json:"content"`
	}
	response struct {
		Ref         string           `json:"$ref,omitempty"`
		Description string           `json:"description,omitempty"`
		Headers     map[string]any   `json:"headers,omitempty"`
		Content     map[string]media `json:"content,omitempty"`
	}
	media struct {
		Schema *jsonschema.Schema `json:"schema,omitempty"`
		Item   *jsonschema.Schema `json:"x-item-schema,omitempty"` // of each event's data or each line
	}
)

// failures are the problems that routes answer with. Every other one is
// described as any.
var failed = map[int]struct{ name, says string }{
	http.StatusBadRequest:            {"BadRequest", "What was sent is not understood: `place` says which part, `remedy` what to send."},
	http.StatusUnauthorized:          {"NoToken", "There is no token, or none of the configuration's, or the session is over."},
	http.StatusForbidden:             {"MayNot", "The token may only look, or a cookie's request does not come from a page of this gateway, or there are no tokens and this is from another machine."},
	http.StatusNotFound:              {"NotFound", "What is named does not exist."},
	http.StatusConflict:              {"Conflict", "It cannot be done as things stand: `remedy` says what to do first."},
	http.StatusRequestEntityTooLarge: {"TooLarge", "The body is too large."},
	http.StatusUnprocessableEntity:   {"Unprocessable", "It is understood and makes no sense: `place` says which part."},
	http.StatusTooManyRequests:       {"TooManyTries", "Too many wrong tokens came from this address: none is looked at for a while."},
	http.StatusNotImplemented:        {"Missing", "This gateway was started without it."},
	http.StatusServiceUnavailable:    {"Unavailable", "Not now: `remedy` says when."},
}

const anyFailure = "Failed"

// makeDocument makes the description of all routes. A strict one allows no
// member that the types do not have; the published one is strict only for what
// callers send, as answers may gain members.
func makeDocument(t *testing.T, strict bool) []byte {
	t.Helper()
	s := schemas{t: t, all: map[string]*jsonschema.Schema{}, types: map[string]reflect.Type{}, strict: strict, read: map[string]bool{}}
	d := document{
		OpenAPI: "3.1.0",
		Info: map[string]any{
			"title": "Spillway for operators", "version": "1", "license": map[string]string{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "The listener `ops`, for the people who run the gateway; docs/admin.md is its guide. Without any token in the configuration, " +
				"whoever is on the same machine may look, and nobody may change anything. Answers may gain members.",
		},
		Servers: []map[string]string{{"url": "http://127.0.0.1:9090", "description": "the default of `ops` in the configuration"}},
		Paths:   map[string]map[string]*operation{},
		Components: components{
			Responses: map[string]response{anyFailure: {Description: "It went wrong: `detail` says how, and `remedy` what to do.", Content: s.problem()}},
			Security: map[string]map[string]string{
				"token":  {"type": "http", "scheme": "bearer", "description": "A token whose hash is in the configuration's admin.tokens."},
				"cookie": {"type": "apiKey", "in": "cookie", "name": cookieName, "description": "What POST /admin/v1/session gives for a token."},
				"page":   {"type": "apiKey", "in": "header", "name": headerIntent, "description": "1, beside the cookie, for all but GET; a browser must say that the page is of the same origin."},
			},
		},
	}
	for status, f := range failed {
		r := response{Description: f.says, Content: s.problem()}
		if status == http.StatusTooManyRequests {
			r.Headers = map[string]any{"Retry-After": map[string]any{"description": "Seconds until one is looked at again.", "schema": map[string]any{"type": "integer", "minimum": 1}}}
		}
		d.Components.Responses[f.name] = r
	}
	routes := setup(t, base, true).surface.routes()
	for _, r := range routes { // before the answers: a type of both is as strict as what is sent
		if takes := descriptions[r.pattern].takes; takes != nil {
			s.of(takes, true)
		}
	}
	for _, r := range routes {
		method, at := templated(r.pattern)
		if d.Paths[at] == nil {
			d.Paths[at] = map[string]*operation{}
		}
		d.Paths[at][strings.ToLower(method)] = s.operation(r)
	}
	d.Components.Schemas = s.all
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(b.Bytes(), []byte(`"#/$defs/`), []byte(`"#/components/schemas/`))
}

var wildcard = regexp.MustCompile(`\{([a-z_]+)(?:\.\.\.)?\}`)

// templated is the method and path of a pattern, as OpenAPI writes them.
func templated(pattern string) (method, at string) {
	method, at, _ = strings.Cut(pattern, " ")
	return method, wildcard.ReplaceAllString(strings.ReplaceAll(at, "{$}", ""), "{$1}")
}

// schemas are those of all types, by name.
type schemas struct {
	t      *testing.T
	all    map[string]*jsonschema.Schema
	types  map[string]reflect.Type
	strict bool
	source jsonschema.Reflector // the comments of what was read
	read   map[string]bool      // packages
}

// of gives the schema of a value's type, and keeps those of the types in it.
// Closed ones allow no other members.
func (s *schemas) of(v any, closed bool) *jsonschema.Schema {
	r := jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: !closed && !s.strict, LookupComment: s.comment,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[jsontext.Value]() {
				return &jsonschema.Schema{Description: "Any JSON."}
			}
			return nil
		},
		Namer: func(t reflect.Type) string {
			if t.Name() == "" {
				return ""
			}
			if other, ok := s.types[t.Name()]; ok && other != t {
				s.t.Errorf("%v and %v have one name in openapi.json: rename one", other, t)
			}
			s.types[t.Name()] = t
			return t.Name()
		},
	}
	out := r.Reflect(v)
	for name, x := range out.Definitions {
		if s.all[name] == nil {
			s.all[name] = x
		}
	}
	out.Version, out.Definitions = "", nil
	return out
}

func (s *schemas) problem() map[string]media {
	return map[string]media{"application/problem+json": {Schema: s.of(Problem{}, false)}}
}

func (s *schemas) operation(r route) *operation {
	d := descriptions[r.pattern]
	method, at := templated(r.pattern)
	o := &operation{
		ID: operationID(method, at), Summary: d.says, Tags: []string{strings.Split(strings.TrimPrefix(at, "/"), "/")[0]},
		Security: security(method, r.need), Responses: map[string]response{"default": {Ref: "#/components/responses/" + anyFailure}},
	}
	for _, p := range d.params {
		where := map[string]any{"name": p.name, "in": "query", "description": p.says, "schema": s.of(p.of, false)}
		if inPath(r.pattern, p.name) {
			where["in"], where["required"] = "path", true
		}
		o.Parameters = append(o.Parameters, where)
	}
	if d.takes != nil {
		o.Body = &body{!d.orNone, map[string]media{"application/json": {Schema: s.of(d.takes, true)}}}
	}
	for _, status := range d.problems(r.need) {
		o.Responses[strconv.Itoa(status)] = response{Ref: "#/components/responses/" + failed[status].name}
	}
	for _, a := range d.answers {
		x := response{Description: a.says}
		switch {
		case a.media == "" && a.of != nil:
			x.Content = map[string]media{"application/json": {Schema: s.of(a.of, false)}}
		case a.media != "" && a.of != nil:
			x.Content = map[string]media{a.media: {Schema: &jsonschema.Schema{Type: "string"}, Item: s.of(a.of, false)}}
		case a.media != "":
			x.Content = map[string]media{a.media: {Schema: &jsonschema.Schema{Type: "string"}}}
		}
		o.Responses[strconv.Itoa(a.status)] = x
	}
	return o
}

// problems are the statuses of the problems that a route answers with.
func (d *description) problems(n need) []int {
	list := append([]int{http.StatusBadRequest}, d.fails...) // a parameter that it does not take
	if n != aPage {                                          // what needs nothing is refused to a page under another name
		list = append(list, http.StatusForbidden, http.StatusTooManyRequests)
	}
	if n == nothing || n == toLook || n == toChange {
		list = append(list, http.StatusUnauthorized)
	}
	if d.takes != nil {
		list = append(list, http.StatusRequestEntityTooLarge)
	}
	return list
}

func security(method string, n need) []map[string][]string {
	switch {
	case n == nothing || n == aPage || n == toLogIn:
		return []map[string][]string{}
	case method == http.MethodGet:
		return []map[string][]string{{"token": {}}, {"cookie": {}}}
	}
	return []map[string][]string{{"token": {}}, {"cookie": {}, "page": {}}}
}

// operationID is the method and the words of the path: getRefusals.
func operationID(method, at string) string {
	id := strings.ToLower(method)
	for word := range strings.FieldsFuncSeq(strings.TrimPrefix(at, "/admin/v1"), func(r rune) bool { return strings.ContainsRune("/{}._-", r) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// comment gives that of a type or of its field, from the source of its package.
func (s *schemas) comment(u reflect.Type, field string) string {
	const module = "github.com/spillway-llm/spillway"
	pkg, dir := u.PkgPath(), "."
	if !strings.HasPrefix(pkg, module) {
		return ""
	}
	if own := reflect.TypeFor[Surface]().PkgPath(); pkg != own {
		dir = "../.." + strings.TrimPrefix(pkg, module)
	}
	if !s.read[pkg] {
		s.read[pkg] = true
		if err := s.source.AddGoComments(module+"/internal/ops", dir, jsonschema.WithFullComment()); err != nil {
			s.t.Fatal(err)
		}
	}
	name := pkg + "." + u.Name()
	if field != "" {
		name += "." + field
	}
	return strings.Join(strings.Fields(s.source.CommentMap[name]), " ")
}
