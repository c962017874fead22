package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// rung is one more rung of the model's ladder: what the policy believes of it,
// and what it really does.
func (p *parser) rung(words []string) error {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return fmt.Errorf("give a name")
	}
	m := p.model()
	if len(m.Ladder.Rungs) == admit.MaxRungs {
		return fmt.Errorf("a ladder has at most %d", admit.MaxRungs)
	}
	x, g := admit.Rung{Name: words[0]}, Rung{}
	believed := math.NaN()
	err := readOptions(words[1:], map[string]func(string) error{
		"kind": func(v string) error {
			var known []string
			for k := range admit.RungKind(admit.NumRungKinds) {
				known = append(known, k.String())
			}
			i := slices.Index(known, v)
			if i < 0 {
				return unknownWord("kind", v, known)
			}
			x.Kind = admit.RungKind(i)
			return nil
		},
		"model": func(v string) error { x.Model = v; return nil }, "off": toggle(&x.Off),
		"saving": part(&g.Saving), "believed": part(&believed), "changes": part(&g.Changes), "hit": part(&g.Hit),
		"input": left(&g.Input), "output": left(&g.Output), "max-input": integer(&g.MaxInput), "max-output": integer(&g.MaxOutput),
	})
	if err != nil {
		return err
	}
	if x.Kind == admit.RungModel && x.Model == "" {
		return fmt.Errorf("say which model serves instead: model=NAME")
	}
	if g.Hit > 0 && x.Kind != admit.RungRecent {
		return fmt.Errorf("only a rung of kind=recent is hit")
	}
	if math.IsNaN(believed) {
		believed = g.Saving
	}
	x.Saving = int(math.Round(100 * believed))
	m.Ladder.Rungs = append(m.Ladder.Rungs, x)
	p.rungs[p.current] = append(p.rungs[p.current], g)
	return nil
}

// part reads a share of at most all: 0.2 or 20%, or 20 as whole per cent.
func part(f *float64) func(string) error {
	return func(v string) (err error) {
		if *f, err = shareOf(v); err == nil && *f > 1 && !strings.HasSuffix(v, "%") {
			*f /= 100
		}
		if err == nil && *f > 1 {
			err = fmt.Errorf("%q is more than all", v)
		}
		return err
	}
}

// left reads what is left of something, such as 0.4x.
func left(f *float64) func(string) error {
	return func(v string) (err error) {
		*f, err = amount(strings.TrimSuffix(v, "x"))
		if err == nil && (*f == 0 || *f > 1) {
			err = fmt.Errorf("%q is not a part that is left, such as 0.4x", v)
		}
		return err
	}
}

// always and never are thresholds of a level that is held.
const always, never = -1, 1 << 20

// ladder says when the levels of the model's ladder change.
func (p *parser) ladder(words []string) error {
	l := &p.model().Ladder
	return readOptions(words, map[string]func(string) error{
		"up": func(v string) error {
			parts := strings.Split(v, ",")
			if len(parts) != len(l.Up) {
				return fmt.Errorf("give three thresholds in per cent, such as up=50,70,90")
			}
			for i, s := range parts {
				if err := integer(&l.Up[i])(strings.TrimSuffix(s, "%")); err != nil {
					return err
				}
			}
			return nil
		},
		"down": integer(&l.Down), "stay": duration(&l.Stay), "hold": duration(&l.Hold),
		"level": func(v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n >= admit.NumLevels {
				return fmt.Errorf("%q is not a level from 0 to %d", v, admit.NumLevels-1)
			}
			for i := range l.Up {
				if l.Up[i] = never; i < n {
					l.Up[i] = always
				}
			}
			return nil
		},
	})
}

// consents are the words for what a caller agrees to. Each holds what stands
// above it.
var consents = map[string]admit.Consent{
	"never": 0, "features": admit.MayFeatures, "compute": admit.MayFeatures | admit.MayCompute,
	"model": admit.MayFeatures | admit.MayCompute | admit.MayModel, "any": admit.MayDegrade,
}

// consent reads any, features, 60%, or 60%:features.
func consent(c *Caller) func(string) error {
	return func(v string) error {
		word := v
		if share, rest, _ := strings.Cut(v, ":"); strings.HasSuffix(share, "%") {
			if err := part(&c.Agree)(share); err != nil {
				return err
			}
			if word = "any"; rest != "" {
				word = rest
			}
			if c.Agree == 0 {
				word = "never"
			}
		}
		may, ok := consents[word]
		if !ok {
			return unknownWord("consent", word, keys(consents))
		}
		c.May = may
		return nil
	}
}

// ladders keeps what rungs really do, and checks that their models are there.
func (p *parser) ladders() error {
	p.s.Ladders = map[string][]Rung{}
	for i := range p.s.Policy.Models {
		m := &p.s.Policy.Models[i]
		p.s.Ladders[m.Name] = p.rungs[i]
		for _, x := range m.Ladder.Rungs {
			if x.Model == "" {
				continue
			}
			if err := p.knows(x.Model); err != nil {
				return fmt.Errorf("rung %s of %s: %w", x.Name, m.Name, err)
			}
		}
	}
	return nil
}
