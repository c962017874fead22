// Command agree shows that the simulator tells what happens: it offers the same
// requests to a live gateway and to a simulated one and compares what came of
// them. It exits with 1 if a bar is missed.
//
//	make build && go run ./bench/agree
//
// For each load it starts a model server and a gateway that records as child
// processes, and offers the load on loopback. The simulator then plays the
// recorded requests with the same configuration file, many times: the arrivals
// are those of the live run, the service times are drawn anew each time from
// the law that the live model server draws from. So the two differ by chance in
// the service times alone, and the spread of the simulated runs says by how much.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The upstream and the callers of every run.
const (
	slots       = 16
	serviceMean = time.Second
	noise       = 25                                                  // sigma of service times, per cent
	capacity    = slots * float64(time.Second) / float64(serviceMean) // requests a second
	deadline    = 8 * time.Second
	retries     = 2
)

// bench is one run of this program.
type bench struct {
	binary string        // spillway
	length time.Duration // of a live run
	runs   int           // live runs of each load, one after another
	seeds  int           // simulated runs of each live one
	dir    string        // of configurations and recordings
}

func main() {
	b := &bench{}
	flag.DurationVar(&b.length, "duration", time.Minute, "length of one live run")
	flag.IntVar(&b.runs, "runs", 4, "live runs of each load, with other arrivals each")
	flag.IntVar(&b.seeds, "seeds", 20, "simulated runs of each live one")
	flag.StringVar(&b.binary, "bin", "bin/spillway", "the spillway binary (make build)")
	flag.StringVar(&b.dir, "keep", "", "directory to keep configurations and recordings in")
	text := flag.String("loads", "0.8,1.3,2", "loads, in multiples of the capacity; they run at the same time")
	flag.Parse()
	loads, err := parseLoads(*text)
	if err == nil && (b.length < 10*time.Second || b.runs < 1 || b.seeds < 2) {
		err = errors.New("at least -duration 10s, -runs 1 and -seeds 2, or there is nothing to compare")
	}
	if err != nil {
		fail(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("%d CPUs, %s, %s/%s. The upstream has %d slots and a mean service time of %v; callers have %v and retry %d times as the official SDKs do.\n"+
		"%d live runs of %v at each load, and %d simulated runs of each.\n\n",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, slots, serviceMean, deadline, retries, b.runs, b.length, b.seeds)
	comparisons, err := b.compareAll(ctx, loads)
	if err != nil {
		fail(1, err)
	}
	if !report(os.Stdout, comparisons) {
		os.Exit(1)
	}
}

// parseLoads reads numbers with commas between them.
func parseLoads(text string) (loads []float64, err error) {
	for word := range strings.SplitSeq(text, ",") {
		load, err := strconv.ParseFloat(word, 64)
		if err != nil || !(load > 0 && load <= 20) {
			return nil, fmt.Errorf("-loads: %q is no number above 0 and at most 20", word)
		}
		loads = append(loads, load)
	}
	return loads, nil
}

// compareAll makes the comparison of each load. Loads run at the same time, so
// that whatever disturbs the machine disturbs all.
func (b *bench) compareAll(ctx context.Context, loads []float64) (_ []*comparison, err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "spillway-agree-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	}
	comparisons, errs := make([]*comparison, len(loads)), make([]error, len(loads))
	var all sync.WaitGroup
	for i, load := range loads {
		all.Go(func() {
			if comparisons[i], errs[i] = b.compare(ctx, load); errs[i] != nil {
				errs[i] = fmt.Errorf("load %g: %w", load, errs[i])
			}
		})
	}
	all.Wait()
	return comparisons, errors.Join(errs...)
}

// compare makes the live and the simulated runs of one load.
func (b *bench) compare(ctx context.Context, load float64) (*comparison, error) {
	c := &comparison{load: load}
	for run := range b.runs {
		dir := filepath.Join(b.dir, fmt.Sprintf("load-%g-run-%d", load, run+1))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		live, notes, err := b.live(ctx, dir, load, uint64(1000*load)<<16|uint64(run+1))
		if err != nil {
			return nil, err
		}
		c.live, c.notes = append(c.live, live), append(c.notes, notes...)
		simulated, err := b.simulated(dir)
		if err != nil {
			return nil, err
		}
		c.simulated = append(c.simulated, simulated)
	}
	return c, nil
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "agree:", err)
	os.Exit(code)
}
