package sim

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// tokens reads a whole number, which may have a fraction of zeros.
func tokens(text []byte) (int64, error) {
	n, rest := digits(text)
	if len(rest) == len(text) {
		return 0, notANumber(text, "whole number of tokens")
	}
	if len(rest) > 0 && (rest[0] != '.' || len(bytes.Trim(rest[1:], "0")) > 0) {
		return 0, notANumber(text, "whole number of tokens")
	}
	if n > maxTokens {
		return 0, fmt.Errorf("%.80s tokens: at most %d", text, maxTokens)
	}
	return n, nil
}

// seconds reads a decimal number to the nanosecond.
func seconds(text []byte) (time.Duration, error) {
	whole, rest := digits(text)
	var nanos int64
	if len(rest) > 1 && rest[0] == '.' && len(rest) <= 10 {
		var tail []byte
		nanos, tail = digits(rest[1:])
		for range 10 - len(rest) {
			nanos *= 10
		}
		rest = tail
	}
	if len(rest) > 0 || len(text) == 0 || text[0] == '.' { // rarer forms: an exponent, more than nine decimals
		v, err := decimal(text)
		if err != nil {
			return 0, err
		}
		v = min(v, maxSeconds+1)
		whole = int64(v)
		nanos = int64(math.Round((v - math.Floor(v)) * 1e9))
	}
	if whole > maxSeconds {
		return 0, fmt.Errorf("%.80s seconds: at most %d", text, int64(maxSeconds))
	}
	return time.Duration(whole)*time.Second + time.Duration(nanos), nil
}

// decimal reads a number from 0 up, which may be infinite.
func decimal(text []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(v, 0) || math.IsNaN(v) || v < 0 {
		return 0, notANumber(text, "number")
	}
	return v, nil
}

// nanoseconds reads a whole number of them, of at most a year.
func nanoseconds(text []byte) (time.Duration, error) {
	n, rest := digits(text)
	if len(rest) > 0 || len(text) == 0 {
		return 0, notANumber(text, "whole number of nanoseconds")
	}
	if d := time.Duration(n); d <= 365*24*time.Hour {
		return d, nil
	}
	return 0, fmt.Errorf("%.80s nanoseconds: at most a year", text)
}

func notANumber(text []byte, what string) error {
	if len(text) > 1 && text[0] == '-' {
		return fmt.Errorf("%.80s is negative", text)
	}
	return fmt.Errorf("%.80q is not a %s", text, what)
}

// digits reads the number that text begins with. It stays above every bound
// of a trace once it has passed it.
func digits(text []byte) (n int64, rest []byte) {
	for i, d := range text {
		if d < '0' || d > '9' {
			return n, text[i:]
		}
		n = min(n*10+int64(d-'0'), 1e17)
	}
	return n, nil
}

// stamp reads 2023-11-16 18:15:46.6805900, with T in place of the space, Z or
// an offset at the end if need be; UTC if there is none.
func stamp(text []byte) (time.Duration, error) {
	bad := func() (time.Duration, error) {
		return 0, fmt.Errorf("%.80q is not a time like 2023-11-16 18:15:46.6805900", text)
	}
	if len(text) < 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' && text[10] != 'T' || text[13] != ':' || text[16] != ':' {
		return bad()
	}
	var v [6]int
	for i, at := range [6][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		n, rest := digits(text[at[0]:at[1]])
		if len(rest) > 0 {
			return bad()
		}
		v[i] = int(n)
	}
	nanos, rest := int64(0), text[19:]
	if len(rest) > 0 && rest[0] == '.' {
		fraction, tail := digits(rest[1:])
		n := len(rest) - 1 - len(tail)
		if n < 1 || n > 9 {
			return bad()
		}
		for range 9 - n {
			fraction *= 10
		}
		nanos, rest = fraction, tail
	}
	east, ok := offset(rest)
	if !ok || v[1] < 1 || v[1] > 12 || v[2] < 1 || v[2] > 31 || v[3] > 23 || v[4] > 59 || v[5] > 60 {
		return bad()
	}
	if v[0] < 2002 || v[0] > 2190 {
		return 0, fmt.Errorf("the year %d is not from 2002 to 2190", v[0])
	}
	t := time.Date(v[0], time.Month(v[1]), v[2], v[3], v[4], v[5], int(nanos), time.UTC)
	return time.Duration(t.UnixNano()) - east, nil
}

// offset reads what may follow a time: nothing, Z, +02:00.
func offset(text []byte) (time.Duration, bool) {
	if len(text) == 0 || string(text) == "Z" {
		return 0, true
	}
	if len(text) != 6 || text[0] != '+' && text[0] != '-' || text[3] != ':' {
		return 0, false
	}
	h, restH := digits(text[1:3])
	m, restM := digits(text[4:6])
	if len(restH) > 0 || len(restM) > 0 || h > 23 || m > 59 {
		return 0, false
	}
	d := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if text[0] == '-' {
		d = -d
	}
	return d, true
}
