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

// prior says what the operator believes of the service time.
func (p *parser) prior(words []string) error {
	prior := &p.model().Prior
	if len(words) == 1 && !strings.Contains(words[0], "=") {
		prior.PerInput, prior.PerOutput = 1, 1
		return duration(&prior.First)(words[0])
	}
	return readOptions(words, map[string]func(string) error{
		"first": duration(&prior.First), "input": duration(&prior.PerInput), "output": duration(&prior.PerOutput), "tokens": integer(&prior.Output),
	})
}

func (p *parser) queue(words []string) error {
	q := &p.model().Queue
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
		"percent": integer(&r.Percent), "reserve": integer(&r.Reserve), "attempts": integer(&r.Attempts), "backoff": duration(&r.Backoff),
		"failover": integer(&r.Failover.Percent), "failover-reserve": integer(&r.Failover.Reserve), "failover-at-once": integer(&r.Failover.Concurrent),
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
		"patient": toggle(&c.Manners.Patient), "capped": toggle(&c.Manners.Capped), "cap": integer(&c.Manners.Cap),
		"input": integer(&c.Input), "output": integer(&c.Output), "spread": number(&c.Spread),
		"model":   func(v string) error { c.Model = v; return p.knows(v) },
		"consent": consent(&c), "users": integer(&c.Users), "sessions": integer(&c.Sessions), "turns": integer(&c.Turns), "tools": integer(&c.Tools), "pause": duration(&c.Pause), "until": duration(&c.Until),
	})
	if c.Sessions == 0 && (c.Turns > 0 || c.Tools > 0 || c.Pause > 0 || c.Until > 0) {
		return fmt.Errorf("say sessions=N, how many there are at once: turns, tools, pause and until are about them")
	}
	if c.Sessions > mostSessions {
		return fmt.Errorf("sessions=%d: there are at most %d at once", c.Sessions, mostSessions)
	}
	i := len(p.s.Callers)
	p.s.Callers = append(p.s.Callers, c)
	p.rates = append(p.rates, rated{rate, i, func(f float64) { p.s.Callers[i].Rate = f }})
	return err
}

// mostSessions keeps a story within memory.
const mostSessions = 100_000

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
	words = words[1:]
	if two := e.Measure + " " + words[0]; known(two) {
		e.Measure, words = two, words[1:]
	}
	if !known(e.Measure) {
		return unknownWord("measure", e.Measure, measureNames())
	}
	if n := len(words); n >= 3 && words[n-3] == "before" && words[n-1] == "spent" {
		words = append(slices.Clone(words[:n-3]), "<=", words[n-2])
	}
	ends := slices.IndexFunc(words, func(w string) bool { return w == "after" || strings.ContainsAny(w, "<>=") })
	if ends < 0 {
		return fmt.Errorf("end with >=, <=, <, > or == and a value")
	}
	if ends > 1 && !ofAccount(e.Measure) {
		return fmt.Errorf("%q: it is about one who has a name of one word", strings.Join(words[:ends], " "))
	}
	e.Who, words = strings.Join(words[:ends], " "), words[ends:]
	if words[0] == "after" {
		if !cutByTime[e.Measure] || len(words) < 2 {
			return fmt.Errorf("only \"ontime\" can be cut by time, of deployments calls, share, limited and utilisation, and of ladders level and rung: ontime light after 40s >= 99%%")
		}
		if err := duration(&e.After)(words[1]); err != nil {
			return err
		}
		words = words[2:]
	}
	if len(words) != 2 || !slices.Contains([]string{">=", "<=", "==", "<", ">"}, words[0]) {
		return fmt.Errorf("end with >=, <=, <, > or == and a value")
	}
	e.Op = words[0]
	v, err := amount(strings.TrimRight(words[1], "%s$"))
	e.Value = v
	p.s.Expects = append(p.s.Expects, e)
	return err
}

// known says that there is such a measure.
func known(measure string) bool {
	return measures[measure] != nil || wholeMeasures[measure] != nil || deploymentMeasures[measure] != nil || ladderMeasures[measure] != nil || ofAccount(measure)
}

// ofAccount says that it is a measure of an account, whose name has several words.
func ofAccount(measure string) bool {
	_, alarm := alarmOf(measure)
	return alarm || spendMeasures[measure] != nil
}
