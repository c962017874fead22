package config

import (
	"errors"
	"math/big"
	"regexp"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Price is what a provider charges.
type Price struct {
	// Dollars for a million tokens of input. Default 0: free. At most six decimals.
	Input Dollars `yaml:"input"`
	// Dollars for a million tokens of output. Default 0: free. At most six decimals.
	Output Dollars `yaml:"output"`
	// Dollars for a request, beside its tokens. Default 0: none. At most six decimals.
	Request Dollars `yaml:"request"`
}

func (p Price) policy() admit.Price {
	return admit.Price{Input: int64(p.Input), Output: int64(p.Output), Request: int64(p.Request)}
}

// Dollars is an amount of money in micro-dollars. In the file it is dollars,
// as a decimal number.
type Dollars int64

const (
	dollar   = 1_000_000
	decimals = 6
	// maxDollars keeps the price of ten million tokens within 64 bits.
	maxDollars = 100_000
)

const patternDecimal = `^[0-9]+(\.[0-9]+)?$`

var decimalForm = regexp.MustCompile(patternDecimal)

// parseDollars is exact: the digits never pass through a binary fraction.
func parseDollars(s string) (Dollars, error) {
	switch {
	case strings.HasPrefix(s, "-"):
		return 0, errors.New("must not be negative")
	case !decimalForm.MatchString(s):
		return 0, errors.New("not an amount; write dollars like 10, 1.25 or 0.000001")
	}
	_, fraction, _ := strings.Cut(s, ".")
	if len(strings.TrimRight(fraction, "0")) > decimals {
		return 0, errors.New("more than six decimals; a millionth of a dollar is the least")
	}
	x, ok := new(big.Rat).SetString(s)
	if !ok || x.Cmp(big.NewRat(maxDollars, 1)) > 0 {
		return 0, errors.New("above 100000 dollars, the most")
	}
	return Dollars(x.Mul(x, big.NewRat(dollar, 1)).Num().Int64()), nil
}
