package sim

import (
	"fmt"
	"slices"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// model is the one that lines are about.
func (p *parser) model() *admit.Model { return &p.s.Policy.Models[p.current] }

// begin says which model the lines below are about. The first such line names
// the first model, unless deployments of it stand above.
func (p *parser) begin(name string) error {
	ms := p.s.Policy.Models
	if i := slices.IndexFunc(ms, func(m admit.Model) bool { return m.Name == name }); i >= 0 {
		p.current = i
		return nil
	}
	if len(ms) == 1 && len(ms[0].Deployments) == 0 && ms[0].Name == scenarioModel {
		ms[0].Name = name
		return nil
	}
	if len(p.named) == 0 {
		return fmt.Errorf("there can be more than one only if each deployment has a line: use \"deployment NAME slots=N\" instead of \"slots\"")
	}
	p.s.Policy.Models = append(ms, admit.Model{Name: name})
	p.current = len(ms)
	return nil
}

// knows says whether a model of the name stands above.
func (p *parser) knows(model string) error {
	var names []string
	for i := range p.s.Policy.Models {
		names = append(names, p.s.Policy.Models[i].Name)
	}
	if !slices.Contains(names, model) {
		return unknownWord("model", model, names)
	}
	return nil
}

func (p *parser) balance(v string) error {
	b, ok := admit.ParseBalance(v)
	if !ok {
		var known []string
		for b := admit.LeastLoaded; b <= admit.Score; b++ {
			known = append(known, b.String())
		}
		return unknownWord("balance", v, known)
	}
	p.model().Balance = b
	return nil
}

// score says what counts for the balance of that name, and chooses it.
func (p *parser) score(words []string) error {
	m := p.model()
	m.Balance = admit.Score
	return readOptions(words, map[string]func(string) error{"cost": number(&m.Score.Cost), "speed": number(&m.Score.Speed), "quality": number(&m.Score.Quality)})
}

func (p *parser) breaker(words []string) error {
	b := &p.model().Breaker
	options := map[string]func(string) error{
		"errors": integer(&b.Errors), "open": integer(&b.Open), "window": duration(&b.Window), "min": integer(&b.MinCount),
		"cooldown": duration(&b.Cooldown), "cooldown-max": duration(&b.CooldownMax), "step": duration(&b.Step),
		"consecutive": func(v string) error {
			if v == "never" {
				b.Consecutive = -1
				return nil
			}
			return integer(&b.Consecutive)(v)
		},
	}
	for name, l := range map[string]*admit.Latency{"first": &b.First, "token": &b.PerToken, "total": &b.Total} {
		options[name+"-warn"], options[name+"-open"], options[name+"-scale"] = duration(&l.Warn), duration(&l.Open), duration(&l.ScaleUp)
	}
	return readOptions(words, options)
}

// fallback says which models may serve instead, and why.
func (p *parser) fallback(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("give a cause and the models that serve instead, such as: error other")
	}
	var causes []string
	for c := admit.Cause(0); c < admit.NumCauses; c++ {
		causes = append(causes, c.String())
	}
	c := slices.Index(causes, words[0])
	if c < 0 {
		return unknownWord("cause", words[0], causes)
	}
	p.model().Fallback[c] = words[1:]
	return nil
}
