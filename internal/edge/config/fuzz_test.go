package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Whatever the text, there is a whole configuration or a list of problems with
// places inside the text, and the core gets a policy it can use.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("f", []byte(text), testEnv)
		if err != nil {
			var problems Problems
			if c != nil || !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%v beside %v", c, err)
			}
			for _, p := range problems {
				if p.File == "f" && p.Line > strings.Count(text, "\n")+2 || p.What == "" {
					t.Errorf("%q", p)
				}
			}
			if strings.Contains(err.Error(), "sk-from-env") {
				t.Error("a secret in the message")
			}
			return
		}
		p := c.Policy()
		if len(p.Models) == 0 || len(p.Tenants) == 0 {
			t.Fatalf("%+v", p)
		}
		names, pools := map[string]bool{}, map[string]bool{}
		counted := c.counted()
		for _, m := range p.Models {
			model, of := c.ModelOf(m.Name)
			if pools[m.Name] || of == nil || len(m.Ladder.Rungs) > admit.MaxRungs {
				t.Errorf("%+v", m)
			}
			pools[m.Name] = true
			if q := m.Queue; len(m.Deployments) == 0 || q.PerTenant > q.Total || q.Low > q.High || q.DepthLow > q.DepthHigh {
				t.Errorf("%+v", m)
			}
			for _, d := range m.Deployments {
				if names[d.Name] || d.Concurrency < 1 {
					t.Errorf("%+v", d)
				}
				names[d.Name] = true
				if x := d.Price; min(x.Input, x.Output, x.Cached, x.CacheWrite, x.Reasoning, x.Request, x.Long.Input, x.Long.Output, x.Long.Cached, x.Long.CacheWrite, x.Long.Reasoning) < 0 || !x.Known && counted[model] != "" {
					t.Errorf("%+v", d)
				}
			}
		}
	})
}

// Whatever is changed, the result is one that a file could have: it is refused
// with problems that have places, or the whole is sound and the file's own parts
// that nobody may change are as they were.
func FuzzChange(f *testing.F) {
	for _, seed := range [][2]string{
		{"models.chat.queue.total", "200"}, {"tenants[shop].limits.rpm", "null"}, {"tenants[new]", `{"keys":["` + hashOfNew + `"]}`}, {`models["gpt-4.1"].queue`, `{"low":"1s","high":"2s"}`},
		{"models.chat.deployments[gpu].quality.code", "0.5"}, {"models.chat.degrade[x]", `{"drop":["logprobs"],"name":"x"}`}, {"tenants[bank].keys[ci].until", `"2026-12-24T00:00:00Z"`}, {"log", "{}"}, {"limits.body", "1e9"},
		{"models.chat.ladder.up", `[1,"2%",3]`}, {"providers.up", "{}"}, {"classes.batch.deadline", `"${X}"`}, {"tenants[\"a]\"]", "7"}, {"retry", "[]"},
	} {
		f.Add(seed[0], seed[1])
	}
	env := func(string) (string, bool) { return "canary-secret", true }
	base, err := Parse("f", []byte(aliased), env)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path, value string) {
		o, _, err := Overlay{}.With(Overlay{path: jsontext.Value(value)})
		var c *Config
		if err == nil {
			c, err = o.Apply("f", []byte(aliased), env)
		}
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 || strings.Contains(err.Error(), "canary") {
				t.Fatalf("%v", err)
			}
			return
		}
		for at := range o {
			if again, err := locate(at); err != nil || again.path != at {
				t.Errorf("%q has two spellings: %q %v", at, again.path, err)
			}
		}
		if c.Listen != base.Listen || len(c.Restart(base)) > 0 || !reflect.DeepEqual(c.Providers, base.Providers) || !reflect.DeepEqual(c.Admin, base.Admin) || len(c.Models) != len(base.Models) {
			t.Errorf("%s = %s changed what only the file says", path, value)
		}
		for name, m := range base.Models {
			for i, d := range m.Deployments {
				if got := c.Models[name].Deployments[i]; got.Provider != d.Provider || got.Model != d.Model || got.Name != d.Name {
					t.Errorf("%s = %s: %+v", path, value, got)
				}
			}
		}
		for _, q := range c.Policy().Models {
			if q := q.Queue; q.PerTenant > q.Total || q.Low > q.High || q.Total < 1 {
				t.Errorf("%+v", q)
			}
		}
		if _, err := c.Settings(""); err != nil {
			t.Error(err)
		}
	})
}
