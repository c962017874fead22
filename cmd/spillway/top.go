package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/spillway-llm/spillway/internal/operator"
	"github.com/spillway-llm/spillway/internal/top"
)

type topCmd struct {
	Ops   string `default:"http://127.0.0.1:9090" placeholder:"ADDR" env:"SPILLWAY_OPS_URL" help:"Where the gateway listens for operators."`
	Token string `placeholder:"TOKEN" env:"SPILLWAY_TOKEN" help:"Token of an operator; better in the environment, out of the shell's history. Not needed on the gateway's own machine while none is configured."`
	Once  bool   `help:"Print the picture once as text, for scripts."`
	JSON  bool   `help:"With --once: print the picture as it came."`
}

// lastRefusals are printed with --once.
const lastRefusals = 50

func (c *topCmd) Run(ctx context.Context) error {
	gateway, err := operator.New(c.Ops, c.Token)
	if err != nil {
		return usageError{fmt.Errorf("--ops: %w", err)}
	}
	if c.Once {
		return c.once(ctx, gateway)
	}
	switch {
	case c.JSON:
		return usageError{errors.New("--json prints one picture: give --once with it")}
	case !term.IsTerminal(int(os.Stdin.Fd())), !term.IsTerminal(int(os.Stdout.Fd())), os.Getenv("TERM") == "dumb":
		return usageError{errors.New("a live screen needs a terminal for input and output; give --once for the picture as text")}
	}
	screen := top.Screen{Gateway: gateway, Explain: printExplanation, In: os.Stdin, Out: os.Stdout}
	return screen.Run(ctx)
}

func (c *topCmd) once(ctx context.Context, gateway *operator.Client) error {
	picture, answer, err := gateway.Snapshot(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Printf("%s\n", answer)
		return err
	}
	list, err := gateway.Refusals(ctx, lastRefusals)
	if err != nil {
		return err
	}
	return top.Once(os.Stdout, gateway.Address(), time.Now(), picture, list)
}
