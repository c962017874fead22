package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func good(t *testing.T, name string) *Config {
	t.Helper()
	data, err := os.ReadFile("testdata/good/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("testdata/good/"+name+".yaml", data, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("spillway.yaml", []byte(text), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFullFileGivesThePolicyItSays(t *testing.T) {
	c := good(t, "full")
	got := c.Policy()
	want := &admit.Policy{
		Observe: true,
		Classes: [admit.NumClasses]admit.ClassPolicy{
			admit.Interactive: {Deadline: 10 * time.Second, MaxWait: 2 * time.Second, Floor: 5, Confidence: 95},
			admit.Standard:    {Floor: -1}, // 0 was written: none
			admit.Batch:       {Deadline: time.Hour},
			admit.Speculative: {Floor: -1}, // none is its default
		},
		Retry: admit.RetryPolicy{Percent: -1, Reserve: -1, Attempts: 1},
		Models: []admit.Model{
			{Name: "*", Deployments: []admit.Deployment{{Name: "gpu/*", Concurrency: 1}}},
			{
				Name: "chat",
				Deployments: []admit.Deployment{
					{Name: "hosted/big-1", Concurrency: 64},
					{Name: "gpu/big-1-int8", Concurrency: 16},
					{Name: "gpu/big-1-int8#2", Concurrency: 2},
				},
				Queue: admit.QueuePolicy{
					PerTenant: 10, Total: 100, Bytes: 1 << 30, Work: 5 * time.Minute, Low: time.Second, High: 4 * time.Second,
					DepthLow: 20, DepthHigh: 80, Order: admit.LIFO,
				},
				Prior: admit.Prior{First: 100 * time.Millisecond, PerInput: 10 * time.Microsecond, PerOutput: 5 * time.Millisecond, Output: 50},
			},
			{
				Name:        "gpt-4.1",
				Deployments: []admit.Deployment{{Name: "local/gpt-4.1", Concurrency: 8}}, // as many as it has slots
				Queue:       admit.QueuePolicy{PerTenant: 50, Total: 50},                 // per_tenant follows a smaller total
			},
		},
		Tenants: []admit.Tenant{
			{
				Name: "bank", Weight: 3, LowTier: true, Concurrency: 50,
				Limits: map[string]admit.Limits{"chat": {Requests: 600, Tokens: 400_000}, "": {Requests: 60}},
			},
			{Name: "shop"},
		},
	}
	want.Defaults()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestFullFileGivesTheSettingsItSays(t *testing.T) {
	c := good(t, "full")
	if c.Listen != "127.0.0.1:8080" || c.Ops != "[::1]:9090" || c.Drain != 90*time.Second || c.Log.Level != LevelWarn || c.Open() {
		t.Errorf("%+v", c)
	}
	if want := (Limits{Body: 1 << 20, Headers: 8192, Event: 1_500_000, WriteStall: 5 * time.Second}); c.Limits != want {
		t.Errorf("limits: %+v, want %+v", c.Limits, want)
	}
	times := Timeouts{Dial: time.Second, Headers: 2 * time.Second, FirstToken: 3 * time.Second, Idle: 4 * time.Second, Total: 5 * time.Second, ConnectionAge: Threshold(6 * time.Second)}
	hosted := Provider{
		Kind: OpenAI, BaseURL: "https://api.example.com/v1", APIKey: "sk-from-env",
		Headers: map[string]Secret{"X-Foo": "bar", "X-Price": "${5}"}, HTTP: HTTP1, OnDisconnect: Cancel, BillOnCancel: BillDelivered, Timeouts: times, Slots: 4, Seed: 1,
	}
	if got := *c.Providers["hosted"]; !reflect.DeepEqual(got, hosted) {
		t.Errorf("hosted: %#v", got)
	}
	times.Dial = 9 * time.Second // what stands beside << is stronger
	if gpu := c.Providers["gpu"]; gpu.Timeouts != times || gpu.BaseURL != "http://127.0.0.1:8000/v1" || !gpu.StreamUsage || gpu.HTTP != HTTPAuto {
		t.Errorf("gpu: %#v", gpu)
	}
	if p := c.Providers["local"]; p.Kind != Simulated || p.Slots != 8 || p.ServiceMean != time.Second || p.Seed != 7 {
		t.Errorf("local: %#v", p)
	}
	bank, shop := c.Tenant("bank"), c.Tenant("shop")
	if bank.DefaultClass != admit.Standard || !bank.MayUse(admit.Batch) || bank.MayUse(admit.Interactive) {
		t.Errorf("bank: %+v", bank)
	}
	if shop.DefaultClass != admit.Batch {
		t.Errorf("default class %v is not one shop may use", shop.DefaultClass)
	}
	if c.Tenant("nobody") != nil {
		t.Error("an unknown tenant")
	}
	for model, want := range map[string]string{"chat": "chat", "gpt-4.1": "gpt-4.1", "anything": "*", "": "*"} {
		if pool, ok := c.Pool(model); !ok || pool != want {
			t.Errorf("pool of %q is %q, want %q", model, pool, want)
		}
	}
}

func TestTwoLinesAreEnough(t *testing.T) {
	c := good(t, "two-lines")
	if !c.Open() || c.Listen != "127.0.0.1:8080" || c.Ops != "127.0.0.1:9090" || c.Admission != Enforce {
		t.Errorf("%+v", c)
	}
	m := c.Models[CatchAll]
	if len(c.Models) != 1 || m == nil {
		t.Fatalf("models: %+v", c.Models)
	}
	if want := []Deployment{{Provider: "gpu", Concurrency: 16, Name: "gpu/*", Weight: 1, State: Enabled}}; !reflect.DeepEqual(m.Deployments, want) {
		t.Errorf("deployments %+v, want %+v: the caller's model name is forwarded", m.Deployments, want)
	}
	want := &admit.Policy{
		Models:  []admit.Model{{Name: "*", Deployments: []admit.Deployment{{Name: "gpu/*", Concurrency: 16}}}},
		Tenants: []admit.Tenant{{Name: OpenTenant}},
	}
	for _, k := range []admit.Class{admit.Interactive, admit.Speculative} {
		want.Classes[k].Floor = -1 // none, which is also the default
	}
	want.Defaults()
	if got := c.Policy(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v: the core's own defaults", got, want)
	}
	if open := c.Tenant(OpenTenant); len(open.Classes) != admit.NumClasses || open.DefaultClass != admit.Interactive {
		t.Errorf("open tenant: %+v", open)
	}
	if c := good(t, "simulated"); c.Models[CatchAll].Deployments[0].Concurrency != 4 {
		t.Errorf("a simulated upstream with 4 slots gets %+v", c.Models[CatchAll])
	}
}

func TestPoolWithoutCatchAll(t *testing.T) {
	c := parse(t, "providers: {a: {base_url: http://h/v1}}\nmodels: {chat: {deployments: [{provider: a}]}}")
	if pool, ok := c.Pool("other"); ok {
		t.Errorf("other is served by %q", pool)
	}
}

func TestDeploymentNamesAreUnique(t *testing.T) {
	c := parse(t, "providers: {a: {base_url: http://h/v1}}\nmodels: {chat: {deployments: [{provider: a, model: x}, {provider: a, model: x}, {provider: a, model: 'x#2'}]}}")
	var names []string
	for _, d := range c.Models["chat"].Deployments {
		names = append(names, d.Name)
	}
	if want := []string{"a/x", "a/x#2", "a/x#2#2"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestLoopback(t *testing.T) {
	for listen, open := range map[string]bool{
		"127.0.0.1:0": true, "localhost:80": true, "[::1]:80": true, "127.9.9.9:80": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "example.com:80": false,
	} {
		text := fmt.Sprintf("listen: %q\nproviders: {a: {base_url: http://h/v1}}\n", listen)
		if _, err := Parse("f", []byte(text), testEnv); (err == nil) != open {
			t.Errorf("%s without tenants: %v", listen, err)
		}
		text += "tenants: [{name: a, keys: [" + HashKey("k") + "]}]"
		if c, err := Parse("f", []byte(text), testEnv); err != nil || c.Open() {
			t.Errorf("%s with a tenant: %v", listen, err)
		}
	}
}

// B186: whatever becomes a metric label is short and printable.
func TestNamesFitLabels(t *testing.T) {
	long := strings.Repeat("n", maxName+1)
	for _, text := range []string{
		"providers: {" + long + ": {base_url: http://h/v1}}",
		"providers: {a: {base_url: http://h/v1}}\nmodels: {" + long + ": {deployments: [{provider: a}]}}",
		"providers: {a: {base_url: http://h/v1}}\nmodels: {\"a\\nb\": {deployments: [{provider: a}]}}",
		"providers: {a: {base_url: http://h/v1}}\ntenants: [{name: " + long + ", keys: [" + HashKey("k") + "]}]",
	} {
		if _, err := Parse("f", []byte(text), testEnv); err == nil || !strings.Contains(err.Error(), "name is 1 to 128") {
			t.Errorf("%.60s…: %v", text, err)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	c := good(t, "full")
	p := c.Providers["hosted"]
	encoded, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", *p, *p, *p, p.APIKey), string(encoded), p.APIKey.LogValue().String()} {
		if strings.Contains(text, "sk-from-env") || strings.Contains(text, "bar") || !strings.Contains(text, hidden) {
			t.Error(text)
		}
	}
}

func TestRestart(t *testing.T) {
	const base = "providers: {a: {base_url: http://h/v1}}\n"
	for text, want := range map[string][]string{
		"":                                nil,
		"drain: 1s\nadmission: observe":   nil,
		"listen: 127.0.0.1:1":             {"listen"},
		"ops: 127.0.0.1:1":                {"ops"},
		"limits: {headers: 1MiB}":         {"limits.headers"},
		"limits: {body: 1MiB}":            nil,
		"ledger: {keep: 30d}":             {"ledger"},
		"ledger: {keep: 400d}":            nil,
		"listen: 127.0.0.1:1\nops: '1:1'": {"listen", "ops"},
	} {
		if got := parse(t, base+text).Restart(parse(t, base)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Setenv("LISTEN", "127.0.0.1:1234")
	t.Setenv("HOSTED_API_KEY", "k")
	t.Setenv("BASE", "http://h")
	c, err := Load("testdata/good/full.yaml")
	if err != nil || c.Listen != "127.0.0.1:1234" {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := Load("testdata/none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
