package config

import (
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "250ms": 250 * time.Millisecond, "1m30s": 90 * time.Second, "150us": 150 * time.Microsecond,
		"150µs": 150 * time.Microsecond, "1.5h": 90 * time.Minute, "2h45m": 165 * time.Minute, "007s": 7 * time.Second,
		"1d": 24 * time.Hour, "400d": 9600 * time.Hour, "1d12h30m": 36*time.Hour + 30*time.Minute, "106751d": 106751 * 24 * time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "10 s", "-1s", "+1s", "d", "1.5d", "1h1d", "1d1d", "106752d", "106751d24h", "99999999999999999999d", "s", ".5s", "1.s", "1e3s", "∞", "99999999999h", "1s ", "00"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "1024": 1024, "10B": 10, "1kB": 1000, "1KB": 1000, "64KiB": 65536, "32MiB": 32 << 20, "1.5GB": 1_500_000_000,
		"1.5GiB": 3 << 29, "2MB": 2_000_000, "8589934591GiB": 8589934591 << 30,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "32 MiB", "64k", "1TiB", "MiB", "1e3", "0x10", "8589934592GiB", strings.Repeat("9", 400), "1.MiB", "1MiBB"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]Percent{"0": 0, "5": 5, "5%": 5, "100%": 100} {
		if got, err := parsePercent(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "-5", "5 %", "0.05", "5%%", "99999999999999999999%"} {
		if got, err := parsePercent(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestParseMoment(t *testing.T) {
	for text, want := range map[string]string{
		"2026-12-24T00:00:00Z": "2026-12-24T00:00:00Z", "2026-12-24T00:00:00+01:00": "2026-12-23T23:00:00Z", "2024-02-29T12:30:00-05:30": "2024-02-29T18:00:00Z",
	} {
		got, err := parseMoment(text)
		if err != nil || got.Time().Format(time.RFC3339) != want {
			t.Errorf("%q is %v (%v), want %s", text, got.Time(), err, want)
		}
	}
	for _, text := range []string{"", "2026-12-24", "2026-12-24 00:00:00Z", "2026-12-24T00:00:00", "2026-13-24T00:00:00Z", "2025-02-29T00:00:00Z", "1970-01-01T00:00:00Z", "2026-12-24T00:00:00.5Z", "5"} {
		if got, err := parseMoment(text); err == nil {
			t.Errorf("%q is %v", text, got.Time())
		}
	}
}
