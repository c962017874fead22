package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
)

type replayCmd struct {
	File string `arg:"" type:"existingfile" help:"What serve --record wrote, or what /debug/events of a gateway gave that had not run for long."`
}

func (c *replayCmd) Run() error {
	f, err := os.Open(c.File)
	if err != nil {
		return usageError{err}
	}
	defer f.Close()
	r, err := gateway.Replay(f)
	if err != nil { // the last one is where it ended
		r.Events = max(r.Events-1, 0)
	}
	if r.Events > 0 {
		fmt.Printf("%d events, %d requests and %d decisions in %s were the same\n", r.Events, r.Requests, r.Decisions, r.To.Sub(r.From).Round(time.Millisecond))
	}
	if r.Cut {
		fmt.Println("the last line is cut off and was left out")
	}
	var d *gateway.Difference
	switch {
	case err == nil && r.Events == 0:
		return usageError{fmt.Errorf("%s: there are no events in it", c.File)}
	case err == nil:
		return nil
	case errors.As(err, &d):
		return fmt.Errorf("%s: first difference: %w", c.File, err)
	case errors.Is(err, gateway.ErrNotWhole):
		return fmt.Errorf("%s: %w. What the core learnt and counted before decides what comes after, so only a recording from the start can be replayed. "+
			"The gateway keeps its last 4,096 events; serve --record FILE keeps all", c.File, err)
	default:
		return usageError{fmt.Errorf("%s: %w", c.File, err)}
	}
}
