// Command whatif shows how far an answer of POST /admin/v1/whatif can be trusted:
// it asks a gateway under load what would come of another setting, and then
// offers the same requests to a gateway that has it. It exits with 1 if a bar is
// missed.
//
//	make build && go run ./bench/whatif
//
// Arrivals are the same in each run of a case; the service times of the model
// server are drawn anew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// slots are those of the gateway in the first run of each case; the model server
// has more than any.
const slots = 12

// trial is a change of the settings.
type trial struct {
	name string
	set  string // as an operator asks about it
	file settings
}

// settings are what differs between configuration files.
type settings struct {
	concurrency int
	queue       string // of the model
	more        string // further sections
	jobs        string // of the tenant jobs
}

var today = settings{concurrency: slots}

var trials = []trial{
	{"more slots", `{"models.chat.deployments[gpu].concurrency": 18}`, settings{concurrency: 18}},
	{"fewer slots", `{"models.chat.deployments[gpu].concurrency": 9}`, settings{concurrency: 9}},
	{"a short queue", `{"models.chat.queue.total": 5}`, settings{concurrency: slots, queue: "queue: {total: 5}"}},
	{"short waits", `{"classes.interactive.max_wait": "500ms"}`, settings{concurrency: slots, more: "classes: {interactive: {max_wait: 500ms}}"}},
	{"a tenant's limit", `{"tenants[jobs].limits.rpm": 60}`, settings{concurrency: slots, jobs: ", limits: {rpm: 60}"}},
}

// bench is one run of this program.
type bench struct {
	binary string        // spillway
	length time.Duration // of a live run
	runs   int           // of each case
	rate   float64       // requests a second
	dir    string
}

func main() {
	b := &bench{}
	flag.DurationVar(&b.length, "duration", 75*time.Second, "length of one live run; its first fifth does not count")
	flag.IntVar(&b.runs, "runs", 2, "runs of each case, with other arrivals each")
	flag.Float64Var(&b.rate, "rate", 20, "requests a second")
	flag.StringVar(&b.binary, "bin", "bin/spillway", "the spillway binary (make build)")
	flag.Parse()
	if b.length < 10*time.Second || b.length > 10*time.Minute || b.runs < 1 || !(b.rate > 0 && b.rate <= 100) {
		fail(2, errors.New("-duration is from 10s to 10m, -runs at least 1, -rate above 0 and at most 100"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("%d CPUs, %s, %s/%s. %g requests a second for %v, %d runs of each case; today's setting is %d calls at once.\n\n",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, b.rate, b.length, b.runs, slots)
	results, err := b.all(ctx)
	if err != nil {
		fail(1, err)
	}
	if !report(os.Stdout, results) {
		os.Exit(1)
	}
}

// all tries each change. The cases run at the same time, so that whatever
// disturbs the machine disturbs all.
func (b *bench) all(ctx context.Context) (_ []result, err error) {
	if b.dir, err = os.MkdirTemp("", "spillway-whatif-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	results, errs := make([]result, len(trials)), make([]error, len(trials))
	var all sync.WaitGroup
	for i := range trials {
		all.Go(func() {
			results[i].trial = &trials[i]
			for run := range b.runs {
				p, err := b.try(ctx, &trials[i], run)
				if err != nil {
					errs[i] = fmt.Errorf("%s: %w", trials[i].name, err)
					return
				}
				results[i].runs = append(results[i].runs, p)
			}
		})
	}
	all.Wait()
	return results, errors.Join(errs...)
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "whatif:", err)
	os.Exit(code)
}
