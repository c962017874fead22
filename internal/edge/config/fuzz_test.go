package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
