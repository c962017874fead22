package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func names(ds []admit.Deployment) (names []string) {
	for _, d := range ds {
		names = append(names, d.Name)
	}
	return names
}

func TestLadderInTheCoresWords(t *testing.T) {
	c := good(t, "ladder")
	p := c.Policy()
	want := admit.LadderPolicy{
		Rungs: []admit.Rung{
			{Name: "no-logprobs", Kind: admit.RungFeatures},
			{Name: "trim", Kind: admit.RungCompute, Saving: 10},
			{Name: "int8", Kind: admit.RungCompute, Model: "chat@int8", Saving: 20},
			{Name: "smaller", Kind: admit.RungModel, Model: "small", Off: true},
			{Name: "recent-answer", Kind: admit.RungRecent},
		},
		Up: [3]int{40, 60, 60}, Down: 25, Stay: 5 * time.Second, Hold: 2 * time.Minute,
	}
	if got := p.Models[0].Ladder; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	rung := Rung{
		Name: "no-logprobs", Drop: []Feature{FeatureLogprobs}, Effort: EffortLow, MaxOutputTokens: 512, MaxTurns: 3, Enabled: true,
		Impact: "Shorter answers, and no probabilities.", Kind: admit.RungFeatures,
	}
	if got := c.Models["chat"].Degrade[0]; !reflect.DeepEqual(got, rung) {
		t.Errorf("%+v", got)
	}
	if got := c.Models["chat"].Degrade[4]; got.MaxAge != 10*time.Minute || !got.Enabled {
		t.Errorf("%+v", got)
	}
	core := admit.Policy{Models: []admit.Model{{}}}
	core.Defaults()
	if got := p.Models[2]; got.Name != "small" || !reflect.DeepEqual(got.Ladder, core.Models[0].Ladder) || c.Models["small"].Images || !c.Models["chat"].Images {
		t.Errorf("a model without a ladder: %+v", got)
	}
}

// The deployments of a precision rung serve nothing but degraded requests: they
// are in no other pool, and theirs is as the model's.
func TestPrecisionIsSetApart(t *testing.T) {
	c := good(t, "ladder")
	p := c.Policy()
	var pools []string
	for _, m := range p.Models {
		pools = append(pools, m.Name)
	}
	if want := []string{"chat", "chat@int8", "small"}; !slices.Equal(pools, want) {
		t.Fatalf("%v, want %v", pools, want)
	}
	own, apart := p.Models[0], p.Models[1]
	if got, want := names(own.Deployments), []string{"hosted/big-1", "gpu/big-1-fp8"}; !slices.Equal(got, want) { // no rung names fp8
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := names(apart.Deployments), []string{"gpu/big-1-int8", "second"}; !slices.Equal(got, want) || apart.Deployments[0].Concurrency != 3 {
		t.Errorf("%v, want %v", got, want)
	}
	if len(apart.Ladder.Rungs) > 0 {
		t.Errorf("a ladder below the ladder: %+v", apart.Ladder)
	}
	own.Name, own.Deployments, own.Ladder = apart.Name, apart.Deployments, apart.Ladder
	if !reflect.DeepEqual(own, apart) {
		t.Errorf("got  %+v\nwant %+v", apart, own)
	}
	for pool, want := range map[string]string{"chat": "chat", "chat@int8": "chat", "small": "small", "chat@fp8": "", "small@int8": "", "": "", "other": ""} {
		if name, m := c.ModelOf(pool); name != want || m != c.Models[want] {
			t.Errorf("%s is of %q", pool, name)
		}
	}
	if pool, ok := c.Pool("chat@int8"); ok {
		t.Errorf("a caller can name %s", pool)
	}
	for name, want := range map[string]int{"chat": 32, "chat@int8": 19} {
		if got := c.Simulation.Upstreams[name].Slots; got != want {
			t.Errorf("%s is simulated with %d slots, want %d", name, got, want)
		}
	}
}

func TestConsent(t *testing.T) {
	c := good(t, "ladder")
	bank, shop := c.Tenant("bank"), c.Tenant("shop")
	for model, want := range map[string]Consent{"chat": ConsentAny, "small": ConsentFeatures, "other": ConsentFeatures} {
		if got := bank.Consent(model); got != want {
			t.Errorf("bank for %s: %s, want %s", model, got, want)
		}
	}
	if got := shop.Consent("chat"); got != ConsentAsk {
		t.Errorf("shop: %s", got)
	}
	if got := good(t, "two-lines").Tenant(OpenTenant).Consent("x"); got != ConsentAsk {
		t.Errorf("open: %s", got)
	}
	// Consent alone does not lift the limits.
	if got, want := c.Policy().Tenants[0].Limits, (map[string]admit.Limits{"": {Requests: 60}, "small": {Requests: 5}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The sketch in the design loads as it stands, but for a real hash and a model
// that it names and does not describe.
func TestSketch(t *testing.T) {
	data, err := os.ReadFile("testdata/good/sketch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(`degrade: \[\{name: no-logprobs, drop: \[logprobs\]\}, \{name: short-history, max_turns: 3\}`); !want.Match(data) || !strings.Contains(string(data), "budget: {hour: 20, day: 100}") {
		t.Fatal("not the sketch")
	}
	p := good(t, "sketch").Policy()
	var rungs []string
	for _, r := range p.Models[0].Ladder.Rungs {
		rungs = append(rungs, r.Name+" "+r.Kind.String())
	}
	if want := []string{"no-logprobs features", "short-history features", "trim compute", "int8 compute", "smaller model", "recent-answer recent"}; !slices.Equal(rungs, want) {
		t.Errorf("%v", rungs)
	}
	if got := names(p.Models[0].Deployments); !slices.Equal(got, []string{"hosted/big-1"}) {
		t.Errorf("%v", got)
	}
	if got := names(p.Models[1].Deployments); p.Models[1].Name != "chat-large@int8" || !slices.Equal(got, []string{"gpu/big-1-int8"}) {
		t.Errorf("%v", got)
	}
	if got := p.Tenants[0].Budgets.All.Limits; got != [4]int64{admit.Hour: 20 * dollar, admit.Day: 100 * dollar} {
		t.Errorf("%v", got)
	}
}
