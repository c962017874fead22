package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// limited is a pool of one deployment with limits.
func limited(concurrency, keys int, requests, tokens int64) *admit.Policy {
	d := admit.Deployment{Name: "us", Concurrency: concurrency}
	for range keys {
		d.Keys = append(d.Keys, admit.Quota{Requests: requests, Tokens: tokens})
	}
	p := &admit.Policy{Models: []admit.Model{{Name: "chat", Deployments: []admit.Deployment{d}}}}
	p.Defaults()
	return p
}

// A request of two seconds and a thousand tokens. What is kept from a limit is
// 1 %, the headroom a quarter.
func TestFeeds(t *testing.T) {
	for _, tt := range []struct {
		keys             int
		requests, tokens int64
		busy, useful     int
		fact, warn       string // with concurrency 40
	}{
		{1, 1200, 0, 40, 50, "us at chat: rpm 1200 let pass 1188 requests a minute; of 2s each they are used up by 40 at once, and 50 leave a quarter of headroom", ""},
		{1, 1200, 600_000, 20, 25, "rpm 1200 and tpm 600000 / 1000 a request let pass 594 requests a minute", ""},
		{2, 1200, 600_000, 40, 50, "rpm 1200 and tpm 600000 / 1000 a request, of each of 2 keys let pass 1188", ""},
		{1, 6000, 0, 198, 248, "", "us at chat: concurrency 40 leaves its limits unused: they feed 198 calls at once, and 248 leave headroom"},
		{1, 60, 0, 2, 3, "", "us at chat: concurrency 40 is out of reach: its limits feed 2 calls at once"},
		{1, 1, 0, 1, 1, "rpm 1 let pass 0.99 requests a minute", "out of reach"},
		{3, 0, 0, 0, 0, "", ""}, // no limit known
	} {
		t.Run(fmt.Sprintf("%dx%d,%d", tt.keys, tt.requests, tt.tokens), func(t *testing.T) {
			p := limited(40, tt.keys, tt.requests, tt.tokens)
			f := Profile{Model: "chat", Slots: 40, Service: 2 * time.Second, Tokens: 1000}
			feeds := Feeds(&p.Models[0], &f)
			if tt.useful == 0 {
				if len(feeds) != 0 {
					t.Errorf("%+v", feeds)
				}
				return
			}
			if x := feeds[0]; x.Busy != tt.busy || x.Useful != tt.useful {
				t.Errorf("busy %d, useful %d; want %d, %d", x.Busy, x.Useful, tt.busy, tt.useful)
			}
			a := Limits(p, []Profile{f})
			if facts, warnings := strings.Join(a.Facts, "\n"), strings.Join(a.Warnings, "\n"); !strings.Contains(facts, tt.fact) || !strings.Contains(warnings, tt.warn) || (tt.warn == "") != (warnings == "") {
				t.Errorf("%s\nwarnings: %s", facts, warnings)
			}
		})
	}
}

// A deployment that is slower needs more calls at once for the same limit.
func TestFeedsByDeployment(t *testing.T) {
	p := limited(40, 1, 600, 0)
	slow := p.Models[0].Deployments[0]
	slow.Name = "eu"
	p.Models[0].Deployments = append(p.Models[0].Deployments, slow)
	f := Profile{Model: "chat", Service: 2 * time.Second, Tokens: 1000, Calls: map[string]time.Duration{"eu": 6 * time.Second}}
	feeds := Feeds(&p.Models[0], &f)
	if len(feeds) != 2 || feeds[0].Useful != 25 || feeds[1].Useful != 75 {
		t.Errorf("%+v", feeds)
	}
}

// Advice stays below what the limits feed, whatever the upstream could take.
func TestAdviceWithinLimits(t *testing.T) {
	f := &Profile{Model: "chat", Service: 2 * time.Second, Tokens: 1000}
	for _, tt := range []struct {
		name            string
		configured, was int
		auto            bool
		requests        int64
		want            int
	}{
		{"the limits feed less than is configured", 64, 0, false, 600, 25},
		{"and than the upstream has", 64, 128, false, 600, 25},
		{"the upstream has less", 64, 16, false, 600, 16},
		{"it fits", 20, 0, false, 600, 0},
		{"it is learnt", 64, 0, true, 600, 0},
		{"no limit", 64, 128, false, 0, 128},
	} {
		p := limited(tt.configured, 1, tt.requests, 0)
		p.Models[0].Deployments[0].Auto = tt.auto
		got := Advice{Concurrency: tt.was}.Within(&p.Models[0], f)
		if got.Concurrency != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got.Concurrency, tt.want)
		}
		if tt.want == 25 && got.why.concurrency != "rpm 600 let pass 594 requests a minute of 2s each, and a quarter more" {
			t.Errorf("%s: %s", tt.name, got.why.concurrency)
		}
	}
}

// What tune says of a trace is what the running core says of itself, once it
// has measured the same calls.
func TestFeedsAgreeWithTheCore(t *testing.T) {
	const calls, took, input, output = 2000, 3 * time.Second, 700, 300
	p := limited(64, 2, 900, 0)
	p.Tenants = []admit.Tenant{{Name: "a", Weight: 1}}
	c := admit.New(epoch, p, rand.New(rand.NewPCG(1, 2)))
	now := epoch
	for i := range calls {
		c.Offer(now, admit.Request{ID: admit.ID(i + 1), Tenant: "a", Model: "chat", Input: input, MaxOutput: output, Arrived: now, Deadline: now.Add(time.Minute)})
		now = now.Add(took)
		c.Finish(now, admit.ID(i+1), admit.Outcome{OK: true, Status: 200, Input: input, Output: output, Known: true})
	}
	view, _ := c.View(now, 0, nil)
	live := view.Deployments[0].Concurrency
	feeds := Feeds(&p.Models[0], &Profile{Model: "chat", Service: took, Tokens: input + output})
	if math.Abs(float64(live-feeds[0].Useful)) > 2 {
		t.Errorf("the core says %d, tune %d", live, feeds[0].Useful)
	}
}
