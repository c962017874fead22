package config

import (
	"errors"
	"log/slog"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Secret is text that is never printed: formatting, logging and encoding it
// give a placeholder. Convert it to string to use it.
type Secret string

const hidden = "[secret]"

func (Secret) String() string               { return hidden }
func (Secret) GoString() string             { return hidden }
func (Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Bytes is a size. In the file it is a whole number of bytes, or a number with
// a unit: B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024).
type Bytes int64

// Percent is a share of a hundred. In the file it is a whole number, with or
// without the sign: 5 or "5%".
type Percent int

// Moment is a time, in seconds since 1970 UTC; 0 is none. In the file it is
// written as in RFC 3339.
type Moment int64

// Time is the moment in UTC.
func (m Moment) Time() time.Time { return time.Unix(int64(m), 0).UTC() }

// past says that the moment has come.
func (m Moment) past(now time.Time) bool { return m != 0 && now.Unix() >= int64(m) }

// maxName bounds names, because they become metric labels.
const maxName = 128

var plain = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func plainName(s string) bool { return len(s) <= maxName && plain.MatchString(s) }

func printableName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}

// checkLabel checks a text that becomes a label; one that was not written is
// none.
func checkLabel(d *document, at, text string) {
	if d.wrote(at) && !printableName(text) {
		d.fail(at, "a label is 1 to %d characters without spaces", maxName)
	}
}

// patternDuration and patternBytes are what the schema says of the text forms.
const (
	patternDuration = `^(0|[0-9]+d|([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	patternBytes    = `^[0-9]+(\.[0-9]+)?(B|kB|KB|KiB|MB|MiB|GB|GiB)?$`
	patternPercent  = `^[0-9]+%?$`
	patternMoment   = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$`
)

var (
	durationForm = regexp.MustCompile(patternDuration)
	bytesForm    = regexp.MustCompile(patternBytes)
	percentForm  = regexp.MustCompile(patternPercent)
	momentForm   = regexp.MustCompile(patternMoment)
)

// parseDuration reads durations as Go writes them, and whole days of 24 hours
// before them.
func parseDuration(s string) (time.Duration, error) {
	if strings.HasPrefix(s, "-") {
		return 0, errors.New("must not be negative")
	}
	if !durationForm.MatchString(s) {
		return 0, errors.New("not a duration; write it like 250ms, 10s, 1m30s, 2h or 30d")
	}
	const day = 24 * time.Hour
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		days, rest = "0", s
	}
	n, err := strconv.ParseInt(days, 10, 64)
	var d time.Duration
	if err == nil && rest != "" {
		d, err = time.ParseDuration(rest)
	}
	if err != nil || n > int64((math.MaxInt64-d)/day) {
		return 0, errors.New("too long a duration")
	}
	return time.Duration(n)*day + d, nil
}

var units = map[string]float64{
	"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

func parseBytes(s string) (Bytes, error) {
	if !bytesForm.MatchString(s) {
		return 0, errors.New("not a size; write it like 64KiB, 32MiB or 1.5GB, or as a number of bytes")
	}
	digits := strings.TrimRight(s, "BKMGik")
	n, err := strconv.ParseFloat(digits, 64)
	n *= units[s[len(digits):]]
	if err != nil || n >= math.MaxInt64 {
		return 0, errors.New("too large a size")
	}
	return Bytes(n), nil
}

func parsePercent(s string) (Percent, error) {
	if !percentForm.MatchString(s) {
		return 0, errors.New("not a share; write it like 5 or 5%")
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
	if err != nil {
		return 0, errors.New("too large a share")
	}
	return Percent(n), nil
}

func parseMoment(s string) (Moment, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !momentForm.MatchString(s) || t.Unix() <= 0 {
		return 0, errors.New("not a time; write it like 2026-12-24T00:00:00Z or 2026-12-24T00:00:00+01:00")
	}
	return Moment(t.Unix()), nil
}
