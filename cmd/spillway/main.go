// Command spillway is an LLM API gateway that stays up under overload.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/spillway-llm/spillway/internal/edge/store"
	"github.com/spillway-llm/spillway/internal/sim"
)

type cli struct {
	Serve   serveCmd   `cmd:"" help:"Run the gateway. Without a configuration it answers from a simulated model, so that any client can try it at once."`
	Check   checkCmd   `cmd:"" help:"Check a configuration file, hash a key, or print the file's JSON Schema."`
	Mock    mockCmd    `cmd:"" help:"Run a simulated model server: limited slots, realistic times, faults on demand."`
	Load    loadCmd    `cmd:"" help:"Offer load to an API as many independent callers would, and say what they experienced."`
	Sim     simCmd     `cmd:"" help:"Play recorded requests or a story against the gateway's own decisions, in virtual time, and put other policies beside them."`
	Tune    tuneCmd    `cmd:"" help:"Find the load from which lateness cascades, and print thresholds that follow from it as a patch for the configuration."`
	Replay  replayCmd  `cmd:"" help:"Tell a fresh decision core what a gateway recorded, and check that it decides the same."`
	Demo    demoCmd    `cmd:"" help:"Run the same overload with and without the gateway, and compare."`
	Usage   usageCmd   `cmd:"" help:"Sum up what requests used and cost, from the ledger of a gateway."`
	Explain explainCmd `cmd:"" help:"Ask a running gateway why it decides on a request as it does, and what would change that."`
	Top     topCmd     `cmd:"" help:"Watch a running gateway in the terminal: slots, waits, tenants, upstreams, budgets and the last refusals."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// Exit codes.
const (
	exitFailed = 1 // it did not work
	exitUsage  = 2 // wrong flags or a wrong file
)

// usageError is the user's mistake: wrong flags or a wrong file.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// deciders are the names that sim --compare takes.
func deciders() string {
	var names []string
	for _, line := range sim.Deciders() {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func main() {
	var c cli
	parser := kong.Must(&c, kong.Name("spillway"), kong.Vars{"deciders": deciders(), "dimensions": strings.Join(store.DimensionNames(), ", ")}, kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Description("An LLM API gateway that stays up under overload.\n\n"+
			"Try it:  spillway serve      then  curl http://127.0.0.1:8080/v1/models\n"+
			"         spillway demo       shows what it does under overload"))
	if len(os.Args) == 1 {
		os.Args = append(os.Args, "--help")
	}
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "spillway: %v\nspillway: run 'spillway --help' or 'spillway COMMAND --help'\n", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	if err := k.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "spillway: %v\n", err)
		var u usageError
		if errors.As(err, &u) {
			os.Exit(exitUsage)
		}
		os.Exit(exitFailed)
	}
}
