package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	hashOfShop = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	hashOfBank = "sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
	hashOfNew  = "sha256:baa5a0964d3320fbc0c6a922140453c8513ea24ab8fd0577034804a967248096"
)

// aliased is a file whose models share one queue by an alias.
const aliased = `
providers: {up: {base_url: http://h/v1, api_key: "${KEY}"}}
models:
  chat: {deployments: [{provider: up, name: gpu, concurrency: 4}, {provider: up}], queue: &queue {total: 70, per_tenant: 7}, degrade: [{name: short, max_output_tokens: 100}]}
  gpt-4.1: {deployments: [{provider: up}], queue: {<<: *queue, work: 1m}}
  other: {deployments: [{provider: up}], queue: *queue}
tenants:
  - {name: shop, keys: ["` + hashOfShop + `"], limits: {rpm: 10}}
  - {name: bank, keys: [{hash: "` + hashOfBank + `", name: ci}]}
`

func set(pairs ...string) Overlay {
	o := Overlay{}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i]] = jsontext.Value(pairs[i+1])
	}
	return o
}

func apply(t *testing.T, file string, o Overlay) (*Config, error) {
	t.Helper()
	o, _, err := Overlay(nil).With(o)
	if err != nil {
		return nil, err
	}
	return o.Apply("f.yaml", []byte(file), func(string) (string, bool) { return "canary", true })
}

func TestChangesTakeTheirPlace(t *testing.T) {
	c, err := apply(t, aliased, set(
		"models.chat.queue.total", "200",
		`models["gpt-4.1"].queue.low`, `"2s"`, `models[gpt-4.1].queue.high`, `"4s"`,
		"models.chat.deployments[gpu].concurrency", `"auto"`,
		"models.chat.deployments[up/chat].weight", "3",
		"models.chat.degrade[short].max_output_tokens", "50",
		"models.chat.degrade[last]", `{"drop":["logprobs"]}`,
		"tenants[shop].limits.rpm", "5",
		"tenants[shop].models.chat.tpm", "1000",
		"tenants[new]", `{"keys":["`+hashOfNew+`"],"weight":2}`,
		"tenants[new].limits.rpm", "1",
		"classes.interactive", `{"max_wait":"3s"}`,
		"log.level", `"debug"`,
		"retry.percent", `"5%"`,
	))
	if err != nil {
		t.Fatal(err)
	}
	chat, four, other := c.Models["chat"], c.Models["gpt-4.1"], c.Models["other"]
	if q := chat.Queue; q.Total != 200 || q.PerTenant != 7 {
		t.Errorf("chat: %+v: what the file says beside it stays", q)
	}
	if q := other.Queue; q.Total != 70 {
		t.Errorf("other: %+v: it shares an alias with chat, not its change", q)
	}
	if q := four.Queue; q.Total != 70 || q.Low != 2*time.Second || q.High != 4*time.Second || q.Work != time.Minute {
		t.Errorf("gpt-4.1: %+v", q)
	}
	if d := chat.Deployments; !d[0].Auto || d[0].Name != "gpu" || d[1].Weight != 3 || d[1].Name != "up/chat" {
		t.Errorf("%+v: one is named in the file, one by the gateway", d)
	}
	if r := chat.Degrade; len(r) != 2 || r[0].MaxOutputTokens != 50 || r[1].Name != "last" {
		t.Errorf("%+v", r)
	}
	shop, bank, fresh := c.Tenant("shop"), c.Tenant("bank"), c.Tenant("new")
	if shop.Limits.RPM != 5 || shop.Models["chat"].TPM != 1000 || bank.Limits.RPM != 0 || len(c.Tenants) != 3 {
		t.Errorf("shop %+v, bank %+v", shop, bank)
	}
	if fresh == nil || fresh.Weight != 2 || fresh.Limits.RPM != 1 || len(fresh.Keys) != 1 {
		t.Errorf("new: %+v", fresh)
	}
	if i := c.Classes.Interactive; i.MaxWait != 3*time.Second || i.Deadline != 10*time.Minute || c.Log.Level != LevelDebug || c.Retry.Percent != 5 {
		t.Errorf("%+v", i)
	}
	if c.Providers["up"].APIKey != "canary" {
		t.Error("variables are not filled in any more")
	}
}

