package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/guptarohit/asciigraph"
	"golang.org/x/term"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/load"
	"github.com/spillway-llm/spillway/internal/mock"
	"github.com/spillway-llm/spillway/internal/ops"
)

type demoCmd struct {
	Times    float64       `default:"4" help:"Load to offer, in multiples of what the model server can do."`
	Duration time.Duration `default:"12s" help:"How long callers arrive, in each of the two runs."`
}

// The model server of the demo and its callers.
const (
	demoSlots    = 16
	demoService  = 250 * time.Millisecond
	demoCapacity = demoSlots * float64(time.Second) / float64(demoService) // requests a second
	demoDeadline = 2 * time.Second
	demoLight    = 0.05 // of the load
)

func (demoCmd) Help() string {
	return "A simulated model server is offered more than it can do, by one large tenant and one small one, whose callers wait two\n" +
		"seconds and retry as the official SDKs do: first without the gateway, then through it. Everything runs in this process,\n" +
		"on loopback, and ends with it."
}

func (c *demoCmd) Run(ctx context.Context) error {
	if !(c.Times > 0 && c.Times <= 20) || c.Duration < 2*time.Second || c.Duration > time.Minute {
		return usageError{fmt.Errorf("demo: --times is above 0 and at most 20, --duration from 2s to 1m")}
	}
	fmt.Printf("A model server that can do %.0f requests a second is offered %.0f, for %v.\n", demoCapacity, c.Times*demoCapacity, c.Duration)
	fmt.Printf("Callers wait at most %v and retry twice. A small tenant sends %.0f %% of the load, a large one the rest.\n\n", demoDeadline, 100*demoLight)
	without, err := c.run(ctx, "without the gateway", false)
	if err != nil {
		return err
	}
	with, err := c.run(ctx, "through Spillway", true)
	if err != nil {
		return err
	}
	fmt.Print("\n", compare(without.Summary, with.Summary), "\n", plot(without.onTime, with.onTime, term.IsTerminal(int(os.Stdout.Fd()))), "\n")
	return nil
}

// demoRun is what the callers of one run experienced.
type demoRun struct {
	load.Summary
	onTime []float64 // answers a second, at each second from the start
}

// run offers the load to a new model server.
func (c *demoCmd) run(ctx context.Context, name string, guarded bool) (r demoRun, err error) {
	fmt.Printf("%s ...\n", name)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r, fmt.Errorf("demo: %w", err)
	}
	stop, err := startMock(mock.Settings{Slots: demoSlots, ServiceMean: demoService, Seed: 1}, l)
	if err != nil {
		return r, fmt.Errorf("demo: %w", err)
	}
	defer stop()
	upstream := "http://" + l.Addr().String()
	target := upstream + "/v1"
	if guarded {
		var end func() error
		if target, end, err = demoGateway(ctx, target); err != nil {
			return r, fmt.Errorf("demo: %w", err)
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	r.onTime = []float64{0}
	bar, before, since := load.Bar(os.Stderr), int64(0), time.Duration(0)
	r.Summary, err = load.Run(ctx, load.Settings{
		Target: target, Stats: upstream + "/stats", Rate: c.Times * demoCapacity, Duration: c.Duration, Seed: 1,
		Deadline: demoDeadline, Retries: load.DefaultRetries,
		Tenants: []load.Tenant{{Name: "small", Key: demoKey("small"), Share: demoLight}, {Name: "large", Key: demoKey("large"), Share: 1 - demoLight}},
	}, func(p load.Progress) {
		bar(p)
		if p.Elapsed-since > time.Second/2 { // the last report may come at any time
			r.onTime = append(r.onTime, float64(p.OnTime-before)/(p.Elapsed-since).Seconds())
			before, since = p.OnTime, p.Elapsed
		}
	})
	if err != nil {
		return r, fmt.Errorf("demo: %w", err)
	}
	return r, nil
}

func demoKey(tenant string) string { return "demo-key-of-the-" + tenant + "-tenant" }

// demoGateway runs a gateway in front of an upstream until end is called.
func demoGateway(ctx context.Context, upstream string) (target string, end func() error, err error) {
	text := fmt.Sprintf(`
providers:
  upstream: {base_url: %s}
models:
  chat:
    deployments: [{provider: upstream, concurrency: %d}]
tenants:
  - {name: small, keys: [%q]}
  - {name: large, keys: [%q]}
`, upstream, demoSlots, config.HashKey(demoKey("small")), config.HashKey(demoKey("large")))
	cfg, err := config.Parse("the demo's configuration", []byte(text), os.LookupEnv)
	if err != nil {
		return "", nil, err
	}
	log := telemetry.NewLogger(io.Discard)
	g, err := gateway.New(cfg, gateway.Options{Log: log})
	if err != nil {
		return "", nil, err
	}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.Close()
		return "", nil, err
	}
	operators, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		public.Close()
		g.Close()
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- g.Serve(ctx, public, operators, ops.New(g, ops.Options{Loopback: true, Log: log.Slog()}))
	}()
	return "http://" + public.Addr().String() + "/v1", func() error {
		cancel()
		defer g.Close()
		return <-served
	}, nil
}

