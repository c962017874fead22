package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// budget limits what an account may spend: "budget all", "budget tenant NAME",
// "budget model NAME MODEL", "budget user NAME" for each end user of a tenant,
// and the same for sessions.
func (p *parser) budget(words []string) error {
	scopes := map[string]int{"all": 1, "tenant": 2, "model": 3, "user": 2, "session": 2}
	if len(words) == 0 {
		return fmt.Errorf("of whom? Known are %s", strings.Join(keys(scopes), ", "))
	}
	n := scopes[words[0]]
	if n == 0 {
		return unknownWord("account", words[0], keys(scopes))
	}
	if len(words) < n || slices.ContainsFunc(words[:n], func(w string) bool { return strings.Contains(w, "=") }) {
		return fmt.Errorf("give a name, such as: budget %s app day=5", words[0])
	}
	var b admit.Budget
	orNever := func(to *int) func(string) error {
		return func(v string) error {
			if v == "never" {
				*to = -1
				return nil
			}
			return integer(to)(v)
		}
	}
	err := readOptions(words[n:], map[string]func(string) error{
		"minute": dollars(&b.Limits[admit.Minute]), "hour": dollars(&b.Limits[admit.Hour]), "day": dollars(&b.Limits[admit.Day]), "month": dollars(&b.Limits[admit.Month]),
		"calendar": toggle(&b.Calendar), "soft": integer(&b.Soft), "pace": orNever(&b.Pace), "alert": orNever(&b.Alert),
	})
	if err != nil {
		return err
	}
	if b.None() {
		return fmt.Errorf("say how much in dollars: minute=, hour=, day= or month=")
	}
	if words[0] == "all" {
		p.s.Policy.Budget = b
		return nil
	}
	x := p.budgets[words[1]]
	if x == nil {
		x = &admit.Budgets{}
		p.budgets[words[1]] = x
	}
	switch words[0] {
	case "tenant":
		x.All = b
	case "user":
		x.User = b
	case "session":
		x.Session = b
	case "model":
		if err := p.knows(words[2]); err != nil {
			return err
		}
		if x.Models == nil {
			x.Models = map[string]admit.Budget{}
		}
		x.Models[words[2]] = b
	}
	return nil
}

// pays gives tenants the budgets of their lines. One that no line named is made
// of its callers.
func (p *parser) pays() error {
	for _, name := range keys(p.budgets) {
		ts := &p.s.Policy.Tenants
		i := slices.IndexFunc(*ts, func(t admit.Tenant) bool { return t.Name == name })
		if i < 0 {
			if !slices.ContainsFunc(p.s.Callers, func(c Caller) bool { return c.Tenant == name || c.Tenant == "" && c.Name == name }) {
				return fmt.Errorf("budget of %s: nobody of that name calls", name)
			}
			i = len(*ts)
			*ts = append(*ts, admit.Tenant{Name: name})
		}
		(*ts)[i].Budgets = *p.budgets[name]
	}
	return nil
}
