package sim

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// smallPolicy is one model m with slots, and the tenants a and b.
func smallPolicy(slots int, change ...func(*admit.Policy)) *admit.Policy {
	p := &admit.Policy{
		Models:  []admit.Model{{Name: "m", Deployments: []admit.Deployment{{Name: "d", Concurrency: slots}}, Prior: admit.Prior{Output: 100}}},
		Tenants: []admit.Tenant{{Name: "a"}, {Name: "b"}},
	}
	for _, c := range change {
		c(p)
	}
	p.Defaults()
	return p
}

// times is a Truth that is written down.
type times map[admit.ID][2]time.Duration

func (t times) Service(id admit.ID) (first, total time.Duration) { return t[id][0], t[id][1] }

// act plays a story, one event a line, and compares what the decider says:
//
//	TIME offer ID [tenant=a] [class=batch] [deadline=3s] [needs=1s] [first=200ms] [in=10] [max=10] -> DECISIONS
//	TIME finish ID [status=200] [in=10] [out=10] -> DECISIONS
//	TIME gone ID       -> DECISIONS   the caller leaves while it runs
//	TIME cancel ID     -> DECISIONS
//	TIME slow 3        the true times of all requests become three times as long
//
// A decision is "ID verdict stage", with the time to come back if there is one.
func act(t *testing.T, name string, p *admit.Policy, story string) {
	t.Helper()
	truth := times{}
	d, err := NewDecider(name, p, truth, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(story), "\n") {
		line, _, _ = strings.Cut(line, "#")
		event, want, _ := strings.Cut(line, "->")
		words := strings.Fields(event)
		if len(words) == 0 {
			continue
		}
		after, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatal(err)
		}
		now := epoch.Add(after)
		n, err := strconv.Atoi(words[2])
		if err != nil {
			t.Fatal(err)
		}
		id, more := admit.ID(n), storyOptions(t, words[3:])
		var got []admit.Decision
		switch words[1] {
		case "offer":
			r := admit.Request{ID: id, Tenant: "a", Model: "m", Arrived: now, Input: more.number("in"), MaxOutput: more.number("max")}
			if more["tenant"] != "" {
				r.Tenant = more["tenant"]
			}
			r.Class, _ = admit.ParseClass(more["class"])
			if more["deadline"] != "" {
				r.Deadline = now.Add(more.span("deadline"))
			}
			r.Stream = more["first"] != ""
			truth[id] = [2]time.Duration{more.span("first"), more.span("needs")}
			got = d.Offer(now, r)
		case "finish":
			o := admit.Outcome{Status: 200, Input: more.number("in"), Output: more.number("out"), Known: true}
			if more["status"] != "" {
				o.Status = int(more.number("status"))
			}
			o.OK = o.Status == 200
			got = d.Finish(now, id, o)
		case "gone":
			got = d.Finish(now, id, admit.Outcome{CallerGone: true})
		case "cancel":
			got = d.Cancel(now, id)
		case "slow":
			for id, s := range truth {
				truth[id] = [2]time.Duration{s[0] * time.Duration(n), s[1] * time.Duration(n)}
			}
		default:
			t.Fatalf("no event %q", words[1])
		}
		var said []string
		for _, d := range got {
			s := fmt.Sprintf("%d %s %s", d.ID, d.Verdict, d.Stage)
			if d.RetryAfter > 0 {
				s += " " + d.RetryAfter.String()
			}
			if d.Verdict == admit.Run && d.Deployment == "" {
				s += " nowhere"
			}
			said = append(said, s)
		}
		if got, want := strings.Join(said, ", "), strings.Join(strings.Fields(want), " "); got != want {
			t.Errorf("%s: %s: got %q, want %q", name, strings.TrimSpace(event), got, want)
		}
	}
	if !d.Next().IsZero() {
		t.Errorf("%s: something is due by itself", name)
	}
}

type storyWords map[string]string

func storyOptions(t *testing.T, list []string) storyWords {
	m := storyWords{}
	for _, w := range list {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			t.Fatalf("%q is no option", w)
		}
		m[k] = v
	}
	return m
}

func (w storyWords) number(k string) int64 { n, _ := strconv.ParseInt(w[k], 10, 64); return n }

func (w storyWords) span(k string) time.Duration { d, _ := time.ParseDuration(w[k]); return d }
