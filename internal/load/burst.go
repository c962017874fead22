package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Burst multiplies the rate of every tenant by Factor from At on, for a while or, with For 0, until the end: a step.
type Burst struct {
	Factor  float64       // 0 is silence
	At, For time.Duration // from the start of the run
}

// UnmarshalText reads FACTORx@AT+FOR, such as 10x@20s+5s, or FACTORx@AT for a step.
func (b *Burst) UnmarshalText(text []byte) error {
	factor, when, ok := strings.Cut(string(text), "x@")
	if !ok {
		return fmt.Errorf("burst %q: not of the form FACTORx@AT+FOR, such as 10x@20s+5s", text)
	}
	var err error
	if *b = (Burst{}); factor != "0" {
		if b.Factor, err = parseNumber(factor); err != nil {
			return fmt.Errorf("burst %q: factor: %w", text, err)
		}
	}
	at, during, limited := strings.Cut(when, "+")
	if b.At, err = time.ParseDuration(at); err != nil {
		return fmt.Errorf("burst %q: start: %w", text, err)
	}
	if limited {
		if b.For, err = time.ParseDuration(during); err == nil && b.For <= 0 {
			err = errors.New("must be positive")
		}
		if err != nil {
			return fmt.Errorf("burst %q: length: %w", text, err)
		}
	}
	if err = b.validate(); err != nil {
		return fmt.Errorf("burst %q: %w", text, err)
	}
	return nil
}

// String returns the form that UnmarshalText reads.
func (b Burst) String() string {
	s := fmt.Sprintf("%gx@%v", b.Factor, b.At)
	if b.For > 0 {
		s += "+" + b.For.String()
	}
	return s
}

func (b Burst) validate() error {
	switch {
	case !(b.Factor >= 0 && b.Factor <= 1e6):
		return fmt.Errorf("factor %v is not between 0 and 1e6", b.Factor)
	case b.At < 0 || b.For < 0:
		return errors.New("times must not be negative")
	}
	return nil
}

// Patience makes a fraction of the callers leave after an exponential time with this mean, counted from the intended
// start, whatever their deadline.
type Patience struct {
	Fraction float64 // 0 to 1
	Mean     time.Duration
}

// UnmarshalText reads FRACTION@MEAN, such as 0.3@2s.
func (p *Patience) UnmarshalText(b []byte) error {
	fraction, mean, ok := strings.Cut(string(b), "@")
	if !ok {
		return fmt.Errorf("patience %q: not of the form FRACTION@MEAN, such as 0.3@2s", b)
	}
	var err error
	if p.Fraction, err = parseNumber(fraction); err != nil {
		return fmt.Errorf("patience %q: fraction: %w", b, err)
	}
	if p.Mean, err = time.ParseDuration(mean); err != nil {
		return fmt.Errorf("patience %q: mean: %w", b, err)
	}
	if err = p.validate(); err != nil {
		return fmt.Errorf("patience %q: %w", b, err)
	}
	return nil
}

func (p Patience) validate() error {
	switch {
	case !(p.Fraction >= 0 && p.Fraction <= 1):
		return fmt.Errorf("fraction %v is not between 0 and 1", p.Fraction)
	case p.Mean < 0 || p.Fraction > 0 && p.Mean == 0:
		return errors.New("mean must be positive")
	}
	return nil
}

// stretch is a time in which the rate is multiplied by factor. Seconds from the start of the run.
type stretch struct{ until, factor float64 }

// stretches cuts [0, end) where the factor changes.
func stretches(bursts []Burst, end time.Duration) []stretch {
	cuts := []time.Duration{end}
	for _, b := range bursts {
		cuts = append(cuts, b.At)
		if b.For > 0 {
			cuts = append(cuts, b.At+b.For)
		}
	}
	slices.Sort(cuts)
	var all []stretch
	var from time.Duration
	for _, cut := range cuts {
		if cut <= from || cut > end {
			continue
		}
		all = append(all, stretch{until: cut.Seconds(), factor: factorAt(bursts, from)})
		from = cut
	}
	return all
}

// factorAt is the factor of the burst that began last of those going on at t; of two that began together the later
// one in the list.
func factorAt(bursts []Burst, t time.Duration) float64 {
	factor, began := 1.0, time.Duration(-1)
	for _, b := range bursts {
		if b.At <= t && (b.For == 0 || t < b.At+b.For) && b.At >= began {
			factor, began = b.Factor, b.At
		}
	}
	return factor
}