// Every fault of a change has the change's path, whatever the file's lines are.
func TestFaultsOfChanges(t *testing.T) {
	for _, tt := range []struct{ path, value, want string }{
		{"listen", `":1"`, "changes: listen: cannot be changed while running: it takes effect only at a restart"},
		{"limits.headers", `"64KiB"`, "restart"},
		{"limits", `{}`, "cannot be set as a whole"},
		{"models", `{}`, "cannot be set as a whole"},
		{"models.chat", `{}`, "cannot be set as a whole"},
		{"models.chat.deployments", `[]`, "cannot be set as a whole"},
		{"tenants", `[]`, "cannot be set as a whole"},
		{"providers.up.api_key", `"x"`, "changes: providers.up.api_key: cannot be changed while running: where calls go"},
		{"models.chat.deployments[gpu].provider", `"x"`, "where calls go is for the file"},
		{"models.chat.deployments[gpu].price", `"free"`, "prices are for the file"},
		{"tenants[bank].keys[ci].name", `"x"`, "changes: tenants[bank].keys[ci].name: a name cannot be changed while running"},
		{"admin.tokens", `[]`, "for the file to say"},
		{"traces.endpoint", `"http://h"`, "traces.sample can be changed"},
		{"models.chat.queue.totl", "1", `changes: models.chat.queue.totl: models.chat.queue has no setting "totl"; did you mean "total"?`},
		{"models.chat.queue.total", `"many"`, "changes: models.chat.queue.total: want a whole number, got text (many)"},
		{"models.chat.queue.total", `0`, "changes: models.chat.queue.total: 0 is below 1, the least"},
		{"models.chat.queue.total", `99999999999999999999`, "too large a number"},
		{"models.chat.queue.total.x", `1`, "is one value"},
		{"models.chat.queue.total", `5`, "f.yaml:4:"}, // per_tenant stands in the file
		{"models.chat.queue", `{"low":"2s"}`, "changes: models.chat.queue.low: needs high too"},
		{"models.nobody.queue.total", `1`, "changes: models.nobody.queue.total: there is no model of this name"},
		{"models.chatt.queue.total", `1`, `did you mean "chat"?; to add one, change the file`},
		{"models.chat.deployments[gpo].weight", `1`, `changes: models.chat.deployments[gpo]: there is none of this name; did you mean "gpu"?`},
		{"models.chat.deployments.gpu.weight", `1`, "write the name of the one that is meant in brackets"},
		{"tenants[shoop].limits.rpm", `1`, `changes: tenants[shoop]: there is none of this name; did you mean "shop"?; to add one`},
		{"tenants[shop].limits.rpm", `"${RPM}"`, "variables are filled in only in the file"},
		{"tenants[shop].limits.rpm", `{"a":"${RPM}"}`, "variables"},
		{"tenants[new]", `{"weight":2}`, "changes: tenants[new]: keys"},
		{"tenants[new]", `{"name":"old","keys":["` + hashOfNew + `"]}`, "the name in the value is not the one in the path"},
		{"tenants[new]", `{"keys":["` + hashOfShop + `"]}`, `changes: tenants[new].keys[0]: this key is also tenant "shop"'s (line 8)`},
		{"tenants[new]", `{"keys":["canary-key"]}`, "changes: tenants[new].keys[0]: not a hash"},
		{"tenants[new]", `7`, "want keys and values"},
		{"tenants[shop].budget.calendar", `true`, "limits nothing"},
		{"models.chat.fallback.error", `["nobody"]`, "changes: models.chat.fallback.error[0]: no model is called"},
		{"log.level", `"loud"`, `changes: log.level: "loud" is not one of debug`},
		{"", "1", "not a path"},
		{"a..b", "1", "not a path"},
		{"tenants[shop", "1", "not a path"},
		{"tenants[shop]limits", "1", "not a path"},
		{"log.level", `"debug" 1`, "not a JSON value"},
		{"log.level", `{`, "not a JSON value"},
	} {
		_, err := apply(t, aliased, set(tt.path, tt.value))
		var problems Problems
		if err == nil || !errors.As(err, &problems) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s = %s: %v, want %q", tt.path, tt.value, err, tt.want)
		} else if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), hashOfShop) {
			t.Errorf("%s: a secret in %v", tt.path, err)
		}
	}
}

