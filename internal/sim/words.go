package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// service says how long calls take: a mean, or "tokens" with the parts.
func (p *parser) service(words []string) error {
	u := &p.s.Upstream
	if len(words) == 0 {
		return fmt.Errorf("give a mean time, or \"tokens\" and the parts")
	}
	u.Mean = 0
	if words[0] != "tokens" {
		if err := duration(&u.Mean)(words[0]); err != nil {
			return err
		}
	} else {
		u.First, u.PerInput, u.PerOutput = 200*time.Millisecond, 150*time.Microsecond, 20*time.Millisecond
	}
	return readOptions(words[1:], map[string]func(string) error{
		"sigma": number(&u.Noise), "first": duration(&u.First), "input": duration(&u.PerInput), "output": duration(&u.PerOutput), "slowdown": number(&u.Slowdown),
	})
}

// upstream says what the upstream has that the gateway was not told.
func (p *parser) upstream(words []string) error {
	u := &p.s.Upstream
	p.slotted = slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "slots=") })
	return readOptions(words, map[string]func(string) error{
		"slots": integer(&u.Slots), "queue": integer(&u.Queue), "requests": integer(&u.Limit.Requests), "tokens": integer(&u.Limit.Tokens),
		"per": duration(&u.Limit.Per), "retry-after": toggle(&u.Limit.RetryAfter),
	})
}

// prior says what the operator believes of the service time.
func (p *parser) prior(words []string) error {
	prior := &p.s.Policy.Models[0].Prior
	if len(words) == 1 && !strings.Contains(words[0], "=") {
		prior.PerInput, prior.PerOutput = 1, 1
		return duration(&prior.First)(words[0])
	}
	return readOptions(words, map[string]func(string) error{
		"first": duration(&prior.First), "input": duration(&prior.PerInput), "output": duration(&prior.PerOutput), "tokens": integer(&prior.Output),
	})
}

func (p *parser) queue(words []string) error {
	q := &p.s.Policy.Models[0].Queue
	orders := map[string]admit.Order{"adaptive": admit.Adaptive, "fifo": admit.FIFO, "lifo": admit.LIFO}
	return readOptions(words, map[string]func(string) error{
		"tenant": integer(&q.PerTenant), "total": integer(&q.Total), "bytes": integer(&q.Bytes), "work": duration(&q.Work),
		"low": duration(&q.Low), "high": duration(&q.High), "depth-low": integer(&q.DepthLow), "depth-high": integer(&q.DepthHigh),
		"order": func(v string) error {
			o, ok := orders[v]
			if !ok {
				return unknownWord("order", v, keys(orders))
			}
			q.Order = o
			return nil
		},
	})
}

// class says how one class is treated.
func (p *parser) class(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("which class?")
	}
	var k admit.Class
	if err := classOption(&k)(words[0]); err != nil {
		return err
	}
	c := &p.s.Policy.Classes[k]
	return readOptions(words[1:], map[string]func(string) error{
		"floor": integer(&c.Floor), "confidence": integer(&c.Confidence), "maxwait": duration(&c.MaxWait), "deadline": duration(&c.Deadline),
	})
}

func (p *parser) retry(words []string) error {
	r := &p.s.Policy.Retry
	return readOptions(words, map[string]func(string) error{
		"percent": integer(&r.Percent), "reserve": integer(&r.Reserve), "attempts": integer(&r.Attempts),
	})
}

func (p *parser) tenant(words []string) error {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return fmt.Errorf("give a name")
	}
	t := admit.Tenant{Name: words[0]}
	var l admit.Limits
	var static int64
	err := readOptions(words[1:], map[string]func(string) error{
		"weight": integer(&t.Weight), "concurrency": integer(&t.Concurrency), "lowtier": toggle(&t.LowTier),
		"requests": integer(&l.Requests), "tokens": integer(&l.Tokens), "static": integer(&static),
	})
	p.s.Static[t.Name] = static
	if l != (admit.Limits{}) {
		t.Limits = map[string]admit.Limits{"": l}
	}
	p.s.Policy.Tenants = append(p.s.Policy.Tenants, t)
	return err
}

