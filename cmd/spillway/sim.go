package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/sim"
)

type simCmd struct {
	workloadFlags
	Scenario []string `type:"existingfile" placeholder:"FILE" help:"A story to play; may be given more than once. It brings its own world."`
	Compare  []string `placeholder:"NAME,…" help:"Other policies to put beside ours, on the same requests: ${deciders}."`
	JSON     bool     `name:"json" help:"Print one JSON object."`
	Report   string   `type:"path" placeholder:"FILE" help:"Write a page that a browser shows without a network."`
	Update   bool     `help:"Write the outcome of each scenario below its story in the file."`
}

// workloadFlags say what is to be simulated.
type workloadFlags struct {
	Config   string        `type:"existingfile" placeholder:"FILE" help:"The gateway's configuration; its section simulation says what upstreams and callers are like."`
	Trace    []string      `type:"existingfile" placeholder:"FILE" help:"Recorded requests (see docs/traces.md for the formats); more than one are merged by time."`
	Load     float64       `help:"Stretch time so that the offered work is this many times what the upstreams can do; 0 leaves it."`
	From     time.Duration `help:"Leave out what comes before this time of the trace."`
	Duration time.Duration `help:"And what comes after so long; 0 plays all of it."`
	Compress float64       `default:"1" help:"Play the trace this many times as fast, before --load."`
	Tenants  int           `help:"Spread a trace that names no tenants over so many."`
	Seed     uint64        `default:"1" help:"Equal input and seed give equal output."`
}

func (c *simCmd) Run(ctx context.Context) error {
	if len(c.Scenario) > 0 {
		if c.Config != "" || len(c.Trace) > 0 || len(c.Compare) > 0 {
			return usageError{errors.New("a scenario brings its own configuration, requests and policies: give either --scenario or --config with --trace")}
		}
		return c.scenarios()
	}
	w, workload, err := c.world()
	if err != nil {
		return usageError{err}
	}
	policies := []string{"ours"}
	for _, name := range c.Compare {
		if !slices.Contains(policies, name) {
			policies = append(policies, name)
		}
	}
	w.Progress = progress(ctx, "simulated")
	cmp, err := sim.Compare(w, workload, policies)
	if err != nil {
		return usageError{err}
	}
	return c.print(cmp)
}

