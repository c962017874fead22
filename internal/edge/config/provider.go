package config

import (
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Provider is one upstream: an endpoint to call, or a simulated one.
type Provider struct {
	// What it speaks: openai and all that is compatible, anthropic, gemini, azure, or simulated for an upstream inside this process. Default openai.
	Kind Kind `yaml:"kind"`
	// Where the API begins, such as https://api.example.com/v1. Needed, but for kind simulated.
	BaseURL string `yaml:"base_url"`
	// Version of the API that is asked for, in the form of the kind. Only for anthropic and azure. Default 2023-06-01 for anthropic, 2024-10-21 for azure.
	APIVersion string `yaml:"api_version"`
	// Whether an endpoint of kind openai offers the Responses API. Default false: responses are translated to chat completions.
	Responses bool `yaml:"responses"`
	// Sent as the kind wants it, for openai as a bearer token. Default none. Write ${NAME} to take it from the environment.
	APIKey Secret `yaml:"api_key"`
	// Keys that take turns, in place of api_key; each has limits of its own. Default none.
	APIKeys []Secret `yaml:"api_keys"`
	// Headers added to every call. Default none.
	Headers map[string]Secret `yaml:"headers"`
	// HTTP version of the calls: 1.1, 2, or auto for what the endpoint offers. Default auto.
	HTTP HTTP `yaml:"http"`
	// Whether a stream may be asked for its usage. Default true. Set it to false for an endpoint that refuses stream_options; usage is then estimated.
	StreamUsage bool `yaml:"stream_usage"`
	// What happens to a call whose caller leaves: cancel, or drain to read it to its end, for an endpoint that bills it all the same and tells its usage at the end. Default cancel. Drained calls hold their slot.
	OnDisconnect Disconnect `yaml:"on_disconnect"`
	// What a call that was cancelled before its first byte is taken to cost: none, input for its input, or delivered for what was delivered, which is nothing. Default delivered.
	BillOnCancel Bill `yaml:"bill_on_cancel"`
	// Where it stands, as a label of spillway_upstream_info and in the report of upstreams. Default none.
	Region string `yaml:"region"`
	// Time zone in which its day begins anew, for limits by the day, as an IANA name such as America/Los_Angeles. Default UTC.
	DayZone Zone `yaml:"day_zone"`
	// How long each part of a call may take.
	Timeouts Timeouts `yaml:"timeouts"`

	// Calls that a simulated upstream serves at once. Default 4.
	Slots int `yaml:"slots" jsonschema:"minimum=1,maximum=100000"`
	// Mean time that a simulated upstream takes. Default 0s: computed from the tokens.
	ServiceMean time.Duration `yaml:"service_mean"`
	// Seed of the randomness of a simulated upstream. Default 1.
	Seed int64 `yaml:"seed"`
}

// Kind is what a provider speaks.
type Kind string

const (
	OpenAI    Kind = "openai"
	Anthropic Kind = "anthropic"
	Gemini    Kind = "gemini"
	Azure     Kind = "azure"
	Simulated Kind = "simulated" // in the same process, for trying things out
)

func (k Kind) String() string { return string(k) }

func (Kind) choices() []string {
	return []string{string(OpenAI), string(Anthropic), string(Gemini), string(Azure), string(Simulated)}
}

// Disconnect is what happens to a call whose caller leaves.
type Disconnect string

const (
	Cancel Disconnect = "cancel"
	Drain  Disconnect = "drain"
)

func (d Disconnect) String() string { return string(d) }

func (Disconnect) choices() []string { return []string{string(Cancel), string(Drain)} }

// Bill is what a call that was cancelled before its first byte is taken to cost.
type Bill string

const (
	BillNone      Bill = "none"
	BillInput     Bill = "input"
	BillDelivered Bill = "delivered"
)

func (b Bill) String() string { return string(b) }

func (Bill) choices() []string {
	return []string{string(BillNone), string(BillInput), string(BillDelivered)}
}

// HTTP is the protocol version of upstream calls.
type HTTP string

const (
	HTTPAuto HTTP = "auto" // whatever the endpoint offers
	HTTP1    HTTP = "1.1"
	HTTP2    HTTP = "2" // over clear text too
)

func (h HTTP) String() string { return string(h) }

func (HTTP) choices() []string { return []string{string(HTTPAuto), string(HTTP1), string(HTTP2)} }

// Timeouts bound the parts of one upstream call. Each is above zero.
type Timeouts struct {
	// Until connected, TLS included. Default 5s.
	Dial time.Duration `yaml:"dial" jsonschema:"exclusiveMinimum=0"`
	// From the request sent to the answer's headers. Default 600s. Smaller fails slow answers that are not streamed.
	Headers time.Duration `yaml:"headers" jsonschema:"exclusiveMinimum=0"`
	// From dispatch to the first content of a stream. Default 120s.
	FirstToken time.Duration `yaml:"first_token" jsonschema:"exclusiveMinimum=0"`
	// Between two events of a stream. Default 60s. Smaller frees the slot of a stalled upstream sooner.
	Idle time.Duration `yaml:"idle" jsonschema:"exclusiveMinimum=0"`
	// The whole call. Default 3600s. Smaller cuts long answers off.
	Total time.Duration `yaml:"total" jsonschema:"exclusiveMinimum=0"`
	// How long a connection serves new calls, give or take a tenth, or off. Default 5m. Smaller follows a name that moves sooner, and connects more often.
	ConnectionAge Threshold `yaml:"connection_age" jsonschema:"exclusiveMinimum=0"`
}

func (p *Provider) setDefaults() {
	p.Kind, p.HTTP, p.StreamUsage, p.OnDisconnect, p.BillOnCancel = OpenAI, HTTPAuto, true, Cancel, BillDelivered
	p.Timeouts = Timeouts{
		Dial:       5 * time.Second,
		Headers:    600 * time.Second,
		FirstToken: 120 * time.Second,
		Idle:       60 * time.Second,
		Total:      3600 * time.Second,

		ConnectionAge: Threshold(5 * time.Minute),
	}
	p.Slots, p.Seed = 4, 1
}

// remote is every kind that is called over a network.
var remote = []Kind{OpenAI, Anthropic, Gemini, Azure}

// kindKeys are the keys that only some kinds of providers have.
var kindKeys = map[string][]Kind{
	"base_url": remote, "api_key": remote, "api_keys": remote, "headers": remote, "http": remote, "on_disconnect": remote, "bill_on_cancel": remote, "timeouts": remote,
	"stream_usage": {OpenAI, Azure}, "responses": {OpenAI}, "api_version": {Anthropic, Azure},
	"slots": {Simulated}, "service_mean": {Simulated}, "seed": {Simulated},
}

func (c *Config) checkProviders(d *document) {
	if len(c.Providers) == 0 {
		d.fail("providers", "at least one provider is needed, such as providers: {gpu: {base_url: http://127.0.0.1:8000/v1}}")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		path := join("providers", name)
		if !plainName(name) {
			d.fail(path, "a provider's name is 1 to %d letters, digits, dots, dashes and underscores", maxName)
		}
		c.Providers[name].check(d, path)
	}
}

func (p *Provider) check(d *document, path string) {
	for key, kinds := range kindKeys {
		if at := join(path, key); !slices.Contains(kinds, p.Kind) && d.wrote(at) {
			d.fail(at, "only for kind %s; this provider is %s", listed(kinds), p.Kind)
		}
	}
	if at := join(path, "api_version"); d.wrote(at) && !plainName(p.APIVersion) {
		d.fail(at, "not a version, such as 2024-10-21")
	}
	if p.Kind != Simulated {
		p.checkURL(d, path)
	}
	p.checkKeys(d, path)
	p.Headers = checkHeaders(d, join(path, "headers"), p.Headers, p.hasKey())
	checkLabel(d, join(path, "region"), p.Region)
	if _, err := p.DayZone.location(); err != nil {
		at := join(path, "day_zone")
		d.fail(at, "%s is %v", veil(d.quote(at, string(p.DayZone))), err)
	}
}

// listed names kinds in a sentence.
func listed(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " or " + names[n]
	}
	return names[0]
}