func (p *parser) caller(words []string) error {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return fmt.Errorf("give a name")
	}
	c := Caller{Name: words[0]}
	rate := "1x"
	err := readOptions(words[1:], map[string]func(string) error{
		"tenant": func(v string) error { c.Tenant = v; return nil }, "tenants": integer(&c.Tenants), "class": classOption(&c.Class),
		"rate": func(v string) error { rate = v; return nil }, "deadline": deadlines(&c), "stream": toggle(&c.Stream),
		"retries": integer(&c.Manners.Retries), "hasty": toggle(&c.Manners.Hasty), "told": number(&c.Manners.Told), "leave": number(&c.Manners.Leave),
		"patient": toggle(&c.Manners.Patient), "capped": toggle(&c.Manners.Capped),
		"input": integer(&c.Input), "output": integer(&c.Output), "spread": number(&c.Spread),
	})
	i := len(p.s.Callers)
	p.s.Callers = append(p.s.Callers, c)
	p.rates = append(p.rates, rated{rate, func(f float64) { p.s.Callers[i].Rate = f }})
	return err
}

// deadlines reads one deadline, or a range like 3s-6s.
func deadlines(c *Caller) func(string) error {
	return func(v string) error {
		from, to, isRange := strings.Cut(v, "-")
		if isRange {
			if err := duration(&c.DeadlineTo)(to); err != nil {
				return err
			}
		}
		return duration(&c.Deadline)(from)
	}
}

// at says what happens, and perhaps until when.
func (p *parser) at(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("give a time and what happens then")
	}
	var at, until time.Duration
	if err := duration(&at)(words[0]); err != nil {
		return err
	}
	what, rest := words[1], words[2:]
	if n := len(rest); n >= 2 && rest[n-2] == "until" {
		if err := duration(&until)(rest[n-1]); err != nil {
			return err
		}
		if until <= at {
			return fmt.Errorf("it ends at %v, before it begins", until)
		}
		rest = rest[:n-2]
	}
	f := happenings[what]
	if f == nil {
		return unknownWord("happening", what, keys(happenings))
	}
	begin, end, err := f(p, at, until, rest)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if begin != nil {
		p.s.Script = append(p.s.Script, Happening{At: at, Do: begin})
	}
	if until > 0 {
		if end == nil {
			end = func(*Run) {}
		}
		p.s.Script = append(p.s.Script, Happening{At: until, Do: end, Ends: true})
	}
	return nil
}

