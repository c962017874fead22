package sim

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// ParseScenario reads a story. What stands below a line "---- outcome" is not
// read. Errors name the line and what was expected there.
func ParseScenario(name string, r io.Reader) (*Scenario, error) {
	p := &parser{s: &Scenario{
		Seed: 1, Upstream: Upstream{Mean: time.Second, Noise: 0.25}, Policies: []string{"ours"},
		Policy: admit.Policy{Models: []admit.Model{{Name: scenarioModel}}}, Static: map[string]int64{},
	}, budgets: map[string]*admit.Budgets{}, rungs: map[int][]Rung{}}
	in := bufio.NewScanner(r)
	for p.line = 1; in.Scan(); p.line++ {
		text := in.Text()
		if strings.TrimSpace(text) == OutcomeMark {
			break
		}
		if i := strings.IndexByte(text, '#'); i >= 0 {
			if title := strings.TrimSpace(text[i+1:]); p.s.Title == "" {
				p.s.Title = title
			}
			text = text[:i]
		}
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := p.fact(words); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, p.line, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, p.line, err)
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p.s, nil
}

// OutcomeMark is the line that ends the story in a file.
const OutcomeMark = "---- outcome"

type parser struct {
	s       *Scenario
	line    int
	slotted bool     // the upstream's own slots were said
	current int      // the model that lines are about
	named   []string // deployments that have a line of their own
	truths  []truth  // of their upstreams
	where   string   // the deployment that a happening is about; "" is all
	rates   []rated
	budgets map[string]*admit.Budgets // by tenant
	rungs   map[int][]Rung            // what they really do, by model
}

// rated is a rate that could be told in multiples of what the slots can do,
// and is known only at the end.
type rated struct {
	text   string
	caller int
	set    func(float64)
}

// facts are the words that a line may begin with.
var facts map[string]func(*parser, []string) error

func init() { // a map literal would refer to itself through parser.fact
	facts = map[string]func(*parser, []string) error{
		"seed": one(func(p *parser, v string) (err error) { p.s.Seed, err = strconv.ParseUint(v, 10, 64); return err }),
		"for":  one(func(p *parser, v string) (err error) { p.s.Length, err = positive(v); return err }),
		"slots": func(p *parser, v []string) (err error) {
			if len(p.named) > 0 {
				return fmt.Errorf("deployments have lines of their own: say slots=N there")
			}
			if p.current > 0 {
				return fmt.Errorf("only the first model can have it: use lines \"deployment NAME slots=N\"")
			}
			p.s.Policy.Models[0].Deployments, err = deployments(v)
			return err
		},
		"model":      one((*parser).begin),
		"deployment": (*parser).deployment,
		"balance":    one((*parser).balance),
		"score":      (*parser).score,
		"breaker":    (*parser).breaker,
		"fallback":   (*parser).fallback,
		"service":    (*parser).service,
		"upstream":   (*parser).upstream,
		"prior":      (*parser).prior,
		"observe":    none(func(p *parser) { p.s.Policy.Observe = true }),
		"queue":      (*parser).queue,
		"class":      (*parser).class,
		"retry":      (*parser).retry,
		"tenant":     (*parser).tenant,
		"caller":     (*parser).caller,
		"at":         (*parser).at,
		"policies":   (*parser).policies,
		"expect":     (*parser).expect,
		"rung":       (*parser).rung,
		"ladder":     (*parser).ladder,
		"budget":     (*parser).budget,
	}
}

func (p *parser) fact(words []string) error {
	f := facts[words[0]]
	if f == nil {
		return unknownWord("word", words[0], keys(facts))
	}
	if err := f(p, words[1:]); err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}

func one(f func(*parser, string) error) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		if len(v) != 1 {
			return fmt.Errorf("takes one value, not %d", len(v))
		}
		return f(p, v[0])
	}
}

func none(f func(*parser)) func(*parser, []string) error {
	return func(p *parser, v []string) error {
		if len(v) != 0 {
			return fmt.Errorf("takes no value")
		}
		f(p)
		return nil
	}
}

