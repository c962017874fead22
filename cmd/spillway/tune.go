package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/load"
	"github.com/spillway-llm/spillway/internal/sim"
)

type tuneCmd struct {
	workloadFlags
	Target string `placeholder:"URL" help:"Ramp the load of a live API instead, such as http://127.0.0.1:8000/v1. Point it at an upstream that you may overload, not at the gateway."`
	liveFlags
}

// liveFlags say how a live target is ramped.
type liveFlags struct {
	Key      string        `env:"SPILLWAY_KEY" help:"API key of the target."`
	Model    string        `help:"Pool of the configuration that the target serves; the only one if there is one."`
	Ask      string        `help:"Model that the target is asked for; else the name of the pool's first deployment."`
	Rate     float64       `default:"1" help:"Arrivals a second to begin with: few enough that nothing waits."`
	MaxRate  float64       `default:"1000" help:"And where to end at the latest."`
	Step     time.Duration `default:"15s" help:"How long callers arrive at each rate; several times what a call takes."`
	Stream   bool          `help:"Ask for streams; the deadline then means the first token."`
	Deadline time.Duration `default:"30s" help:"How long callers wait."`
	Input    int           `default:"100" help:"Tokens of a prompt."`
	Output   int           `default:"200" help:"max_tokens."`
}

// Run prints a patch: settings, and everything else as comments, so that the
// output is valid YAML as a whole.
func (c *tuneCmd) Run(ctx context.Context) error {
	if c.Load != 0 {
		return usageError{errors.New("--load has no place here: tune tries all loads")}
	}
	switch {
	case c.Target == "":
		return c.simulate(ctx)
	case len(c.Trace) > 0:
		return usageError{errors.New("give either --trace or --target")}
	case c.Config == "":
		return usageError{errors.New("give --config FILE: the patch is for it")}
	}
	return c.live(ctx)
}

func (c *tuneCmd) simulate(ctx context.Context) error {
	w, workload, err := c.world()
	if err != nil {
		return usageError{err}
	}
	cfg, err := config.Load(c.Config)
	if err != nil {
		return usageError{err}
	}
	w.Progress = progress(ctx, "simulated")
	measured, err := c.measured()
	if err != nil {
		return usageError{err}
	}
	tuned, err := sim.Tune(w, workload, measured)
	if err != nil {
		return usageError{err}
	}
	p := patch{config: cfg}
	var traces []string
	for _, t := range c.Trace {
		traces = append(traces, filepath.Base(t))
	}
	p.say("Thresholds for %s, from %s in the simulator. Merge the settings into the file.", filepath.Base(c.Config), strings.Join(traces, ", "))
	var profiles []sim.Profile
	for i := range tuned {
		t := &tuned[i]
		profiles = append(profiles, t.Profile)
		p.ramp(&t.Ramp)
		p.trials(t)
		p.advise(t.Model, t.Advice)
	}
	p.limits(sim.Limits(w.Policy, profiles))
	_, err = os.Stdout.WriteString(p.String())
	return err
}

// measured is how long calls took by the recordings among the traces; of two
// that know a deployment the last one counts.
func (c *tuneCmd) measured() (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	for _, file := range c.Trace {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		m, err := sim.Measured(file, f)
		f.Close()
		if err != nil {
			return nil, err
		}
		maps.Copy(all, m)
	}
	return all, nil
}

// rampFactor is the growth of the rate from step to step.
const rampFactor = 1.5

func (c *tuneCmd) live(ctx context.Context) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return usageError{err}
	}
	pool, err := c.pool(cfg)
	if err != nil {
		return usageError{err}
	}
	s := load.Settings{
		Target: c.Target, Key: c.Key, Model: c.ask(cfg.Models[pool], pool), Rate: c.Rate, Duration: c.Step, Seed: c.Seed,
		Stream: c.Stream, Deadline: c.Deadline, Input: c.Input, Output: c.Output, Stats: "none",
	}
	if err := s.Validate(); err != nil {
		return usageError{err}
	}
	if c.Rate <= 0 || c.MaxRate < c.Rate {
		return usageError{fmt.Errorf("--rate %v and --max-rate %v: give rates above zero, the second not below the first", c.Rate, c.MaxRate)}
	}
	ramp := &sim.Ramp{Profile: sim.Profile{Model: pool, Tokens: float64(c.Input + c.Output)}}
	step := func(rate float64) error {
		s.Rate = rate
		fmt.Fprintf(os.Stderr, "tune: %.3g requests a second for %s\n", rate, c.Step)
		sum, err := load.Run(ctx, s, nil)
		if err != nil {
			return err
		}
		return measured(ramp, &sum, c.Deadline)
	}
	if err := sim.Climb(ramp, c.Rate, c.MaxRate, rampFactor, step); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	if _, _, found := ramp.Knee(); !found {
		fmt.Fprintln(os.Stderr, "tune: lateness did not begin within the ramp: the figures are of its end; try another --rate or --max-rate")
	}
	p := patch{config: cfg}
	p.say("Thresholds for %s, from a ramp of %s. Merge the settings into the file.", filepath.Base(c.Config), c.Target)
	p.ramp(ramp)
	policy := sim.PolicyOf(cfg)
	advice := ramp.Advise()
	for i := range policy.Models {
		if policy.Models[i].Name == pool {
			advice = advice.Within(&policy.Models[i], &ramp.Profile)
		}
	}
	p.advise(pool, advice)
	ramp.Slots = ramp.Concurrency()
	p.limits(sim.Limits(policy, []sim.Profile{ramp.Profile}))
	_, err = os.Stdout.WriteString(p.String())
	return err
}