// happenings make what a word means to a run: its beginning, and what ends it.
var happenings = map[string]func(p *parser, at, until time.Duration, v []string) (begin, end func(*Run), err error){
	"slow": func(_ *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		f, err := single(v, amount)
		if err == nil && f == 0 {
			err = fmt.Errorf("a factor of zero")
		}
		return upstreams(func(s *server) { s.slow = f }), upstreams(func(s *server) { s.slow = 1 }), err
	},
	"fail": func(_ *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		share, err := single(v, amount)
		return upstreams(func(s *server) { s.failing = failure{share: share, after: instant} }), upstreams(func(s *server) { s.failing = failure{} }), err
	},
	"down": func(_ *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		if len(v) > 0 {
			err = fmt.Errorf("takes no value")
		}
		return on("", func(now time.Time, s *server) { s.fall(now, &failure{share: 1, how: reset, after: instant}) }), on("", func(now time.Time, s *server) { s.fall(now, nil) }), err
	},
	"limit": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		was, now := p.s.Upstream.Limit, p.s.Upstream.Limit
		err = readOptions(v, map[string]func(string) error{
			"requests": integer(&now.Requests), "tokens": integer(&now.Tokens), "per": duration(&now.Per), "retry-after": toggle(&now.RetryAfter),
		})
		set := func(l Limit) func(*Run) {
			return on("", func(now time.Time, s *server) { s.enforce(now, l) })
		}
		return set(now), set(was), err
	},
	"slots": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		ds, err := deployments(v)
		was := p.s.Policy.Models[0].Deployments
		set := func(ds []admit.Deployment) func(*Run) {
			return change(func(q *admit.Policy) { q.Models[0].Deployments = ds })
		}
		return set(ds), set(was), err
	},
	"tenant": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		var l admit.Limits
		if len(v) == 0 {
			return nil, nil, fmt.Errorf("which tenant?")
		}
		err = readOptions(v[1:], map[string]func(string) error{"requests": integer(&l.Requests), "tokens": integer(&l.Tokens)})
		set := func(l admit.Limits) func(*Run) {
			return change(func(q *admit.Policy) {
				for i := range q.Tenants {
					if q.Tenants[i].Name == v[0] {
						q.Tenants[i].Limits = map[string]admit.Limits{"": l}
					}
				}
			})
		}
		return set(l), set(admit.Limits{}), err
	},
	"rate": func(p *parser, at, until time.Duration, v []string) (begin, end func(*Run), err error) {
		if len(v) != 2 {
			return nil, nil, fmt.Errorf("give a caller and a rate")
		}
		i := slices.IndexFunc(p.s.Callers, func(c Caller) bool { return c.Name == v[0] })
		if i < 0 {
			return nil, nil, fmt.Errorf("no caller %q has been named above", v[0])
		}
		p.rates = append(p.rates, rated{v[1], func(f float64) {
			c := &p.s.Callers[i]
			before := c.Rate
			for _, x := range c.Changes {
				if x.At <= at {
					before = x.Rate
				}
			}
			c.Changes = append(c.Changes, RateChange{at, f})
			if until > 0 {
				c.Changes = append(c.Changes, RateChange{until, before})
			}
		}})
		return nil, nil, nil
	},
}

func single[T any](v []string, f func(string) (T, error)) (t T, err error) {
	if len(v) != 1 {
		return t, fmt.Errorf("takes one value, not %d", len(v))
	}
	return f(v[0])
}

func (p *parser) policies(words []string) error {
	known := deciderNames()
	for _, w := range words {
		if !slices.Contains(known, w) {
			return unknownWord("policy", w, known)
		}
	}
	if len(words) == 0 {
		return fmt.Errorf("give one or more of %s", strings.Join(known, ", "))
	}
	p.s.Policies = words
	return nil
}

// expect reads: [policy:]measure [who] [after 40s] OP VALUE
func (p *parser) expect(words []string) error {
	e := Expectation{Line: strings.Join(words, " "), Line1: p.line}
	if len(words) < 3 {
		return fmt.Errorf("give a measure, a comparison and a value, such as: ontime light >= 99%%")
	}
	e.Measure = words[0]
	if policy, m, ok := strings.Cut(words[0], ":"); ok {
		e.Policy, e.Measure = policy, m
	}
	if measures[e.Measure] == nil && wholeMeasures[e.Measure] == nil {
		return unknownWord("measure", e.Measure, measureNames())
	}
	words = words[1:]
	if !strings.ContainsAny(words[0], "<>=") && words[0] != "after" {
		e.Who, words = words[0], words[1:]
	}
	if words[0] == "after" {
		if e.Measure != "ontime" || len(words) < 2 {
			return fmt.Errorf("only \"ontime\" can be cut by time: ontime light after 40s >= 99%%")
		}
		if err := duration(&e.After)(words[1]); err != nil {
			return err
		}
		words = words[2:]
	}
	if len(words) != 2 || !slices.Contains([]string{">=", "<=", "=="}, words[0]) {
		return fmt.Errorf("end with >=, <= or == and a value")
	}
	e.Op = words[0]
	v, err := amount(strings.TrimRight(words[1], "%s"))
	e.Value = v
	p.s.Expects = append(p.s.Expects, e)
	return err
}
