package mock

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// rule injects a fault into a share of the requests that arrive in a window of
// time since the server started. A rule for Brownout with p 1 and a window is
// not drawn: it slows the whole server.
type rule struct {
	from, to  time.Duration // to is exclusive
	p         float64
	scheduled bool
	injection injection
}

const forever = time.Duration(math.MaxInt64)

func (r rule) active(at time.Duration) bool { return at >= r.from && at < r.to }

// slowsServer tells whether the rule is a change of speed, not a fault of single requests.
func (r rule) slowsServer() bool { return r.scheduled && r.injection.fault == Brownout }

// pick returns the injection for a request that arrives at the given time and
// drew u from [0,1): one draw over all active rules, so that the share of each
// is exactly its p as long as they add up to no more than 1. Earlier rules go first.
func pick(rules []rule, at time.Duration, u float64) injection {
	for _, r := range rules {
		if r.slowsServer() || !r.active(at) {
			continue
		}
		if u < r.p {
			return r.injection
		}
		u -= r.p
	}
	return injection{}
}

// outage tells whether a scheduled outage is on for everybody.
func outage(rules []rule, at time.Duration) bool {
	for _, r := range rules {
		if r.scheduled && r.injection.fault == Outage && r.p == 1 && r.active(at) {
			return true
		}
	}
	return false
}

// slowness is the product of the scheduled brownouts at a time, and next is
// when it changes; next is forever if it does not.
func slowness(rules []rule, at time.Duration) (factor float64, next time.Duration) {
	factor, next = 1, forever
	for _, r := range rules {
		if !r.slowsServer() {
			continue
		}
		if r.active(at) {
			factor *= r.injection.arg
		}
		if r.from > at {
			next = min(next, r.from)
		}
		if r.to > at {
			next = min(next, r.to)
		}
	}
	return factor, next
}

// parseFaults reads "429=0.1,reset=0.05". What stands after the last "=" is the
// probability, so an argument fits in: "late=3s=0.1".
func parseFaults(text string) ([]rule, error) {
	var rules []rule
	total := 0.0
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		cut := strings.LastIndexByte(item, '=')
		if cut < 0 {
			return nil, fmt.Errorf("faults: %q has no probability; write it as %s=0.1", item, item)
		}
		p, err := parseProbability(item[cut+1:])
		if err != nil {
			return nil, fmt.Errorf("faults: %q: %w", item, err)
		}
		inj, err := parseInjection(item[:cut])
		if err != nil {
			return nil, fmt.Errorf("faults: %q: %w", item, err)
		}
		total += p
		rules = append(rules, rule{to: forever, p: p, injection: inj})
	}
	if total > 1+1e-9 {
		return nil, fmt.Errorf("faults: the probabilities add up to %.3g: at most 1", total)
	}
	return rules, nil
}

// parseSchedule reads windows parted by ";": "20s-40s brownout=3; 50s- outage".
// After the fault come its parameters and p=<share of the requests>.
func parseSchedule(text string) ([]rule, error) {
	var rules []rule
	for item := range strings.SplitSeq(text, ";") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		r, err := parseWindow(item)
		if err != nil {
			return nil, fmt.Errorf("schedule: %q: %w", item, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseWindow(item string) (rule, error) {
	window, rest, _ := strings.Cut(item, " ")
	from, to, ok := strings.Cut(window, "-")
	if !ok {
		return rule{}, errors.New("a window such as 20s-40s comes first")
	}
	r := rule{to: forever, p: 1, scheduled: true}
	var err error
	if r.from, err = time.ParseDuration(from); err != nil {
		return rule{}, fmt.Errorf("begin %q: a duration such as 20s is needed", from)
	}
	if to != "" {
		if r.to, err = time.ParseDuration(to); err != nil {
			return rule{}, fmt.Errorf("end %q: a duration such as 40s is needed, or nothing for no end", to)
		}
	}
	if r.from < 0 || r.to <= r.from {
		return rule{}, fmt.Errorf("the window ends at %v, not after its begin %v", r.to, r.from)
	}
	var words []string
	for _, word := range strings.Fields(rest) {
		share, isShare := strings.CutPrefix(word, "p=")
		if !isShare {
			words = append(words, word)
			continue
		}
		if r.p, err = parseProbability(share); err != nil {
			return rule{}, err
		}
	}
	if r.injection, err = parseInjection(strings.Join(words, " ")); err != nil {
		return rule{}, err
	}
	if r.injection.fault == Brownout && r.p != 1 {
		return rule{}, errors.New("a brownout slows the whole server and takes no p; slow=3 p=0.5 slows a share of the requests")
	}
	return r, nil
}

// shift moves rules that are relative to a later moment to the server's start.
func shift(rules []rule, by time.Duration) {
	for i := range rules {
		rules[i].from += by
		if rules[i].to != forever {
			rules[i].to += by
		}
	}
}
