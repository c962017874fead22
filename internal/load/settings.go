package load

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// DefaultRetries is what the official SDKs do when told nothing: two more attempts.
const DefaultRetries = 2

// maxTenants bounds the memory for per-tenant histograms.
const maxTenants = 2000

// maxTokens bounds a prompt, and with it a request body, to about 4 MB.
const maxTokens = 1 << 20

// Settings say what load to offer. The zero value of a field means its default.
type Settings struct {
	// Target is the base URL of the API, such as http://127.0.0.1:8080/v1. Required.
	Target string
	// Key is the bearer token; empty sends none. A tenant may have its own.
	Key string
	// Model is the model that callers ask for. Default "chat".
	Model string

	// Rate is the total of all tenants' arrivals a second. Default 1. Unused with Traces.
	Rate float64
	// Arrivals is the law of the gaps between arrivals. Default Poisson.
	Arrivals Arrivals
	// Bursts change the rate for a while or for good. Where several apply, the one that began last counts.
	Bursts []Burst
	// Traces are CSV files of recorded arrivals, merged by time; they replace Rate, Arrivals and Bursts, and the token
	// numbers of the tenants. See trace.go for the formats.
	Traces []string
	// Speed divides the times of the traces: 2 plays them twice as fast. Default 1.
	Speed float64
	// Duration is how long callers arrive, and the measuring window. Default 10 s, or the length of the traces.
	Duration time.Duration
	// Grace is how long callers may still be served after the last arrival. Default the longest deadline and 60 s.
	Grace time.Duration
	// Seed fixes the schedule: equal settings and seed give equal arrivals.
	Seed uint64

	// Tenants are the callers. Default one, named "default".
	Tenants []Tenant
	// Class is sent as x-spillway-class for tenants without their own. Empty sends none.
	Class string
	// Stream makes every tenant ask for a stream.
	Stream bool
	// Deadline is how long callers wait, from the intended start. 0 is for ever (until Grace).
	Deadline time.Duration
	// DeadlineOf says what must happen before the deadline. Default: the first token of a stream, else the whole answer.
	DeadlineOf DeadlineOf
	// Input and Output are the prompt's length and max_tokens, in tokens, for tenants without their own. Default 16
	// tokens in, and no max_tokens.
	Input, Output int

	// Retries are the attempts after the first. 0 is none; DefaultRetries is what SDKs do.
	Retries int
	// Timeout bounds one attempt until its response headers, as in the SDKs; an attempt over it is retried. 0 leaves
	// only the deadline.
	Timeout time.Duration
	// Patience makes some callers leave early. The zero value: none does.
	Patience Patience
	// Header holds more request headers.
	Header map[string]string

	// MaxInFlight bounds the callers at work at once; arrivals beyond are counted as errors of the generator. Default
	// 20,000.
	MaxInFlight int
	// Stats is the URL of the upstream's own accounts: a JSON object with slots, busy_slot_seconds,
	// wasted_slot_seconds, started, finished, max_inflight. Default /stats on the target's host if it answers there;
	// "none" does not ask.
	Stats string
	// Sample is the time between two lines of CSV. Default 1 s.
	Sample time.Duration
	// CSV is a file to write samples to while the load runs. Empty writes none.
	CSV string
}

// Validate reports what is wrong with s, with everything found in one error. It does not read the traces.
func (s Settings) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch u, err := url.Parse(s.Target); {
	case s.Target == "":
		bad("target: missing; give the base URL of the API, such as http://127.0.0.1:8080/v1")
	case err != nil:
		bad("target: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		bad("target: %q is no http or https URL", s.Target)
	}
	for _, f := range []struct {
		name  string
		value float64
		max   float64
	}{
		{"rate", s.Rate, 1e6}, {"speed", s.Speed, 1e6}, {"input tokens", float64(s.Input), maxTokens}, {"output tokens", float64(s.Output), maxTokens},
		{"retries", float64(s.Retries), 100}, {"max in flight", float64(s.MaxInFlight), 1e6},
		{"duration", s.Duration.Seconds(), 1e7}, {"grace", s.Grace.Seconds(), 1e5}, {"deadline", s.Deadline.Seconds(), 1e5},
		{"timeout", s.Timeout.Seconds(), 1e5}, {"sample", s.Sample.Seconds(), 1e5},
	} {
		if !(f.value >= 0 && f.value <= f.max) { // also catches NaN
			bad("%s: %v is not between 0 and %v", f.name, f.value, f.max)
		}
	}
	if s.Arrivals > Constant {
		bad("arrivals: unknown law %d", s.Arrivals)
	}
	if s.DeadlineOf > FirstToken {
		bad("deadline-of: unknown choice %d", s.DeadlineOf)
	}
	for _, b := range s.Bursts {
		if err := b.validate(); err != nil {
			bad("burst %s: %w", b, err)
		}
	}
	if err := s.Patience.validate(); err != nil {
		bad("patience: %w", err)
	}
	if err := validateTenants(s); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// filled returns s with its defaults in place; those of the tenants and of the duration are newPlan's to fill.
func (s Settings) filled() Settings {
	s.Target = strings.TrimSuffix(s.Target, "/")
	s.Model = cmp.Or(s.Model, "chat")
	s.Rate = cmp.Or(s.Rate, 1)
	s.Speed = cmp.Or(s.Speed, 1)
	s.Input = cmp.Or(s.Input, 16)
	s.MaxInFlight = cmp.Or(s.MaxInFlight, 20_000)
	s.Sample = cmp.Or(s.Sample, time.Second)
	if s.Stats == "" {
		u, _ := url.Parse(s.Target) // Validate has parsed it
		s.Stats = u.Scheme + "://" + u.Host + "/stats"
	}
	return s
}

// DeadlineOf says which moment must come before the deadline.
type DeadlineOf uint8

const (
	Auto       DeadlineOf = iota // FirstToken for streams, Total for the others
	Total                        // the end of the answer
	FirstToken                   // the first token of a stream; whole answers still count by their end
)

var deadlineOfs = [...]string{"auto", "total", "first-token"}

// String returns the name that the command line uses.
func (d DeadlineOf) String() string { return nameOf(deadlineOfs[:], int(d)) }

// UnmarshalText reads "auto", "total" or "first-token".
func (d *DeadlineOf) UnmarshalText(b []byte) error {
	i, err := indexOf(deadlineOfs[:], string(b))
	*d = DeadlineOf(i)
	return err
}

// Arrivals is the law of the gaps between one tenant's arrivals.
type Arrivals uint8

const (
	Poisson  Arrivals = iota // exponential gaps: callers that know nothing of each other
	Constant                 // equal gaps
)

var arrivalLaws = [...]string{"poisson", "constant"}

// String returns the name that the command line uses.
func (a Arrivals) String() string { return nameOf(arrivalLaws[:], int(a)) }

// UnmarshalText reads "poisson" or "constant".
func (a *Arrivals) UnmarshalText(b []byte) error {
	i, err := indexOf(arrivalLaws[:], string(b))
	*a = Arrivals(i)
	return err
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

func indexOf(names []string, s string) (int, error) {
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%q is none of %s", s, strings.Join(names, ", "))
}
