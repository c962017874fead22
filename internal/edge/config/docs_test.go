package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// docSections says for each heading of docs/configuration.md which type it
// describes, and where an example of it stands in docExample.
var docSections = map[string]struct {
	of reflect.Type
	at []any
}{
	"":                                       {reflect.TypeFor[Config](), nil},
	"limits":                                 {reflect.TypeFor[Limits](), []any{"limits"}},
	"providers.<name>":                       {reflect.TypeFor[Provider](), []any{"providers", "gpu"}},
	"providers.<name>.timeouts":              {reflect.TypeFor[Timeouts](), []any{"providers", "gpu", "timeouts"}},
	"providers.<simulated>":                  {reflect.TypeFor[Provider](), []any{"providers", "local"}},
	"models.<name>":                          {reflect.TypeFor[Model](), []any{"models", "chat"}},
	"models.<name>.deployments[]":            {reflect.TypeFor[Deployment](), []any{"models", "chat", "deployments", 0}},
	"models.<name>.deployments[].price":      {reflect.TypeFor[Price](), []any{"models", "chat", "deployments", 0, "price"}},
	"models.<name>.deployments[].price.long": {reflect.TypeFor[LongPrice](), []any{"models", "chat", "deployments", 0, "price", "long"}},
	"models.<name>.degrade[]":                {reflect.TypeFor[Rung](), []any{"models", "chat", "degrade", 0}},
	"models.<name>.ladder":                   {reflect.TypeFor[Ladder](), []any{"models", "chat", "ladder"}},
	"budget":                                 {reflect.TypeFor[Budget](), []any{"budget"}},
	"budget.hold":                            {reflect.TypeFor[Hold](), []any{"budget", "hold"}},
	"budget.raise":                           {reflect.TypeFor[Raise](), []any{"budget", "raise"}},
	"answers":                                {reflect.TypeFor[Answers](), []any{"answers"}},
	"tenants[].keys[]":                       {reflect.TypeFor[Key](), []any{"tenants", 0, "keys", 0}},
	"tenants[].budgets":                      {reflect.TypeFor[Budgets](), []any{"tenants", 0, "budgets"}},
	"tenants[].models.<name>":                {reflect.TypeFor[ModelRates](), []any{"tenants", 0, "models", "chat"}},
	"models.<name>.score":                    {reflect.TypeFor[Score](), []any{"models", "sim", "score"}},
	"models.<name>.fallback":                 {reflect.TypeFor[Fallback](), []any{"models", "chat", "fallback"}},
	"models.<name>.breaker":                  {reflect.TypeFor[Breaker](), []any{"models", "chat", "breaker"}},
	"models.<name>.breaker.first_token":      {reflect.TypeFor[Latency](), []any{"models", "chat", "breaker", "first_token"}},
	"retry.failover":                         {reflect.TypeFor[Failover](), []any{"retry", "failover"}},
	"models.<name>.queue":                    {reflect.TypeFor[Queue](), []any{"models", "chat", "queue"}},
	"models.<name>.prior":                    {reflect.TypeFor[Prior](), []any{"models", "chat", "prior"}},
	"classes":                                {reflect.TypeFor[ClassPolicy](), []any{"classes", "standard"}},
	"retry":                                  {reflect.TypeFor[Retry](), []any{"retry"}},
	"scale_up":                               {reflect.TypeFor[ScaleUp](), []any{"scale_up"}},
	"tenants[]":                              {reflect.TypeFor[Tenant](), []any{"tenants", 0}},
	"tenants[].limits":                       {reflect.TypeFor[Rates](), []any{"tenants", 0, "limits"}},
	"ledger":                                 {reflect.TypeFor[Ledger](), []any{"ledger"}},
	"admin":                                  {reflect.TypeFor[Admin](), []any{"admin"}},
	"admin.tokens[]":                         {reflect.TypeFor[AdminToken](), []any{"admin", "tokens", 0}},
	"log":                                    {reflect.TypeFor[Log](), []any{"log"}},
	"traces":                                 {reflect.TypeFor[Traces](), []any{"traces"}},
	"simulation":                             {reflect.TypeFor[Simulation](), []any{"simulation"}},
	"simulation.upstreams.<name>":            {reflect.TypeFor[SimulatedUpstream](), []any{"simulation", "upstreams", "chat"}},
	"simulation.callers[]":                   {reflect.TypeFor[SimulatedCaller](), []any{"simulation", "callers", 0}},
}

const docExample = `
limits: {}
providers: {gpu: {base_url: http://h/v1, timeouts: {}}, local: {kind: simulated}}
models: {chat: {deployments: [{provider: gpu, price: {input: 1, output: 2, long: {above: 10}}}], breaker: {first_token: {}}, fallback: {}, queue: {}, prior: {}, degrade: [{name: r, drop: [logprobs]}], ladder: {}}, sim: {deployments: [{provider: local, price: free}], balance: score, score: {}}}
budget: {day: 1, hold: {}, raise: {day: 2, until: 2026-12-24T00:00:00Z}}
answers: {}
classes: {standard: {}}
retry: {failover: {}}
scale_up: {webhook: http://h/}
tenants: [{name: t, keys: [{hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}], limits: {}, budgets: {}, models: {chat: {}}}]
ledger: {}
admin: {tokens: [{name: o, hash: "sha256:0000000000000000000000000000000000000000000000000000000000000001"}]}
log: {}
traces: {endpoint: http://h/v1/traces}
simulation: {upstreams: {chat: {}}, callers: [{}]}
`

// Every key stands in the documentation, and writing the default it gives
// there changes nothing.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("^##+ `(.+)`$")
	row := regexp.MustCompile("^\\| (`[a-z_`, ]+`) \\| *(.*?) *\\| (.+) \\|$")
	seen := map[reflect.Type][]string{}
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			section = m[1]
			if _, ok := docSections[section]; !ok {
				t.Fatalf("heading %q is unknown", section)
			}
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		s := docSections[section]
		var keys []string
		for key := range strings.SplitSeq(m[1], ", ") {
			keys = append(keys, strings.Trim(key, "`"))
		}
		seen[s.of] = append(seen[s.of], keys...)
		if value, ok := strings.CutPrefix(m[2], "`"); ok && value != "*`" {
			checkDefault(t, s.at, keys, strings.TrimSuffix(value, "`"))
		}
	}
	for name, s := range docSections {
		known := fieldsOf(s.of)
		for _, key := range seen[s.of] {
			if _, ok := known[key]; !ok {
				t.Errorf("%s: %s is documented but unknown", name, key)
			}
			delete(known, key)
		}
		for key := range known {
			t.Errorf("%s: %s is not documented", name, key)
		}
	}
}

func checkDefault(t *testing.T, at []any, keys []string, value string) {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(docExample), &tree); err != nil {
		t.Fatal(err)
	}
	node := any(tree)
	for _, step := range at {
		switch s := step.(type) {
		case string:
			node = node.(map[string]any)[s]
		case int:
			node = node.([]any)[s]
		}
	}
	for _, key := range keys {
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			t.Fatal(err)
		}
		node.(map[string]any)[key] = v
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	got, want := parse(t, string(text)), parse(t, docExample)
	got.origins, want.origins = nil, nil // more is written, nothing else is meant
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v: %s is documented as the default, but it is another", at, keys, value)
	}
}
