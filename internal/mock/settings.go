package mock

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Settings say how the simulated server behaves. The zero value of every field
// is its default, so Settings{} is a useful server. The two fields whose zero
// means something of its own, Queue and Noise, are pointers.
type Settings struct {
	// Slots is how many requests run at once. Default 16; at least 1.
	Slots int `default:"16" help:"Requests that run at once."`
	// Queue is how many more requests may wait for a slot, first come, first
	// served. Default 100000; 0 refuses whatever finds no free slot.
	Queue *int `default:"100000" help:"Requests that may wait for a slot; beyond them the answer is 429."`
	// RetryAfter is sent as it stands in the Retry-After header of the 429 of a
	// full queue. Default: no such header.
	RetryAfter string `help:"Retry-After header of the 429 sent when the queue is full; none when empty."`

	// ServiceMean is the mean time a request holds a slot, whatever its tokens.
	// Default 0: the time is computed from the tokens with the fields below.
	ServiceMean time.Duration `help:"Mean time a request holds a slot; 0 computes it from tokens."`
	// Noise is the sigma of the log-normal factor on every service time. The
	// factor has mean 1. Output lengths vary with twice this sigma.
	// Default 0.25; 0 makes everything constant; at most 2.
	Noise *float64 `default:"0.25" help:"Sigma of the log-normal noise on service times; 0 is constant."`
	// Base is the part of the time to the first token that does not depend on
	// the prompt. Default 200ms.
	Base time.Duration `default:"200ms" help:"Computed times: fixed part of the time to the first token."`
	// PerInput is the time to the first token that each prompt token adds.
	// Default 150µs.
	PerInput time.Duration `default:"150us" help:"Computed times: prefill time of one prompt token."`
	// PerOutput is the time between output tokens of a request that runs alone.
	// Default 20ms.
	PerOutput time.Duration `default:"20ms" help:"Computed times: time of one output token when alone."`
	// Slowdown is by how much output tokens are slower when every slot is busy:
	// the time of a token grows linearly from 1x (alone) to 1+Slowdown (all
	// slots). Default 0; 0.5 is typical of batching servers.
	Slowdown float64 `help:"Computed times: tokens take 1+slowdown times as long when all slots are busy."`
	// OutputMean is the mean number of output tokens, before the caller's own
	// limit. Default 200.
	OutputMean int `default:"200" help:"Mean output tokens of an answer."`

	// IgnoreDisconnect keeps working for callers that have gone, waiting or
	// running, as servers do that do not notice. What they then spend is
	// counted as wasted. Default false: the slot is free at once.
	IgnoreDisconnect bool `help:"Keep working for callers that have gone."`
	// TokenByToken sends one event per token. Default false: tokens that fall
	// within 10 ms share an event.
	TokenByToken bool `help:"One stream event per token, however fast they come."`
	// RateLimitHeaders adds x-ratelimit-* headers that report slots as the
	// limit and free slots as what remains.
	RateLimitHeaders bool `help:"Send x-ratelimit headers that report the slots."`
	// Models are the models offered; any other is answered with 404.
	// Default: every name is accepted.
	Models []string `help:"Models offered; any other name is a 404. Empty accepts every name."`

	// Strict refuses conversations as the providers do: calls of tools without
	// their results, results without their calls, thoughts that another model has
	// signed. Default false: what was said before is only counted.
	Strict bool `help:"Refuse conversations whose calls, results and thoughts do not fit together, as providers do."`
	// Thoughts are shown by answers to requests that ask for thinking: signed in
	// messages, as reasoning_content in chat completions.
	Thoughts bool `help:"Show thoughts where a request asks for thinking."`

	// Faults are faults by probability, "429=0.1,reset=0.05": a fault as in the
	// x-mock-fault header, "=", the share of requests. The shares add up to at
	// most 1.
	Faults string `help:"Faults by probability, such as 429=0.1,reset=0.05."`
	// Schedule are faults by time since the start, "20s-40s brownout=3; 50s-55s
	// outage; 60s-70s 429 retry-after=7 p=0.5". An end left out is never.
	Schedule string `help:"Faults by time since the start, such as '20s-40s brownout=3; 50s-55s outage'."`

	// Seed makes a run repeatable: the same seed and the same order of requests
	// give the same durations, outputs and faults.
	Seed uint64 `help:"Seed of durations, outputs and faults."`
}

const (
	defaultQueue = 100_000
	defaultNoise = 0.25
)

// withDefaults returns the settings with every unset field filled.
func (s Settings) withDefaults() Settings {
	setDefault(&s.Slots, 16)
	setDefault(&s.Base, 200*time.Millisecond)
	setDefault(&s.PerInput, 150*time.Microsecond)
	setDefault(&s.PerOutput, 20*time.Millisecond)
	setDefault(&s.OutputMean, 200)
	if s.Queue == nil {
		s.Queue = new(defaultQueue)
	}
	if s.Noise == nil {
		s.Noise = new(defaultNoise)
	}
	return s
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports everything that is wrong with the settings, or nil.
func (s Settings) Validate() error {
	s = s.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Slots >= 1, "slots is %d: at least 1 is needed", s.Slots)
	check(*s.Queue >= 0, "queue is %d: 0 or more, 0 for no queue", *s.Queue)
	check(*s.Noise >= 0 && *s.Noise <= 2, "noise is %v: a sigma from 0 to 2", *s.Noise)
	check(s.ServiceMean >= 0, "service mean is %v: 0 or more", s.ServiceMean)
	check(s.Base >= 0, "base is %v: 0 or more", s.Base)
	check(s.PerInput >= 0, "per-input is %v: 0 or more", s.PerInput)
	check(s.PerOutput >= 0, "per-output is %v: 0 or more", s.PerOutput)
	check(s.Slowdown >= 0 && !math.IsInf(s.Slowdown, 0), "slowdown is %v: 0 or more", s.Slowdown)
	check(s.OutputMean >= 1, "output mean is %d: at least 1 token", s.OutputMean)
	if _, err := parseFaults(s.Faults); err != nil {
		errs = append(errs, err)
	}
	if _, err := parseSchedule(s.Schedule); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
