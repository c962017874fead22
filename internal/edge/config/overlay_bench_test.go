package config

import (
	"fmt"
	"strings"
	"testing"
)

// A change beside a file of a thousand tenants: reading the file twice, once by
// itself.
func BenchmarkApply(b *testing.B) {
	var text strings.Builder
	text.WriteString("providers: {up: {base_url: http://h/v1}}\nmodels: {chat: {deployments: [{provider: up}]}}\ntenants:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "- {name: t%d, keys: [\"%s\"], limits: {rpm: %d}}\n", i, HashKey(fmt.Sprint(i)), i+1)
	}
	file := []byte(text.String())
	o := set("models.chat.queue.total", "200", "tenants[t500].limits.rpm", "7")
	for b.Loop() {
		c, err := o.Apply("f", file, testEnv)
		if err != nil || c.Tenants[500].Limits.RPM != 7 {
			b.Fatal(err)
		}
	}
}

// All that can be changed of a thousand tenants.
func BenchmarkSettings(b *testing.B) {
	c := &Config{Tenants: make([]Tenant, 1000)}
	for i := range c.Tenants {
		c.Tenants[i].Name = fmt.Sprint(i)
	}
	c.origins = map[string]bool{}
	n := 0
	for b.Loop() {
		list, err := c.Settings("tenants")
		if err != nil {
			b.Fatal(err)
		}
		n = len(list)
	}
	b.ReportMetric(float64(n), "settings")
}
