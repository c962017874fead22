package config

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Dollars is a price in micro-dollars. In the file it is dollars, as a decimal
// number.
type Dollars int64

// Amount is money of a budget in micro-dollars, written in the same way.
type Amount int64

const (
	dollar   = 1_000_000
	decimals = 6
	// maxDollars keeps the price of ten million tokens within 64 bits.
	maxDollars = 100_000
	// maxAmount is what the core takes the dearest call to cost.
	maxAmount = 1_000_000_000
)

const patternDecimal = `^[0-9]+(\.[0-9]+)?$`

var decimalForm = regexp.MustCompile(patternDecimal)

func parseDollars(s string) (Dollars, error) {
	n, err := parseMoney(s, maxDollars)
	return Dollars(n), err
}

func parseAmount(s string) (Amount, error) {
	n, err := parseMoney(s, maxAmount)
	return Amount(n), err
}

// parseMoney is exact: the digits never pass through a binary fraction.
func parseMoney(s string, most int64) (int64, error) {
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
	if !ok || x.Cmp(big.NewRat(most, 1)) > 0 {
		return 0, fmt.Errorf("above %d dollars, the most", most)
	}
	return x.Mul(x, big.NewRat(dollar, 1)).Num().Int64(), nil
}

// String is the amount in dollars, without needless zeros.
func (d Dollars) String() string { return money(int64(d)) }

func (a Amount) String() string { return money(int64(a)) }

func money(micro int64) string {
	s := fmt.Sprintf("%d.%06d", micro/dollar, micro%dollar)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
