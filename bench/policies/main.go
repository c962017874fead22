// Command policies plays workloads in virtual time with the shipped defaults
// of the decision core, with every other policy that the simulator knows, and
// with the clairvoyant. It prints a table for each workload and compares the
// figures with their bars. It exits with 1 if a bar is missed.
//
//	go run ./bench/policies -traces DIR
//
// DIR holds AzureLLMInferenceTrace_conv.csv and AzureLLMInferenceTrace_code.csv
// of Azure/AzurePublicDataset. Without it the arrivals are generated: as many
// requests, with log-normal lengths of the same means, but calmer.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/sim"
)

const seed = 1

// bench is one run of this program.
type bench struct {
	config   *config.Config
	arrivals []sim.Arrival // of the reference workload, at their own speed, without deadlines
	plays    []*play
}

func main() {
	traces := flag.String("traces", "", "directory of the Azure traces; without it arrivals are generated")
	reference := flag.String("config", "scenarios/azure.yaml", "the gateway, upstream and callers of the reference workload")
	story := flag.String("headline", "scenarios/headline.txt", "the story whose load is ramped; empty leaves it out")
	only := flag.String("only", "", "plays only the workloads whose title begins so")
	flag.Parse()
	passed, err := run(*traces, *reference, *story, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "policies:", err)
		os.Exit(2)
	}
	if !passed {
		os.Exit(1)
	}
}

func run(traces, reference, story, only string) (passed bool, err error) {
	b := &bench{}
	if b.config, err = config.Load(reference); err != nil {
		return false, err
	}
	if b.arrivals, err = readArrivals(traces); err != nil {
		return false, err
	}
	if err := b.workloads(); err != nil {
		return false, err
	}
	b.plays = slices.DeleteFunc(b.plays, func(p *play) bool { return !strings.HasPrefix(p.title, only) })
	if err := playAll(b.plays); err != nil {
		return false, err
	}
	if traces == "" {
		fmt.Println("Generated arrivals: give -traces DIR for those of the Azure traces.")
	}
	for _, p := range b.plays {
		p.print()
	}
	bars := allBars(b.plays)
	if story != "" && only == "" {
		gains, err := headline(story)
		if err != nil {
			return false, err
		}
		bars = append(bars, gains...)
	}
	return verdict(bars), nil
}

// playAll plays on all processors. Each play is deterministic by itself.
func playAll(plays []*play) error {
	todo := make(chan *play)
	var players sync.WaitGroup
	errs := make([]error, runtime.GOMAXPROCS(0))
	for i := range errs {
		players.Go(func() {
			for p := range todo {
				errs[i] = errors.Join(errs[i], p.compare())
			}
		})
	}
	for _, p := range plays {
		todo <- p
	}
	close(todo)
	players.Wait()
	return errors.Join(errs...)
}
