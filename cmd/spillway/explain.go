package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-llm/spillway/internal/operator"
	"github.com/spillway-llm/spillway/internal/ops"
)

type explainCmd struct {
	Ops       string   `default:"http://127.0.0.1:9090" placeholder:"URL" env:"SPILLWAY_OPS_URL" help:"Where the gateway listens for operators."`
	Token     string   `placeholder:"TOKEN" env:"SPILLWAY_TOKEN" help:"Token of an operator; better in the environment, out of the shell's history. Not needed on the gateway's own machine while none is configured."`
	RequestID string   `placeholder:"ID" help:"The request_id of a refusal's error body, one of the last 1,000."`
	Tenant    string   `placeholder:"NAME" help:"Whose request the body would be."`
	Path      string   `default:"/v1/chat/completions" help:"Path that the body would be sent to."`
	Header    []string `short:"H" sep:"none" placeholder:"NAME: VALUE" help:"A header that it would be sent with, such as 'X-Spillway-Class: batch'."`
	Body      string   `arg:"" optional:"" type:"path" help:"File with the body of a request; - reads it from standard input."`
	JSON      bool     `help:"Print the answer as it came."`
}

func (c *explainCmd) Run(ctx context.Context) error {
	ask, err := c.ask()
	if err != nil {
		return usageError{err}
	}
	gateway, err := operator.New(c.Ops, c.Token)
	if err != nil {
		return usageError{fmt.Errorf("--ops: %w", err)}
	}
	e, answer, err := gateway.Explain(ctx, ask)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Printf("%s\n", answer)
		return err
	}
	return printExplanation(os.Stdout, e)
}

func (c *explainCmd) ask() (*ops.Ask, error) {
	if (c.RequestID == "") == (c.Body == "") {
		return nil, errors.New("nothing to explain, or two things: give --request-id ID, or a file with the body")
	}
	if c.RequestID != "" {
		return &ops.Ask{RequestID: c.RequestID}, nil
	}
	var body []byte
	var err error
	if c.Body == "-" {
		body, err = io.ReadAll(os.Stdin)
	} else {
		body, err = os.ReadFile(c.Body)
	}
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if !json.Valid(body) {
		return nil, fmt.Errorf("the body in %s is not JSON", c.Body)
	}
	headers := map[string]string{}
	for _, h := range c.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("--header %q has no colon; write it like 'X-Spillway-Class: batch'", h)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return &ops.Ask{Tenant: c.Tenant, Path: c.Path, Headers: headers, Body: body}, nil
}

// printExplanation writes the stages as a table, and what would change the decision. The
// words may be a caller's, so nothing of them but its letters reaches the terminal.
func printExplanation(w io.Writer, e *ops.Explanation) error {
	show := operator.Printable
	fmt.Fprintf(w, "tenant %s, model %s, class %s, %d tokens of input", show(e.Tenant), show(e.Model), show(e.Class), e.Input)
	if e.MaxOutput > 0 {
		fmt.Fprintf(w, ", at most %d of output", e.MaxOutput)
	}
	if e.Attempt > 0 {
		fmt.Fprintf(w, ", retry %d", e.Attempt)
	}
	fmt.Fprintln(w)
	if e.Was != nil {
		fmt.Fprintf(w, "refused at %s: %s\n", e.Refused.Format(time.RFC3339), show(e.Was.Words))
	}
	when := "stand now"
	if e.StagesOf == "refusal" {
		when = "stood then"
	}
	fmt.Fprintf(w, "\nThe stages, as they %s:\n\n", when)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range e.Stages {
		mark := ""
		if s.Decides {
			mark = "<- decides"
		}
		name := s.Stage
		if s.Model != "" {
			name += " of " + s.Model
		}
		if s.Cheaper {
			name += ", cheaper"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", show(name), show(s.Asks), show(s.Found), mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nNow %s.\n", show(e.Now.Words))
	if len(e.Changes) > 0 {
		fmt.Fprintln(w, "\nWhat would change that, each alone:")
		for _, c := range e.Changes {
			fmt.Fprintf(w, "  if %s: %s\n", show(c.If), show(c.Then.Words))
		}
	}
	if e.Setting != "" {
		fmt.Fprintf(w, "\nThe setting: %s\n", show(e.Setting))
	}
	return nil
}