// compare sets the two runs side by side.
func compare(without, with load.Summary) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\twithout\twith Spillway\n")
	line := func(what string, of func(load.Summary) string) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", what, of(without), of(with))
	}
	line("requests", func(s load.Summary) string { return fmt.Sprint(s.Offered) })
	line("answered in time", func(s load.Summary) string { return part(s.OnTime, s.Offered) })
	line("  of the small tenant's", func(s load.Summary) string { return part(s.Tenants["small"].OnTime, s.Tenants["small"].Offered) })
	line("waited in vain", func(s load.Summary) string { return part(s.Late+s.Errors, s.Offered) })
	line("refused", func(s load.Summary) string { return part(s.Refused, s.Offered) })
	line("  told so after", func(s load.Summary) string {
		if s.RefusalMean == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f s", *s.RefusalMean)
	})
	line("attempts a request", func(s load.Summary) string { return fmt.Sprintf("%.2f", s.AttemptsPerOffered) })
	line("slot seconds for answers in time", func(s load.Summary) string {
		if s.GoodputRatio == nil {
			return "-"
		}
		had := demoSlots * s.Duration
		return fmt.Sprintf("%.0f of %.0f (%.0f %%)", *s.GoodputRatio*had, had, 100**s.GoodputRatio)
	})
	line("slot seconds spent in vain", func(s load.Summary) string {
		if s.WastedSlotSeconds == nil {
			return "-"
		}
		return fmt.Sprintf("%.0f", *s.WastedSlotSeconds)
	})
	w.Flush()
	return out.String()
}

func part(n, of int64) string {
	return fmt.Sprintf("%d (%.0f %%)", n, 100*float64(n)/float64(max(1, of)))
}

// plot draws the answers in time, second by second. On a terminal colours tell
// the runs apart, elsewhere the characters of the lines.
func plot(without, with []float64, colours bool) string {
	series := [][]float64{without, with}
	seconds := max(len(without), len(with))
	for i := range series { // to the same length: the plot stretches each to its width
		series[i] = append(slices.Clone(series[i]), make([]float64, seconds-len(series[i]))...)
	}
	options := []asciigraph.Option{
		asciigraph.Height(12), asciigraph.Width(60), asciigraph.LowerBound(0), asciigraph.UpperBound(demoCapacity), asciigraph.Precision(0),
		asciigraph.XAxisRange(0, float64(max(seconds-1, 1))), asciigraph.XAxisTickCount(5),
		asciigraph.XAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%.1f s", v) }),
	}
	caption := fmt.Sprintf("answers in time a second; the server can do %.0f", demoCapacity)
	if colours {
		options = append(options, asciigraph.SeriesColors(asciigraph.Red, asciigraph.Green), asciigraph.SeriesLegends("without", "with Spillway"))
	} else {
		options = append(options, asciigraph.SeriesChars(asciigraph.CreateCharSet("."), asciigraph.CreateCharSet("#")))
		caption += " (. without, # with Spillway)"
	}
	return asciigraph.PlotMany(series, append(options, asciigraph.Caption(caption))...) + "\n"
}