// readOptions reads words of the form key=value or key, with a setter for each key.
func readOptions(words []string, set map[string]func(string) error) error {
	for _, w := range words {
		key, v, _ := strings.Cut(w, "=")
		f := set[key]
		if f == nil {
			return unknownWord("option", key, keys(set))
		}
		if err := f(v); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

func unknownWord(what, got string, known []string) error {
	return fmt.Errorf("unknown %s %q; known are %s", what, got, strings.Join(known, ", "))
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func duration(d *time.Duration) func(string) error {
	return func(v string) (err error) { *d, err = positive(v); return err }
}

func number(f *float64) func(string) error {
	return func(v string) (err error) { *f, err = amount(v); return err }
}

func integer[T int | int64](n *T) func(string) error {
	return func(v string) error {
		i, err := strconv.ParseInt(v, 10, 64)
		if err != nil || i < 0 {
			return fmt.Errorf("%q is not a whole number from zero", v)
		}
		*n = T(i)
		return nil
	}
}

func toggle(b *bool) func(string) error {
	return func(v string) error {
		if v != "" {
			return fmt.Errorf("takes no value")
		}
		*b = true
		return nil
	}
}

func classOption(c *admit.Class) func(string) error {
	return func(v string) error {
		k, ok := admit.ParseClass(v)
		if !ok {
			return unknownWord("class", v, []string{"interactive", "standard", "batch", "speculative"})
		}
		*c = k
		return nil
	}
}

func positive(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above zero, such as 250ms or 1m30s", v)
	}
	return d, nil
}

func amount(v string) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || f < 0 || f > 1e12 {
		return 0, fmt.Errorf("%q is not a number from zero", v)
	}
	return f, nil
}

func deployments(words []string) (ds []admit.Deployment, err error) {
	for i, w := range words {
		n, e := strconv.Atoi(w)
		if e != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number of slots", w)
		}
		ds = append(ds, admit.Deployment{Name: fmt.Sprintf("d%d", i+1), Concurrency: n})
	}
	if len(ds) == 0 {
		return nil, fmt.Errorf("give a number of slots for each deployment")
	}
	return ds, nil
}

// finish checks the whole and fills what depends on it.
func (p *parser) finish() error {
	s := p.s
	if s.Length == 0 {
		return fmt.Errorf("it does not say how long it is: add a line like \"for 60s\"")
	}
	for i := range s.Policy.Models {
		m := &s.Policy.Models[i]
		if len(m.Deployments) == 0 && i == 0 {
			return fmt.Errorf("it does not say how many slots there are: add a line like \"slots 16\"")
		}
		if len(m.Deployments) == 0 {
			return fmt.Errorf("model %s has no deployment: add a line like \"deployment %s-1 slots=16\" below its own", m.Name, m.Name)
		}
	}
	if len(s.Callers) == 0 {
		return fmt.Errorf("nobody calls: add a line like \"caller app rate=1x deadline=8s\"")
	}
	if !p.slotted {
		s.Upstream.Slots = s.slots()
	}
	if err := p.upstreams(); err != nil {
		return err
	}
	for _, r := range p.rates {
		share, relative := strings.CutSuffix(r.text, "x")
		f, err := amount(share)
		if err != nil {
			return fmt.Errorf("rate %s: %w", r.text, err)
		}
		if relative {
			f *= s.capacity(s.Callers[r.caller].Model)
		}
		r.set(f)
	}
	if err := p.ladders(); err != nil {
		return err
	}
	if err := p.pays(); err != nil {
		return err
	}
	for i := range s.Callers {
		p.addTenants(&s.Callers[i])
	}
	slices.SortStableFunc(s.Script, func(a, b Happening) int { return int(a.At - b.At) })
	return nil
}

// addTenants puts the tenants of a caller that no line named into the policy.
func (p *parser) addTenants(c *Caller) {
	name := c.Name
	if c.Tenant != "" {
		name = c.Tenant
	}
	var like admit.Tenant
	known := map[string]bool{}
	for _, t := range p.s.Policy.Tenants {
		known[t.Name] = true
		if t.Name == name {
			like = t
		}
	}
	names := []string{name}
	for i := range c.Tenants {
		if i == 0 {
			names = nil
		}
		names = append(names, fmt.Sprintf("%s%d", name, i+1))
	}
	for _, n := range names {
		if !known[n] {
			t := like
			t.Name = n
			p.s.Policy.Tenants = append(p.s.Policy.Tenants, t)
			p.s.Static[n] = p.s.Static[name]
		}
	}
}
