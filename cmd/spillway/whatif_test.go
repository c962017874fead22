package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops"
)

// small is a gateway with one model of so many slots.
func small(t *testing.T, slots int, more string) *config.Config {
	t.Helper()
	c, err := config.Parse("small.yaml", fmt.Appendf(nil, "providers: {up: {base_url: \"http://127.0.0.1:1/v1\"}}\nmodels: {chat: {deployments: [{name: gpu, provider: up, concurrency: %d}]}}\n%s", slots, more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// steady is four minutes of two requests a second, each of a second: two slots
// are always busy, and the third never waits.
func steady(tenant string, end time.Time) (list []gateway.Passed) {
	for i := range 480 {
		list = append(list, gateway.Passed{
			At: end.Add(-4*time.Minute + time.Duration(i)*time.Second/2).UnixNano(), Tenant: tenant, Model: "chat", Input: 100, Deadline: 30, Class: admit.Interactive,
			Marks: gateway.MarkTold | gateway.MarkEnded, Outcome: telemetry.Answered, Sent: 1, Deployment: "gpu", Output: 50, Total: 0.98, Cost: 1000,
		})
	}
	return list
}

// TestForecast: what is remembered of a gateway reaches the simulator and comes
// back in the surface's words.
func TestForecast(t *testing.T) {
	now, then := small(t, 2, ""), small(t, 1, "")
	end := time.Now().Round(0)
	list := steady(now.Tenants[0].Name, end)
	list[300].Outcome, list[300].Sent, list[300].Deployment, list[300].Total = telemetry.Failed, 1, "gpu", 0.1
	open := &list[479]
	open.Marks = gateway.MarkTold
	q := &ops.Question{
		Now: now, Then: then, Each: map[string]*config.Config{"models.chat.deployments[gpu].concurrency": then, "log.level": small(t, 2, "log: {level: debug}")},
		Traffic: list, End: end, Span: 3 * time.Minute,
	}
	out, err := forecast(q)
	if err != nil {
		t.Fatal(err)
	}
	if from, to := end.Add(-3*time.Minute-time.Second/2), end.Add(-time.Second/2); !out.To.Equal(to) || !out.From.Equal(from) || out.Requests != 360 {
		t.Errorf("%d requests from %v to %v, want 360 from %v, until the one that is not over at %v", out.Requests, out.From, out.To, from, to)
	}
	if m := out.Measured; m.Offered != 360 || m.Served != 359 || m.OnTime != 359 || m.Refused != 0 || math.Abs(m.Cost-0.36) > 1e-9 || m.Goodput != 1.994 {
		t.Errorf("measured: %+v", m)
	}
	if n := out.Now; n.OnTime != 360 || n.WaitP99 != 0 {
		t.Errorf("with two slots all are served at once: %+v", n)
	}
	if n := out.Then; n.OnTime < 170 || n.OnTime > 185 || n.Refused != 360-n.OnTime || n.WaitP50 < 15 {
		t.Errorf("with one slot half are, after a wait: %+v", n)
	}
	if len(out.Classes) != 1 || out.Classes[0].Class != "interactive" || out.Classes[0].Then != out.Then || len(out.Tenants) != 1 || out.Tenants[0].Now != out.Now {
		t.Errorf("by class and tenant: %+v", out)
	}
	warned := strings.Join(out.Warnings, "\n")
	for _, want := range []string{"log.level shows no effect"} {
		if !strings.Contains(warned, want) {
			t.Errorf("no warning that %q in\n%s", want, warned)
		}
	}
	if strings.Contains(warned, "concurrency") || strings.Contains(warned, "failed") {
		t.Errorf("a warning too many:\n%s", warned)
	}
}
