package config

import "testing"

func TestParseFraction(t *testing.T) {
	for text, want := range map[string]Fraction{"0": 0, "1": 1, "0.9": 0.9, "1.0": 1, "0.12345678": 0.12345678} {
		if got, err := parseFraction(text); err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-0.1", "1.1", "90%", "1e-1", ".5", "nan", "0x1", "2"} {
		if got, err := parseFraction(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