// A quality that is written as one number cannot be changed for one task alone,
// and it is not silently left as it is.
func TestAChangeIsNeverLost(t *testing.T) {
	file := strings.Replace(aliased, "concurrency: 4", "quality: 0.5", 1)
	if _, err := apply(t, file, set("models.chat.deployments[gpu].quality.code", "0.9")); err == nil || !strings.Contains(err.Error(), "set that as a whole") {
		t.Error(err)
	}
	if c, err := apply(t, file, set("models.chat.deployments[gpu].quality", `{"code":0.9}`)); err != nil || c.Models["chat"].Deployments[0].Quality["code"] != 0.9 {
		t.Error(err)
	}
}

// A key that is written as its hash alone has an end too.
func TestEndOfAPlainKey(t *testing.T) {
	c, err := apply(t, aliased, set("tenants[shop].keys[2c26b46b68ff].until", `"2026-01-01T00:00:00Z"`))
	if err != nil {
		t.Fatal(err)
	}
	before, after := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, _, ok := c.Keys().Lookup(before, "foo"); !ok {
		t.Error("it is no key before its end")
	}
	if _, _, ok := c.Keys().Lookup(after, "foo"); ok {
		t.Error("it is a key after its end")
	}
}

// A file without models or tenants means some; they can be changed too.
func TestChangesOfWhatIsNotWritten(t *testing.T) {
	const file = "providers: {up: {base_url: http://h/v1}}"
	c, err := apply(t, file, set("models.*.queue.total", "5", "models.*.deployments[up/*].concurrency", "2"))
	if err != nil || c.Models["*"].Queue.Total != 5 || c.Models["*"].Deployments[0].Concurrency != 2 || !c.Open() {
		t.Errorf("%+v %v", c, err)
	}
	if _, err = apply(t, file, set("tenants[open].limits.rpm", "5")); err == nil || !strings.Contains(err.Error(), "nobody to limit") {
		t.Error(err)
	}
	if c, err = apply(t, file, set("tenants[a]", `{"keys":["`+hashOfNew+`"]}`)); err != nil || c.Open() || len(c.Tenants) != 1 {
		t.Errorf("%+v %v", c, err)
	}
}

// The later change wins, whichever of the two is the larger one.
func TestWith(t *testing.T) {
	var o Overlay
	step := func(missing string, want string, pairs ...string) {
		t.Helper()
		next, gone, err := o.With(set(pairs...))
		if err != nil || strings.Join(gone, " ") != missing {
			t.Fatalf("%v, missing %v", err, gone)
		}
		o = next
		if got := string(o.JSON()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	step("", `{"models.chat.queue.total":1}`, "models[chat].queue.total", "1")
	step("", `{"models.chat.queue":{"total":2},"models.chat.queue.low":"1s"}`, "models.chat.queue", `{"total":2}`, "models.chat.queue.low", `"1s"`)
	step("", `{"models.chat.queue":{"total":2},"models.chat.queue.low":"1s","models.chat.queue.total":3}`, "models.chat.queue.total", "3")
	step("", `{"models.chat.queue":{"total":2},"models.chat.queue.low":"1s"}`, "models.chat.queue.total", "null")
	step("models.chat.queue.total tenants[x]", `{"models.chat.queue":{"total":2},"models.chat.queue.low":"1s"}`, "models.chat.queue.total", "null", "tenants[x]", "null")
	step("", `{}`, "models.chat.queue", "null")

	// What is set only in parts is taken back as a whole, too.
	step("", `{"models.chat.deployments[gone].concurrency":1,"models.chat.deployments[gone].weight":2}`, "models.chat.deployments[gone].concurrency", "1", "models.chat.deployments[gone].weight", "2")
	step("", `{}`, "models.chat.deployments[gone]", "null")
	step("", `{"models.chat.queue.total":1}`, "models.chat.queue.total", "1")
	step("", `{}`, "models", "null")
	if _, _, err := o.With(set("tenants", "null")); err == nil {
		t.Error("every key that was made would end")
	}

	// So is what an older version knew, and this one does not.
	o["models.chat.queue.old"] = jsontext.Value("1")
	step("", `{}`, "models.chat.queue.old", "null")
	if _, _, err := o.With(set("log.level", `"info"`, "log[level]", `"info"`)); err == nil {
		t.Error("no such setting")
	}
	if _, _, err := o.With(set("models.chat.queue.total", "1", "models[chat].queue.total", "2")); err == nil || !strings.Contains(err.Error(), "is also written as") {
		t.Error(err)
	}
}
