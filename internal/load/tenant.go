package load

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tenant is one group of callers. Empty fields take the value of the Settings.
type Tenant struct {
	// Name is the key of the tenant's part of the summary. Required and unique.
	Name string
	// Key is the bearer token.
	Key string
	// Model is the model asked for.
	Model string
	// Rate is the tenant's arrivals a second.
	Rate float64
	// Share is the tenant's part of Settings.Rate, 0 to 1, instead of Rate. Tenants with neither divide what the
	// others leave of Settings.Rate. With traces it is the part of the rows whose client is no tenant.
	Share float64
	// Weight is the tenant's claim in the weighted max-min share that Jain's index is taken over. Default 1.
	Weight float64
	// Class is sent as x-spillway-class.
	Class string
	// Deadline is how long callers wait, from the intended start.
	Deadline time.Duration
	// Stream asks for a stream.
	Stream bool
	// Input and Output are the prompt's length and max_tokens, in tokens.
	Input, Output int
}

// UnmarshalText reads a tenant from its form on the command line: fields separated by commas, such as
// name=light,key=k1,share=0.05,class=interactive,deadline=8s,stream. The fields are name, key, model, rate, share,
// weight, class, deadline, stream, input and output.
func (t *Tenant) UnmarshalText(b []byte) error {
	*t = Tenant{}
	seen := map[string]bool{}
	for field := range strings.SplitSeq(string(b), ",") {
		name, value, hasValue := strings.Cut(strings.TrimSpace(field), "=")
		if seen[name] {
			return fmt.Errorf("tenant %q: %s is given twice", b, name)
		}
		seen[name] = true
		if !hasValue && name != "stream" {
			return fmt.Errorf("tenant %q: %q is no name=value", b, field)
		}
		if err := t.set(name, value); err != nil {
			return fmt.Errorf("tenant %q: %s: %w", b, name, err)
		}
	}
	if t.Name == "" {
		return fmt.Errorf("tenant %q: name is missing", b)
	}
	return nil
}

func (t *Tenant) set(name, value string) (err error) {
	switch name {
	case "name":
		t.Name = value
	case "key":
		t.Key = value
	case "model":
		t.Model = value
	case "rate":
		t.Rate, err = parseNumber(value)
	case "share":
		t.Share, err = parseNumber(value)
	case "weight":
		t.Weight, err = parseNumber(value)
	case "class":
		t.Class = value
	case "deadline":
		t.Deadline, err = time.ParseDuration(value)
	case "stream":
		if t.Stream = true; value != "" {
			t.Stream, err = strconv.ParseBool(value)
		}
	case "input":
		t.Input, err = strconv.Atoi(value)
	case "output":
		t.Output, err = strconv.Atoi(value)
	default:
		err = errors.New("unknown field; the fields are name, key, model, rate, share, weight, class, deadline, stream, input, output")
	}
	return err
}

// parseNumber reads a positive number.
func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v < 1e9) {
		return 0, fmt.Errorf("%q is no positive number", s)
	}
	return v, nil
}

func validateTenants(s Settings) error {
	if len(s.Tenants) > maxTenants {
		return fmt.Errorf("tenants: %d are more than %d", len(s.Tenants), maxTenants)
	}
	var errs []error
	names := map[string]bool{}
	var shares float64
	for i, t := range s.Tenants {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("tenant %d (%s): %s", i+1, t.Name, fmt.Sprintf(format, args...)))
		}
		if t.Name == "" {
			bad("name is missing")
		}
		if names[t.Name] {
			bad("the name is taken by an earlier tenant")
		}
		names[t.Name] = true
		if !(t.Rate >= 0 && t.Rate <= 1e6) {
			bad("rate %v is not between 0 and 1e6", t.Rate)
		}
		if !(t.Share >= 0 && t.Share <= 1) {
			bad("share %v is not between 0 and 1", t.Share)
		}
		if t.Rate > 0 && t.Share > 0 {
			bad("rate and share exclude each other")
		}
		if !(t.Weight >= 0 && t.Weight <= 1e9) {
			bad("weight %v is not between 0 and 1e9", t.Weight)
		}
		if t.Deadline < 0 || t.Deadline > 1e5*time.Second {
			bad("deadline %v is not between 0 and 1e5 s", t.Deadline)
		}
		if t.Input < 0 || t.Input > maxTokens || t.Output < 0 || t.Output > maxTokens {
			bad("input and output must be between 0 and %d tokens", maxTokens)
		}
		shares += t.Share
	}
	if shares > 1+1e-9 {
		errs = append(errs, fmt.Errorf("tenants: the shares add up to %.3g, more than 1", shares))
	}
	if len(errs) == 0 && len(s.Traces) == 0 {
		rated := slices.Clone(s.Tenants)
		divideRate(cmp.Or(s.Rate, 1), rated)
		for i, t := range rated {
			if t.Rate == 0 {
				errs = append(errs, fmt.Errorf("tenant %d (%s): the other tenants leave nothing of the rate %v; give it a rate or a share", i+1, t.Name, cmp.Or(s.Rate, 1)))
			}
		}
	}
	return errors.Join(errs...)
}

// filled returns the tenant with the settings' values in place of its own empty ones.
func (t Tenant) filled(s Settings) Tenant {
	t.Key = cmp.Or(t.Key, s.Key)
	t.Model = cmp.Or(t.Model, s.Model)
	t.Weight = cmp.Or(t.Weight, 1)
	t.Class = cmp.Or(t.Class, s.Class)
	t.Deadline = cmp.Or(t.Deadline, s.Deadline)
	t.Stream = t.Stream || s.Stream
	t.Input = cmp.Or(t.Input, s.Input)
	t.Output = cmp.Or(t.Output, s.Output)
	return t
}

// byFirstToken reports whether the tenant's deadline is met by a first token.
func (t Tenant) byFirstToken(d DeadlineOf) bool { return t.Stream && d != Total }

// divideRate gives each tenant its rate.
func divideRate(total float64, tenants []Tenant) {
	left, without := total, 0
	for i := range tenants {
		t := &tenants[i]
		if t.Share > 0 {
			t.Rate = t.Share * total
		}
		if t.Rate == 0 {
			without++
		}
		left -= t.Rate
	}
	if left < total*1e-9 { // nothing but rounding
		return
	}
	for i := range tenants {
		if tenants[i].Rate == 0 {
			tenants[i].Rate = left / float64(without)
		}
	}
}
