package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

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

// explainTime is for the gateway to answer.
const explainTime = 30 * time.Second

func (c *explainCmd) Run(ctx context.Context) error {
	ask, err := c.ask()
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	answer, err := c.send(ctx, ask)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err := fmt.Printf("%s\n", answer)
		return err
	}
	var e ops.Explanation
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("read the answer of %s: %w; is it the address for operators of this version?", c.Ops, err)
	}
	return printExplanation(os.Stdout, &e)
}

func (c *explainCmd) ask() ([]byte, error) {
	if (c.RequestID == "") == (c.Body == "") {
		return nil, errors.New("nothing to explain, or two things: give --request-id ID, or a file with the body")
	}
	if c.RequestID != "" {
		return json.Marshal(map[string]string{"request_id": c.RequestID})
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
	return json.Marshal(map[string]any{"tenant": c.Tenant, "path": c.Path, "headers": headers, "body": json.RawMessage(body)})
}

func (c *explainCmd) send(ctx context.Context, ask []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.Ops, "/")+"/admin/v1/explain", bytes.NewReader(ask))
	if err != nil {
		return nil, usageError{fmt.Errorf("--ops: %w", err)}
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the token is for this address
	res, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the gateway: %w; --ops is its address for operators", err)
	}
	defer res.Body.Close()
	const most = 8 << 20
	answer, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.Ops, err)
	}
	if res.StatusCode == http.StatusOK {
		return answer, nil
	}
	var p ops.Problem
	if json.Unmarshal(answer, &p) != nil || p.Detail == "" {
		return nil, fmt.Errorf("%s answers %s; is it the address for operators?", c.Ops, res.Status)
	}
	err = fmt.Errorf("%s answers %s: %s", c.Ops, res.Status, p.Detail)
	if p.Remedy != "" {
		err = fmt.Errorf("%w; %s", err, p.Remedy)
	}
	return nil, err
}

// printExplanation writes the stages as a table, and what would change the decision.
func printExplanation(w io.Writer, e *ops.Explanation) error {
	fmt.Fprintf(w, "tenant %s, model %s, class %s, %d tokens of input", e.Tenant, e.Model, e.Class, e.Input)
	if e.MaxOutput > 0 {
		fmt.Fprintf(w, ", at most %d of output", e.MaxOutput)
	}
	if e.Attempt > 0 {
		fmt.Fprintf(w, ", retry %d", e.Attempt)
	}
	fmt.Fprintln(w)
	if e.Was != nil {
		fmt.Fprintf(w, "refused at %s: %s\n", e.Refused.Format(time.RFC3339), e.Was.Words)
	}
	when := "now"
	if e.StagesOf == "refusal" {
		when = "then"
	}
	fmt.Fprintf(w, "\nThe stages, as they stood %s:\n\n", when)
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, s.Asks, s.Found, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nNow %s.\n", e.Now.Words)
	if len(e.Changes) > 0 {
		fmt.Fprintln(w, "\nWhat would change that, each alone:")
		for _, c := range e.Changes {
			fmt.Fprintf(w, "  if %s: %s\n", c.If, c.Then.Words)
		}
	}
	if e.Setting != "" {
		fmt.Fprintf(w, "\nThe setting: %s\n", e.Setting)
	}
	return nil
}
