package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const exampleFile = "../../../docs/examples/many-upstreams.yaml"

func readExample(t *testing.T, file string) (string, *Config) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(file, data, func(name string) (string, bool) { return "https://example.com/" + name, true })
	if err != nil {
		t.Fatal(err)
	}
	return string(data), c
}

func TestExampleOfManyUpstreams(t *testing.T) {
	_, c := readExample(t, exampleFile)
	p := c.PolicyAt(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))
	m := p.Models[0]
	if m.Name != "chat-large" || m.Balance != admit.Score || len(m.Deployments) != 4 || m.Breaker.Total.Open >= 0 {
		t.Fatalf("%+v", m)
	}
	own, us, spare := m.Deployments[0], m.Deployments[1], m.Deployments[3]
	if !own.Auto || own.Most != 128 || own.Tier != 0 || len(own.Keys) != 1 || own.Keys[0] != (admit.Quota{}) {
		t.Errorf("own: %+v", own)
	}
	key := admit.Quota{Requests: 5000, Tokens: 2_000_000, Daily: 400_000_000, Midnight: 7 * time.Hour}
	if us.Auto || us.Tier != 1 || !reflect.DeepEqual(us.Keys, []admit.Quota{key, key}) || us.Price.Input != 1_250_000 || us.Price.Output != 10_000_000 {
		t.Errorf("us: %+v", us)
	}
	if !spare.Reserve || spare.Price.Request != 1000 {
		t.Errorf("spare: %+v", spare)
	}
	if got := m.Fallback[admit.CauseError]; !reflect.DeepEqual(got, []string{"chat-small", "chat-long"}) {
		t.Errorf("fallback: %v", got)
	}
}

func TestExampleOfBudgets(t *testing.T) {
	_, c := readExample(t, "../../../docs/examples/budgets.yaml")
	p := c.PolicyAt(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))
	if p.Budget.Limits != [4]int64{admit.Day: 500 * dollar, admit.Month: 9000 * dollar} || p.Budget.Zone != 2*time.Hour {
		t.Errorf("of all: %+v", p.Budget)
	}
	chat, apart := p.Models[0], p.Models[1]
	if len(chat.Ladder.Rungs) != 6 || len(chat.Deployments) != 1 || apart.Name != "chat@int8" || len(apart.Deployments) != 1 || !apart.Deployments[0].Price.Known {
		t.Errorf("%+v\n%+v", chat, apart)
	}
	if c.Models["chat"].Deployments[0].Price.Source != PriceTable || c.Models["small"].Deployments[0].Price.Source != PriceFile {
		t.Error("prices come from elsewhere")
	}
	shop := c.Tenant("shop")
	if shop.Consent("chat") != ConsentAny || shop.Consent("small") != ConsentFeatures || shop.Keys[1].Name != "nightly" {
		t.Errorf("%+v", shop)
	}
}

// The good test files and the example write every key there is, so that each is
// read by a test.
func TestEveryKeyIsWrittenInATest(t *testing.T) {
	text, _ := readExample(t, exampleFile)
	files, _ := filepath.Glob("testdata/good/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	var walk func(reflect.Type)
	walk = func(u reflect.Type) {
		switch u.Kind() {
		case reflect.Map, reflect.Slice, reflect.Pointer:
			walk(u.Elem())
		case reflect.Struct:
			for name, f := range fieldsOf(u) {
				if !strings.Contains(text, name+":") {
					t.Errorf("%v: %s is not written", u, name)
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}