func (c *simCmd) print(cmp *sim.Comparison) error {
	if c.Report != "" {
		f, err := os.Create(c.Report)
		if err != nil {
			return err
		}
		if err := errors.Join(cmp.Report(f), f.Close()); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if c.JSON {
		out, err := json.Marshal(struct {
			Load     float64                `json:"load"`
			Policies map[string]*sim.Result `json:"policies"`
		}{cmp.Load, cmp.Results})
		if err != nil {
			return err
		}
		fmt.Println(string(out))
		return nil
	}
	fmt.Print(cmp.Table())
	return nil
}

// scenarios plays stories and fails if a bar is not met.
func (c *simCmd) scenarios() error {
	missed := 0
	for _, file := range c.Scenario {
		text, err := os.ReadFile(file)
		if err != nil {
			return usageError{err}
		}
		s, err := sim.ParseScenario(file, strings.NewReader(string(text)))
		if err != nil {
			return usageError{err}
		}
		o, err := s.Tell(nil)
		if err != nil {
			return usageError{fmt.Errorf("%s: %w", file, err)}
		}
		switch {
		case c.Update:
			story, _, _ := strings.Cut(string(text), sim.OutcomeMark+"\n")
			if err := os.WriteFile(file, []byte(story+sim.OutcomeMark+"\n"+o.Text), 0o644); err != nil {
				return err
			}
		case c.JSON:
			out, err := json.Marshal(struct {
				Scenario string                 `json:"scenario"`
				Missed   []string               `json:"missed"`
				Policies map[string]*sim.Result `json:"policies"`
			}{file, o.Missed, o.Results})
			if err != nil {
				return err
			}
			fmt.Println(string(out))
		default:
			fmt.Printf("%s: %s\n\n%s\n", file, s.Title, o.Text)
		}
		for _, m := range o.Missed {
			fmt.Fprintf(os.Stderr, "%s: not met: %s\n", file, m)
		}
		missed += len(o.Missed)
	}
	if missed > 0 {
		return fmt.Errorf("%d expectations were not met", missed)
	}
	return nil
}

// world makes what is simulated of the flags. The workload may be opened
// again and again.
func (c *workloadFlags) world() (w sim.World, workload func() (sim.Source, error), err error) {
	if c.Config == "" || len(c.Trace) == 0 {
		return w, nil, errors.New("give --config FILE and --trace FILE, or --scenario FILE")
	}
	cfg, err := config.Load(c.Config)
	if err != nil {
		return w, nil, err
	}
	ups, kinds := sim.FromConfig(cfg)
	w = sim.World{Policy: sim.PolicyOf(cfg), Upstreams: ups, Seed: c.Seed}
	stretch := 1.0
	workload = func() (sim.Source, error) {
		s, err := c.open(cfg)
		if err != nil {
			return nil, err
		}
		return sim.Dress(sim.Stretch(s, stretch), kinds, c.Seed), nil
	}
	s, err := workload()
	if err != nil {
		return w, nil, err
	}
	o, err := sim.Survey(w, s)
	if err != nil {
		return w, nil, err
	}
	if o.Requests == 0 {
		return w, nil, errors.New("the trace has no requests between --from and --duration")
	}
	addTenants(w.Policy, o.Tenants)
	if c.Load > 0 {
		stretch = o.Load() / c.Load
	}
	return w, workload, nil
}

// addTenants makes tenants of the trace known that the configuration does not name.
func addTenants(p *admit.Policy, names []string) {
	known := map[string]bool{}
	for _, t := range p.Tenants {
		known[t.Name] = true
	}
	for _, n := range names {
		if !known[n] {
			p.Tenants = append(p.Tenants, admit.Tenant{Name: n, Weight: 1})
		}
	}
}

// open reads the traces from their beginning.
func (c *workloadFlags) open(cfg *config.Config) (sim.Source, error) {
	model := config.CatchAll
	if _, ok := cfg.Models[model]; !ok {
		for name := range cfg.Models {
			if model == config.CatchAll || name < model {
				model = name
			}
		}
	}
	var sources []sim.Source
	for i, file := range c.Trace {
		o := sim.TraceOptions{
			Tenant: traceTenant(file), Model: model, From: c.From, Duration: c.Duration, Speed: c.Compress, Seed: c.Seed + uint64(i), Tenants: c.Tenants,
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		var s sim.Source
		if lengths, ok := strings.CutSuffix(file, "_rates.csv.gz"); ok {
			l, err := os.Open(lengths + "_lengths.csv.gz")
			if err != nil {
				return nil, fmt.Errorf("the rates of %s need their lengths beside them: %w", file, err)
			}
			s, err = sim.ServeGen(file, f, l, o)
			if err != nil {
				return nil, err
			}
		} else if s, err = sim.Trace(file, f, o); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sim.Merge(sources...), nil
}

// traceTenant is the tenant of a trace that names none: the last word of its
// file's name, such as conv of AzureLLMInferenceTrace_conv.csv.
func traceTenant(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".gz")
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if i := strings.LastIndexByte(name, '_'); i >= 0 && i < len(name)-1 {
		return name[i+1:]
	}
	return name
}

// progress shows how far a long run is, on a terminal. It ends the process
// when ctx ends: a simulation holds nothing that must be put in order.
func progress(ctx context.Context, what string) func(time.Duration) {
	var bar *progressbar.ProgressBar
	if term.IsTerminal(int(os.Stderr.Fd())) {
		bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionClearOnFinish())
	}
	return func(done time.Duration) {
		if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, "spillway: interrupted")
			os.Exit(exitFailed)
		}
		if bar != nil {
			bar.Describe(fmt.Sprintf("%s %s", done.Round(time.Second), what))
			bar.Add(1)
		}
	}
}