// checkURL never repeats the value: it may hold a credential.
func (p *Provider) checkURL(d *document, path string) {
	at := join(path, "base_url")
	if p.BaseURL == "" {
		if !d.wrote(at) {
			at = path
		}
		d.fail(at, "base_url is missing, such as base_url: http://127.0.0.1:8000/v1")
		return
	}
	u, err := url.Parse(p.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		d.fail(at, "not a URL that can be called; write it like https://api.example.com/v1")
	case u.User != nil:
		d.fail(at, "holds a user name or password; use api_key or headers for credentials")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		d.fail(at, "must not have a query or fragment")
	default:
		p.BaseURL = strings.TrimRight(p.BaseURL, "/")
	}
}

// ownHeaders are set by the gateway itself on every call, or belong to one
// connection.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeaders checks the headers of every call to one place, and returns them
// with names in canonical form, so that one written in another case cannot be
// sent twice. authorized says that a key sets one of them already.
func checkHeaders(d *document, path string, headers map[string]Secret, authorized bool) map[string]Secret {
	if headers == nil {
		return nil
	}
	canonical := make(map[string]Secret, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at := join(path, name)
		key := textproto.CanonicalMIMEHeaderKey(name)
		_, twice := canonical[key]
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			d.fail(at, "not a header name")
		case !httpguts.ValidHeaderFieldValue(string(headers[name])):
			d.fail(at, "the value holds characters that cannot be sent in a header, such as a line end")
		case slices.Contains(ownHeaders, key):
			d.fail(at, "is set by the gateway; remove it")
		case twice:
			d.fail(at, "written twice; header names do not differ by case")
		case key == "Authorization" && authorized:
			d.fail(at, "api_key already sets this header; keep one of the two")
		}
		canonical[key] = headers[name]
	}
	return canonical
}
