package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

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
	if n := len(rest); n >= 2 && rest[n-2] == "on" {
		if !slices.Contains([]string{"slow", "fail", "down", "limit"}, what) {
			return fmt.Errorf("%s: takes no deployment; slow, fail, down and limit do", what)
		}
		if !slices.Contains(p.named, rest[n-1]) {
			return unknownWord("deployment", rest[n-1], p.named)
		}
		p.where, rest = rest[n-1], rest[:n-2]
		defer func() { p.where = "" }()
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
	"slow": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		f, err := single(v, amount)
		if err == nil && f == 0 {
			err = fmt.Errorf("a factor of zero")
		}
		return on(p.where, func(_ time.Time, s *server) { s.slow = f }), on(p.where, func(_ time.Time, s *server) { s.slow = 1 }), err
	},
	"fail": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		if len(v) == 0 {
			return nil, nil, fmt.Errorf("give a share of the calls, such as 20%%")
		}
		f := failure{}
		if f.share, err = shareOf(v[0]); err == nil {
			err = f.read(v[1:])
		}
		return on(p.where, func(_ time.Time, s *server) { s.failing = f }), on(p.where, func(_ time.Time, s *server) { s.failing = failure{} }), err
	},
	"down": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		f := failure{share: 1, how: reset}
		err = f.read(v)
		return on(p.where, func(now time.Time, s *server) { s.fall(now, &f) }), on(p.where, func(now time.Time, s *server) { s.fall(now, nil) }), err
	},
	"limit": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		var unused Limit
		err = readOptions(v, limitOptions(&unused))
		return on(p.where, func(now time.Time, s *server) {
			l := s.base
			_ = readOptions(v, limitOptions(&l)) // it could be read above
			s.enforce(now, l)
		}), on(p.where, func(now time.Time, s *server) { s.enforce(now, s.base) }), err
	},
	"slots": func(p *parser, _, _ time.Duration, v []string) (begin, end func(*Run), err error) {
		ds, err := deployments(v)
		if len(p.named) > 0 {
			err = fmt.Errorf("only where deployments come from a line \"slots\"")
		}
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
		p.rates = append(p.rates, rated{v[1], i, func(f float64) {
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

// read reads how calls fail and after how long.
func (f *failure) read(words []string) error {
	err := readOptions(words, map[string]func(string) error{
		"error": func(v string) error {
			i := slices.Index(breakageNames[:], v)
			if i < 0 {
				return unknownWord("error", v, breakageNames[:])
			}
			f.how = breakage(i)
			return nil
		},
		"after": duration(&f.after),
	})
	if f.after == 0 {
		f.after = instant
		if f.how == silence {
			f.after = silentFor
		}
	}
	return err
}

// shareOf reads 0.2 or 20%.
func shareOf(v string) (float64, error) {
	n, percent := strings.CutSuffix(v, "%")
	f, err := amount(n)
	if err != nil {
		return 0, fmt.Errorf("%q is not a share, such as 0.2 or 20%%", v)
	}
	if percent {
		f /= 100
	}
	return f, nil
}
