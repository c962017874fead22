// Command overload measures what callers experience when a model server is
// offered more than it can do: without a gateway, behind a hand-tuned HAProxy,
// and behind Spillway. It starts all of them as child processes on loopback,
// offers the same arrivals to each, prints tables and compares the figures
// with their bars. It exits with 1 if a bar is missed.
//
//	make build && go run ./bench/overload
//	go run ./bench/overload -quick -only overload
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The upstream and the callers of every experiment.
const (
	slots       = 16
	serviceMean = time.Second
	capacity    = slots * float64(time.Second) / float64(serviceMean) // requests a second
	deadline    = 8 * time.Second
	retries     = 2
	seed        = 1
)

// bench is one run of this program. The experiments use it one after another.
type bench struct {
	binary string        // spillway
	phase  time.Duration // of one load level
	loads  []float64     // levels of the experiment "overload", over the capacity
	apart  bool          // one system at a time
	logs   string        // directory for logs and recorded events; empty keeps none
	report report
}

// experiments are run in this order.
var experiments = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"overload", (*bench).overload},
	{"brownout", (*bench).brownout},
	{"fair", (*bench).fair},
	{"priority", (*bench).priority},
	{"cancel", (*bench).cancelled},
}

func main() {
	var names []string
	for _, e := range experiments {
		names = append(names, e.name)
	}
	b := &bench{}
	quick := flag.Bool("quick", false, "short phases of 12 s, for a sanity check: the bars are meant for the full length")
	only := flag.String("only", strings.Join(names, ","), "experiments to run")
	flag.DurationVar(&b.phase, "duration", time.Minute, "length of one load level; the other experiments take twice as long")
	flag.StringVar(&b.binary, "bin", "bin/spillway", "the spillway binary (make build)")
	flag.BoolVar(&b.apart, "apart", false, "measure one system after another instead of all at the same time")
	flag.StringVar(&b.logs, "logs", "", "directory to keep the gateways' logs and recorded events in")
	loads := flag.String("loads", "1,2,5,10", "load levels of the experiment overload, in multiples of the capacity")
	out := flag.String("json", "", "file to write every figure to")
	flag.Parse()
	if *quick {
		b.phase = 12 * time.Second
	}
	chosen := strings.Split(*only, ",")
	for _, c := range chosen {
		if !slices.Contains(names, c) {
			fail(2, fmt.Errorf("unknown experiment %q; there are %s", c, strings.Join(names, ", ")))
		}
	}
	for _, text := range strings.Split(*loads, ",") {
		level, err := strconv.ParseFloat(text, 64)
		if err != nil || !(level > 0 && level <= 50) {
			fail(2, fmt.Errorf("-loads: %q is no number above 0 and at most 50", text))
		}
		b.loads = append(b.loads, level)
	}
	if b.phase < 5*time.Second {
		fail(2, fmt.Errorf("-duration %v is too short to measure anything: at least 5s", b.phase))
	}

	if b.logs != "" {
		if err := os.MkdirAll(b.logs, 0o755); err != nil {
			fail(1, fmt.Errorf("keep the logs: %w", err))
		}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b.report.Machine = fmt.Sprintf("%d CPUs, %s, %s/%s", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	b.report.Started, b.report.PhaseSeconds = time.Now().UTC().Truncate(time.Second), b.phase.Seconds()
	b.report.say("%s. The upstream has %d slots and a mean service time of %v; callers have %v and retry %d times as the official SDKs do.",
		b.report.Machine, slots, serviceMean, deadline, retries)
	var err error
	for _, e := range experiments {
		if slices.Contains(chosen, e.name) && err == nil {
			if err = e.run(b, ctx); err != nil {
				err = fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	if err == nil || len(b.report.Runs) > 0 {
		b.report.verdict()
		err = errors.Join(err, b.write(*out))
	}
	switch {
	case ctx.Err() != nil:
		fail(1, errors.New("interrupted"))
	case err != nil:
		fail(1, err)
	case !b.report.passed():
		os.Exit(1)
	}
}

// write puts the report into a file, if one is named.
func (b *bench) write(name string) error {
	if name == "" {
		return nil
	}
	text, err := json.MarshalIndent(&b.report, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.WriteFile(name, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "overload:", err)
	os.Exit(code)
}
