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
