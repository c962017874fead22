package config

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseDollars(t *testing.T) {
	for text, want := range map[string]Dollars{
		"0": 0, "10": 10_000_000, "1.25": 1_250_000, "0.1": 100_000, "0.000001": 1, "0.29": 290_000, "1.1500000000": 1_150_000,
		"100000": 100_000_000_000, "99999.999999": 99_999_999_999, "007": 7_000_000,
	} {
		if got, err := parseDollars(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "-1", "-0", "+1", "$1", "1.", ".5", "1e3", "1,25", "1_000", "0x10", "0.0000001", "1.0000001", "100000.000001", strings.Repeat("9", 400), ".inf", ".nan", "1 ",
	} {
		if got, err := parseDollars(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestDollarsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(0, maxDollars*dollar).Draw(t, "micro-dollars")
		text := fmt.Sprintf("%d.%06d", want/dollar, want%dollar)
		if got, err := parseDollars(text); err != nil || int64(got) != want {
			t.Fatalf("%s is %d (%v)", text, got, err)
		}
	})
}

func TestAmountsOfBudgets(t *testing.T) {
	for text, want := range map[string]Amount{"1000000000": 1_000_000_000_000_000, "200.5": 200_500_000, "0.000001": 1} {
		got, err := parseAmount(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q is %d, written %s (%v), want %d", text, got, got, err, want)
		}
	}
	for _, text := range []string{"1000000000.000001", "-1", "1e9", "0.0000001"} {
		if got, err := parseAmount(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	for want, d := range map[string]Dollars{"0": 0, "10": 10_000_000, "1.25": 1_250_000, "100000": 100_000_000_000} {
		if got := d.String(); got != want {
			t.Errorf("%d is written %s, want %s", int64(d), got, want)
		}
	}
}
