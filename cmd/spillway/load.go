package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spillway-llm/spillway/internal/load"
)

type loadCmd struct {
	Target string `required:"" placeholder:"URL" help:"Base URL of the API, such as http://127.0.0.1:8080/v1."`
	Key    string `env:"SPILLWAY_KEY" help:"API key."`
	Model  string `default:"chat" help:"Model that callers ask for."`

	Rate     float64       `default:"1" help:"Arrivals a second, of all tenants together."`
	Arrivals load.Arrivals `default:"poisson" help:"Law of the gaps between arrivals: poisson or constant."`
	Burst    []load.Burst  `sep:"none" placeholder:"10x@20s+5s" help:"Multiply the rate from a time on, for a while; may be given more than once."`
	Trace    []string      `type:"existingfile" placeholder:"FILE" help:"CSV of recorded arrivals to play instead (Azure LLM inference, VTC); may be given more than once."`
	Speed    float64       `default:"1" help:"Play traces this many times as fast."`
	Duration time.Duration `default:"10s" help:"How long callers arrive. With a trace, 0 plays all of it."`
	Seed     uint64        `default:"1" help:"Equal settings and seed give equal arrivals."`

	Tenant     []load.Tenant   `sep:"none" placeholder:"name=a,key=k,share=0.05" help:"One kind of callers: name, key, rate or share, weight, class, deadline, stream, input, output; may be given more than once."`
	Class      string          `help:"Class that callers ask for (x-spillway-class)."`
	Stream     bool            `help:"Ask for streams."`
	Deadline   time.Duration   `default:"0s" help:"How long callers wait, from the intended start; 0 is for ever."`
	DeadlineOf load.DeadlineOf `default:"auto" help:"What must come before the deadline: auto, total or first-token."`
	Input      int             `help:"Tokens of a prompt."`
	Output     int             `help:"max_tokens; 0 sends none."`
	Retries    int             `default:"2" help:"Attempts after the first, as the official SDKs make them."`
	Timeout    time.Duration   `help:"Bound on one attempt until its headers; it is retried after that."`
	Patience   load.Patience   `placeholder:"0.3@2s" help:"A share of callers that leaves early, after this mean time."`

	MaxInFlight int           `default:"20000" help:"Callers at work at once; more are counted as errors of the load generator."`
	Stats       string        `placeholder:"URL" help:"The upstream's own accounts (spillway mock: /stats), for goodput against what was possible; none does not ask."`
	JSON        bool          `name:"json" help:"Print one JSON object."`
	CSV         string        `type:"path" placeholder:"FILE" help:"Write a sample of each second to a file."`
	Sample      time.Duration `default:"1s" help:"Time between two lines of the file."`
}

func (c *loadCmd) settings() load.Settings {
	return load.Settings{
		Target: c.Target, Key: c.Key, Model: c.Model, Rate: c.Rate, Arrivals: c.Arrivals, Bursts: c.Burst, Traces: c.Trace, Speed: c.Speed,
		Duration: c.Duration, Seed: c.Seed, Tenants: c.Tenant, Class: c.Class, Stream: c.Stream, Deadline: c.Deadline, DeadlineOf: c.DeadlineOf,
		Input: c.Input, Output: c.Output, Retries: c.Retries, Timeout: c.Timeout, Patience: c.Patience,
		MaxInFlight: c.MaxInFlight, Stats: c.Stats, CSV: c.CSV, Sample: c.Sample,
	}
}

func (c *loadCmd) Run(ctx context.Context) error {
	s := c.settings()
	if err := s.Validate(); err != nil {
		return usageError{err}
	}
	sum, err := load.Run(ctx, s, load.Bar(os.Stderr))
	if err != nil && sum.Offered == 0 {
		return err
	}
	if c.JSON {
		out, e := json.Marshal(sum)
		if e != nil {
			return e
		}
		fmt.Println(string(out))
	} else {
		fmt.Print(sum.Table())
	}
	return err
}
