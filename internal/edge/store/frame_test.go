package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEveryFieldIsKept(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var want Row
		v := reflect.ValueOf(&want).Elem()
		for i := range v.NumField() {
			switch f := v.Field(i); f.Interface().(type) {
			case time.Time:
				f.Set(reflect.ValueOf(time.UnixMicro(chance.Int64N(1 << 52)).UTC()))
			case time.Duration:
				f.SetInt(chance.Int64N(1<<50) / 1000 * 1000)
			case bool:
				f.SetBool(chance.IntN(2) == 1)
			case string:
				f.SetString(fmt.Sprintf("%s-%x", v.Type().Field(i).Name, chance.Uint64()))
			default:
				f.SetInt(chance.Int64() - chance.Int64())
			}
		}
		frame := appendFrame(nil, &want)
		body, skipped, end, ok := nextFrame(frame)
		if !ok || skipped != 0 || end != len(frame) {
			t.Fatal(skipped, end, ok)
		}
		if got, err := decode(body); err != nil || got != want {
			t.Fatalf("%v\n%+v\n%+v", err, got, want)
		}
	}
}

// all reads the frames of b as a cursor does, and says how many bytes belong
// to none.
func all(b []byte) (ids []string, left int) {
	for len(b) > 0 {
		body, skipped, end, ok := nextFrame(b)
		left += skipped
		b = b[end:]
		if r, err := decode(body); ok && err == nil {
			ids = append(ids, r.ID)
		}
	}
	return ids, left
}

func TestTheLargestRowFits(t *testing.T) {
	r := row(1)
	for _, text := range r.texts() {
		*text = strings.Repeat("x", 600)
	}
	if n := len(appendFrame(nil, r)); n > maxFrame {
		t.Errorf("%d bytes, more than %d", n, maxFrame)
	}
}

// Whichever byte is wrong, the other rows are read.
func TestOneWrongByte(t *testing.T) {
	var b []byte
	var ends []int
	for i := range 3 {
		b = appendFrame(b, row(i))
		ends = append(ends, len(b))
	}
	for at := range b {
		wrong := bytes.Clone(b)
		wrong[at] ^= 0x10
		var want []string
		for i, end := range ends {
			if begin := end - ends[0]; at < begin || at >= end {
				want = append(want, row(i).ID)
			}
		}
		got, left := all(wrong)
		same(t, got, want)
		if left != ends[0] {
			t.Fatalf("byte %d: %d bytes left out, want the %d of one row", at, left, ends[0])
		}
	}
}

// A version with fewer fields, and one with more.
func TestRowsOfOtherVersions(t *testing.T) {
	texts := []byte{5, 'r', 'e', 'q', '-', '1', 1, 'a'}
	r, err := decode(slices.Concat([]byte{2}, texts, []byte{1, 0x80, 0x01}))
	if want := (Row{ID: "req-1", Tenant: "a", Time: time.UnixMicro(64).UTC()}); err != nil || r != want {
		t.Errorf("%v %+v", err, r)
	}
	r, err = decode(slices.Concat([]byte{numTexts + 1}, texts, make([]byte, numTexts-2), []byte{3, 'n', 'e', 'w', numNumbers + 1, 0x80, 0x01}, make([]byte, numNumbers-1), []byte{9}))
	if want := (Row{ID: "req-1", Tenant: "a", Time: time.UnixMicro(64).UTC()}); err != nil || r != want {
		t.Errorf("%v %+v", err, r)
	}
	for _, body := range []string{"", "\x00", "\x00\x00", "\x01\x00\x00", "\x02\x01a", "\x01\x09a", "\x01\x01a\x02\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if r, err := decode([]byte(body)); err == nil {
			t.Errorf("%q is read as %+v", body, r)
		}
	}
}

func FuzzFrames(f *testing.F) {
	whole := appendFrame(appendFrame(nil, row(1)), row(2))
	f.Add(whole)
	f.Add(whole[5:])
	f.Add(append(bytes.Repeat(frameMark, 5), whole...))
	f.Fuzz(func(t *testing.T, b []byte) {
		decode(b) // of any text, without panic
		// What is before a row does not hide it.
		got, _ := all(append(bytes.Clone(b), whole...))
		if n := len(got); n < 2 || got[n-2] != "req-1" || got[n-1] != "req-2" {
			t.Errorf("%q", got)
		}
	})
}
