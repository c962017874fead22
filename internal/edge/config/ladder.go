package config

import (
	"maps"
	"slices"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Ladder is when the rungs under degrade are used. It has three levels to step
// down to: rungs that take features away, work, and the model.
type Ladder struct {
	// Pressure at which interactive requests step down to each of the three levels, as a share of the wait that leads to a refusal. Lower classes step down earlier. Default 50, 70 and 90. Smaller degrades sooner.
	Up []Percent `yaml:"up" jsonschema:"minItems=3,maxItems=3"`
	// Share of up below which a level is left again. Default 50. Smaller stays longer.
	Down Percent `yaml:"down" jsonschema:"minimum=1,maximum=100"`
	// How long a level is kept at least before it is left for a better one. Default 15s. Smaller goes up and down more often.
	Stay time.Duration `yaml:"stay" jsonschema:"exclusiveMinimum=0"`
	// How long the pressure must be gone before a session that was moved to another model goes back to its own. Default 1m. Smaller moves sessions more often.
	Hold time.Duration `yaml:"hold" jsonschema:"exclusiveMinimum=0"`
}

func (l *Ladder) setDefaults(p admit.LadderPolicy) {
	*l = Ladder{Down: Percent(p.Down), Stay: p.Stay, Hold: p.Hold}
	for _, up := range p.Up {
		l.Up = append(l.Up, Percent(up))
	}
}

func (l *Ladder) check(d *document, path string) {
	at := join(path, "up")
	if len(l.Up) != admit.NumLevels-1 {
		d.fail(at, "has %d shares; there are %d levels to step down to, such as [50%%, 70%%, 90%%]", len(l.Up), admit.NumLevels-1)
		return
	}
	for i, up := range l.Up {
		switch {
		case up < 1 || up > 100:
			d.fail(index(at, i), "%d%% is not between 1%% and 100%%", up)
		case i > 0 && up < l.Up[i-1]:
			d.fail(index(at, i), "%d%% is below the one before it, which is %d%%", up, l.Up[i-1])
		}
	}
}

// checkLadders checks the rungs of all models and finds the pools that they
// make.
func (c *Config) checkLadders(d *document) {
	c.parts = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		m, path := c.Models[name], join("models", name)
		m.Ladder.check(d, join(path, "ladder"))
		at := join(path, "degrade")
		if len(m.Degrade) > admit.MaxRungs {
			d.fail(at, "has %d rungs; there can be %d", len(m.Degrade), admit.MaxRungs)
		}
		for i := range m.Degrade {
			r, at := &m.Degrade[i], index(at, i)
			c.checkRung(d, r, name, at)
			if slices.ContainsFunc(m.Degrade[:i], func(o Rung) bool { return o.Name == r.Name }) {
				d.fail(join(at, "name"), "%s is written twice", d.quote(join(at, "name"), r.Name))
			}
			if r.MaxAge > 0 && i < len(m.Degrade)-1 {
				d.fail(join(at, "max_age"), "an answer from before must be the last rung; move it to the end")
			}
			if r.Precision != "" {
				c.setApart(d, name, i, at)
			}
		}
	}
}

// setApart makes the pool of the deployments that only rung i uses.
func (c *Config) setApart(d *document, model string, i int, path string) {
	m, at := c.Models[model], join(path, "precision")
	precision := m.Degrade[i].Precision
	if slices.ContainsFunc(m.Degrade[:i], func(o Rung) bool { return o.Precision == precision }) {
		d.fail(at, "another rung has this precision already")
		return
	}
	if !slices.ContainsFunc(m.Deployments, func(x Deployment) bool { return x.Precision == precision }) {
		var known []string
		for _, x := range m.Deployments {
			if x.Precision != "" && !slices.Contains(known, x.Precision) {
				known = append(known, x.Precision)
			}
		}
		d.fail(at, "no deployment of the model has the precision %s%s", d.quote(at, precision), nearest(precision, known))
		return
	}
	pool := PoolOf(model, precision)
	switch other, taken := c.parts[pool]; {
	case !printableName(pool):
		d.fail(at, "%s would be the name of its pool, which is longer than %d characters", shorten(pool), maxName)
	case c.Models[pool] != nil:
		d.fail(join("models", pool), "is also the name of the pool of %s's deployments with precision %s (%s); rename the model", model, precision, d.line(at))
	case taken:
		d.fail(at, "its pool %s is already one of %s; name the precision otherwise", pool, other)
	}
	c.parts[pool] = model
	first := !slices.ContainsFunc(m.Degrade[:i], func(o Rung) bool { return o.Precision != "" })
	if first && !slices.ContainsFunc(m.Deployments, func(x Deployment) bool { return m.pool(model, &x) == model }) {
		d.fail(at, "none of the deployments is left for requests that are not degraded; all have such a precision")
	}
}

// PoolOf is the name of the pool of a model's deployments that only a rung with
// their precision uses.
func PoolOf(model, precision string) string { return model + "@" + precision }

// pool is the name of the pool that a deployment of the model stands in: the
// model's own, or that of a rung with its precision.
func (m *Model) pool(name string, dep *Deployment) string {
	if dep.Precision != "" && slices.ContainsFunc(m.Degrade, func(r Rung) bool { return r.Precision == dep.Precision }) {
		return PoolOf(name, dep.Precision)
	}
	return name
}

// ModelOf returns the model that a pool of the policy belongs to: the model of
// that name, or for MODEL@PRECISION the one whose ladder made it. It is nil for
// a name that is no pool.
func (c *Config) ModelOf(pool string) (name string, m *Model) {
	name = pool
	if model, ok := c.parts[pool]; ok {
		name = model
	}
	if m = c.Models[name]; m == nil {
		return "", nil
	}
	return name, m
}

func (m *Model) ladder(name string) admit.LadderPolicy {
	l := admit.LadderPolicy{Down: int(m.Ladder.Down), Stay: m.Ladder.Stay, Hold: m.Ladder.Hold}
	for i, up := range m.Ladder.Up {
		l.Up[i] = int(up)
	}
	for i := range m.Degrade {
		r := &m.Degrade[i]
		model := r.Model
		if r.Precision != "" {
			model = PoolOf(name, r.Precision)
		}
		l.Rungs = append(l.Rungs, admit.Rung{Name: r.Name, Kind: r.Kind, Model: model, Saving: int(r.Saving), Off: !r.Enabled})
	}
	return l
}

// apart are the pools that the precision rungs make of a model: like its own,
// with the deployments of one precision each, and without a ladder.
func (m *Model) apart(name string, own admit.Model, all []admit.Deployment) (pools []admit.Model) {
	for _, r := range own.Ladder.Rungs {
		if r.Kind != admit.RungCompute || r.Model == "" {
			continue
		}
		part := own
		part.Name, part.Deployments, part.Ladder = r.Model, nil, admit.LadderPolicy{}
		for i := range m.Deployments {
			if m.pool(name, &m.Deployments[i]) == r.Model {
				part.Deployments = append(part.Deployments, all[i])
			}
		}
		pools = append(pools, part)
	}
	return pools
}
