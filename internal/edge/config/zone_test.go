package config

import (
	"testing"
	"time"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	x, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestMidnight(t *testing.T) {
	for _, tc := range []struct {
		zone Zone
		now  string
		want time.Duration
	}{
		{"", "2026-01-15T00:00:00Z", 0},
		{"UTC", "2026-07-15T00:00:00Z", 0},
		{"America/Los_Angeles", "2026-01-15T12:00:00Z", 8 * time.Hour},
		{"America/Los_Angeles", "2026-07-15T12:00:00Z", 7 * time.Hour},
		{"America/Los_Angeles", "2026-03-08T09:59:59Z", 8 * time.Hour}, // summer time begins at 10:00 UTC
		{"America/Los_Angeles", "2026-03-08T10:00:00Z", 7 * time.Hour},
		{"Asia/Kolkata", "2026-01-15T12:00:00Z", 18*time.Hour + 30*time.Minute}, // east of UTC: the evening before
		{"Pacific/Kiritimati", "2026-01-15T12:00:00Z", 10 * time.Hour},          // 14 hours ahead
	} {
		now := at(t, tc.now)
		got := tc.zone.midnight(now)
		if got != tc.want {
			t.Errorf("%s at %s: %v, want %v", tc.zone, tc.now, got, tc.want)
		}
		if l, _ := tc.zone.location(); now.Truncate(24*time.Hour).Add(got).In(l).Format("15:04:05") != "00:00:00" && tc.now[5:7] != "03" {
			t.Errorf("%s at %s: %v after midnight UTC is not midnight there", tc.zone, tc.now, got)
		}
	}
}

func TestPolicyHolds(t *testing.T) {
	c := parse(t, `
providers:
  a: {base_url: http://h/v1, day_zone: America/Los_Angeles}
  b: {base_url: http://h/v1, day_zone: Europe/Berlin}
  c: {base_url: http://h/v1, day_zone: Asia/Kolkata}
models: {m: {deployments: [{provider: a}]}}`)
	for now, want := range map[string]string{
		"2026-01-15T00:00:00Z": "2026-03-08T10:00:00Z", // Los Angeles
		"2026-03-08T10:00:00Z": "2026-03-29T01:00:00Z", // Berlin
		"2026-03-29T01:00:00Z": "2026-10-25T01:00:00Z",
		"2080-03-29T01:00:00Z": "2080-03-31T01:00:00Z", // beyond the table, by rule
	} {
		if got := c.PolicyHolds(at(t, now)); !got.Equal(at(t, want)) {
			t.Errorf("at %s until %s, want %s", now, got.UTC(), want)
		}
	}
	if got := good(t, "two-lines").PolicyHolds(at(t, "2026-01-15T00:00:00Z")); !got.IsZero() {
		t.Errorf("UTC has no summer time: %s", got)
	}
}
