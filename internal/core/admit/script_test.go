package admit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// script is a scenario in words, one line a fact:
//
//	slots 16                         or several deployments: slots 8 8
//	service 1s sigma 0.25            log-normal
//	prior 10s                        what the operator believes of it
//	seed 7   observe   floor batch 2   maxwait batch 20s   for 60s
//	tenant a weight=3 requests=60 tokens=1000 concurrency=4 lowtier
//	caller a class=batch rate=2x deadline=8s retries=2 told=0.3 leave=0.3 stream hasty tenant=b
//	at 20s slow 3                    also: fail 0.3, slots 8, rate a 160, limit a 60
//	expect ontime light after 40s >= 99%
//
// A rate ending in x is times what the slots can do. Who is expected of may
// be a caller's name or its beginning (light*), a class, or all (the default).
type script struct {
	seed     uint64
	policy   *Policy
	mean     time.Duration
	sigma    float64
	duration time.Duration
	callers  []*caller
	events   []scripted
	expects  []expectation
}

type scripted struct {
	at   time.Duration
	what []string
}

type expectation struct {
	line    string
	measure string
	who     string
	after   time.Duration
	op      string
	value   float64
}

func parseScript(text string) (*script, error) {
	s := &script{seed: 1, policy: onePool(1), mean: time.Second, sigma: 0.25}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.fact(words); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return s, nil
}

func (s *script) fact(words []string) (err error) {
	switch word, rest := words[0], words[1:]; word {
	case "seed":
		s.seed, err = strconv.ParseUint(rest[0], 10, 64)
	case "slots":
		s.policy.Models[0].Deployments = parseSlots(rest)
	case "service":
		s.mean, s.sigma = parseTime(rest[0]), parseNumber(rest[2])
	case "prior":
		s.policy.Models[0].Prior = Prior{First: parseTime(rest[0]), PerInput: 1, PerOutput: 1}
	case "observe":
		s.policy.Observe = true
	case "for":
		s.duration = parseTime(rest[0])
	case "floor":
		s.policy.Classes[parseClass(rest[0])].Floor = int(parseNumber(rest[1]))
	case "maxwait":
		s.policy.Classes[parseClass(rest[0])].MaxWait = parseTime(rest[1])
	case "tenant":
		s.tenant(rest[0], rest[1:])
	case "caller":
		s.caller(rest[0], rest[1:])
	case "at":
		s.events = append(s.events, scripted{parseTime(rest[0]), rest[1:]})
	case "expect":
		s.expect(words)
	default:
		err = fmt.Errorf("unknown word %q", word)
	}
	return err
}

func (s *script) tenant(name string, words []string) {
	t := Tenant{Name: name}
	var l Limits
	for _, w := range words {
		key, v, _ := strings.Cut(w, "=")
		switch key {
		case "weight":
			t.Weight = int(parseNumber(v))
		case "concurrency":
			t.Concurrency = int(parseNumber(v))
		case "lowtier":
			t.LowTier = true
		case "requests":
			l.Requests = int64(parseNumber(v))
		case "tokens":
			l.Tokens = int64(parseNumber(v))
		default:
			panic("unknown: " + w)
		}
	}
	t.Limits = map[string]Limits{"": l}
	s.policy.Tenants = append(s.policy.Tenants, t)
}

func (s *script) caller(name string, words []string) {
	a := &caller{name: name, tenant: name, told: 1}
	for _, w := range words {
		key, v, _ := strings.Cut(w, "=")
		switch key {
		case "tenant":
			a.tenant = v
		case "class":
			a.class = parseClass(v)
		case "rate":
			a.rate = s.rate(v)
		case "deadline":
			a.deadline = parseTime(v)
		case "retries":
			a.retries = int(parseNumber(v))
		case "told":
			a.told = parseNumber(v)
		case "leave":
			a.leave = parseNumber(v)
		case "stream":
			a.stream = true
		case "hasty":
			a.hasty = true
		default:
			panic("unknown: " + w)
		}
	}
	s.callers = append(s.callers, a)
	for _, t := range s.policy.Tenants {
		if t.Name == a.tenant {
			return
		}
	}
	s.policy.Tenants = append(s.policy.Tenants, Tenant{Name: a.tenant})
}

func (s *script) rate(v string) float64 {
	if share, ok := strings.CutSuffix(v, "x"); ok {
		slots := 0
		for _, d := range s.policy.Models[0].Deployments {
			slots += d.Concurrency
		}
		return parseNumber(share) * float64(slots) / s.mean.Seconds()
	}
	return parseNumber(v)
}

func (s *script) expect(words []string) {
	e := expectation{line: strings.Join(words, " "), measure: words[1], who: "all"}
	words = words[2:]
	if !strings.ContainsAny(words[0], "<>=") && words[0] != "after" {
		e.who, words = words[0], words[1:]
	}
	if words[0] == "after" {
		e.after, words = parseTime(words[1]), words[2:]
	}
	e.op, e.value = words[0], parseNumber(strings.TrimRight(words[1], "%s"))
	if measures[e.measure] == nil {
		panic("unknown measure: " + e.measure)
	}
	s.expects = append(s.expects, e)
}

// play runs the script and gives what came out; checked asks for the
// invariants after every event.
func (s *script) play(checked bool) *world {
	w := newWorld(s.policy, s.seed)
	if !checked {
		w.ledger = nil
	}
	w.mean, w.sigma, w.callers = s.mean, s.sigma, s.callers
	for _, e := range s.events {
		w.in(e.at, func() { s.happen(w, e.what) })
	}
	w.run(s.duration)
	return w
}

func (s *script) happen(w *world, what []string) {
	switch what[0] {
	case "slow":
		w.slow = parseNumber(what[1])
	case "fail":
		w.fail = parseNumber(what[1])
	case "rate":
		for _, a := range w.callers {
			if a.name == what[1] {
				w.setRate(a, s.rate(what[2]))
			}
		}
	case "slots":
		w.reload(func(p *Policy) { p.Models[0].Deployments = parseSlots(what[1:]) })
	case "limit":
		w.reload(func(p *Policy) {
			for i, t := range p.Tenants {
				if t.Name == what[1] {
					p.Tenants[i].Limits = map[string]Limits{"": {Requests: int64(parseNumber(what[2]))}}
				}
			}
		})
	default:
		panic("unknown event: " + what[0])
	}
}

// met says what was measured, and whether it is as expected.
func (e *expectation) met(w *world) (float64, bool) {
	var who []*caller
	for _, a := range w.callers {
		prefix, some := strings.CutSuffix(e.who, "*")
		if e.who == "all" || e.who == a.name || e.who == a.class.String() || some && strings.HasPrefix(a.name, prefix) {
			who = append(who, a)
		}
	}
	got := measures[e.measure](w, who, t0.Add(e.after))
	switch e.op {
	case ">=":
		return got, got >= e.value
	case "<=":
		return got, got <= e.value
	default:
		return got, got == e.value
	}
}

func parseSlots(words []string) (ds []Deployment) {
	for i, w := range words {
		ds = append(ds, Deployment{Name: fmt.Sprintf("d%d", i+1), Concurrency: int(parseNumber(w))})
	}
	return ds
}

func parseNumber(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return f
}

func parseTime(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

func parseClass(s string) Class {
	c, ok := ParseClass(s)
	if !ok {
		panic("unknown class " + s)
	}
	return c
}