// measured adds what callers experienced at one rate. The first is the
// baseline.
func measured(r *sim.Ramp, sum *load.Summary, deadline time.Duration) error {
	seconds := func(f *float64) time.Duration {
		if f == nil {
			return 0
		}
		return time.Duration(*f * float64(time.Second))
	}
	s := sim.Step{Rate: float64(sum.Offered) / sum.Duration, Late: 1 - float64(sum.OnTime)/float64(max(sum.Offered, 1))}
	p95 := seconds(sum.LatencyP95)
	if len(r.Steps) == 0 {
		if sum.OnTime == 0 {
			return fmt.Errorf("nothing was answered in time at the lowest rate: %d offered, %d late, %d refused, errors: %s",
				sum.Offered, sum.Late, sum.Refused, strings.Join(sum.FirstErrors, "; "))
		}
		r.Service, r.Service95 = seconds(sum.LatencyMean), p95
		need := p95
		if sum.TTFTP99 != nil {
			need = seconds(sum.TTFTP99)
		}
		r.Patience = max(deadline-need, 0)
	}
	s.Wait95 = max(p95-r.Service95, 0)
	if sum.LatencyP95 == nil { // not one answer
		s.Wait95 = deadline
	}
	r.Steps = append(r.Steps, s)
	return nil
}

func (c *liveFlags) pool(cfg *config.Config) (string, error) {
	if c.Model != "" {
		if cfg.Models[c.Model] == nil {
			return "", fmt.Errorf("the configuration has no model %q", c.Model)
		}
		return c.Model, nil
	}
	if len(cfg.Models) != 1 {
		return "", fmt.Errorf("the configuration has %d models: say with --model which one the target serves", len(cfg.Models))
	}
	for name := range cfg.Models {
		return name, nil
	}
	return "", nil
}

func (c *liveFlags) ask(m *config.Model, pool string) string {
	switch {
	case c.Ask != "":
		return c.Ask
	case m.Deployments[0].Model != "":
		return m.Deployments[0].Model
	}
	return pool
}

// patch is what tune prints.
type patch struct {
	config *config.Config
	strings.Builder
	begun bool // "models:" is written
}

func (p *patch) say(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...) + "\n") {
		p.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
}

func (p *patch) ramp(r *sim.Ramp) {
	p.say("")
	slots := ""
	if r.Slots > 0 {
		slots = fmt.Sprintf("%d slots, ", r.Slots)
	}
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	p.say("model %s: %sa call takes %s (P95 %s), nine of ten requests can wait at most %s", r.Model, slots, ms(r.Service), ms(r.Service95), ms(r.Patience))
	at := func(s sim.Step) string {
		text := fmt.Sprintf("%.3g requests a second (%.1f %% late, P95 wait %s)", s.Rate, 100*s.Late, ms(s.Wait95))
		if s.Load > 0 {
			text = fmt.Sprintf("load %.2f, ", s.Load) + text
		}
		return text
	}
	switch good, bad, found := r.Knee(); {
	case found:
		p.say("unprotected, lateness cascades between %s\n  and %s", at(good), at(bad))
	case good.Late > 0.02:
		p.say("unprotected, it is late at every load of the ramp, from %s on", at(good))
	default:
		p.say("unprotected, lateness does not cascade up to %s", at(bad))
	}
	p.say("%s", strings.TrimRight(r.Curve(), "\n"))
}

func (p *patch) trials(t *sim.Tuned) {
	for _, trial := range t.Trials {
		p.say("")
		p.say("at load %.3g:", trial.Load)
		p.say("%s", strings.TrimRight(trial.Policies(), "\n"))
	}
	p.say("")
	switch {
	case t.Advice.Nothing():
		p.say("Nothing is advised: what is configured does better.")
	case t.High == 0:
		p.say("No watermarks are advised: without them each request is judged by its own deadline, and that does better.")
	}
}

func (p *patch) advise(model string, a sim.Advice) {
	var only *sim.Deployment
	switch ds := p.config.Models[model].Deployments; {
	case len(ds) == 1 && p.config.Plain(&ds[0]):
		only = &sim.Deployment{Provider: ds[0].Provider, Model: ds[0].Model}
	case a.Concurrency == 0:
	case len(ds) == 1: // the patch would lose what else is said of it
		p.say("The concurrency of %s should be %d%s.", ds[0].Name, a.Concurrency, a.Because())
	default:
		p.say("The concurrency of all deployments of %s together should be %d%s.", model, a.Concurrency, a.Because())
	}
	settings := a.Patch(model, only)
	if settings != "" && !p.begun {
		p.WriteString("models:\n")
		p.begun = true
	}
	p.WriteString(settings)
}

func (p *patch) limits(a sim.Arithmetic) {
	p.say("")
	p.say("What the configured limits allow (concurrency = rate x time):")
	for _, f := range a.Facts {
		p.say("  %s", f)
	}
	for _, w := range a.Warnings {
		p.say("warning: %s", w)
	}
}
