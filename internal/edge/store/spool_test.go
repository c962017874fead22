package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func testSpool(t *testing.T, dir string, bound int64) *spool {
	t.Helper()
	s, err := openSpool(dir, bound)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(position{}) })
	return s
}

func readAll(t *testing.T, s *spool, log messages) (ids []string) {
	t.Helper()
	o := log.options("")
	c := &cursor{spool: s, log: o.Log}
	defer c.close()
	rows, err := c.read(nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func addTo(t *testing.T, s *spool, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := s.add(row(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// A process was killed, or the power failed, with any part of its last row
// written. The next process reads what is whole and adds behind it.
func TestTornTail(t *testing.T) {
	whole := appendFrame(appendFrame(nil, row(0)), row(1))
	size := len(whole) / 2
	for cut := range len(whole) + 1 {
		dir, log := t.TempDir(), newLog()
		if err := os.WriteFile(filepath.Join(dir, "0000000000000007.rows"), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s := testSpool(t, dir, defaultSpool)
		addTo(t, s, 2, 4)
		same(t, readAll(t, s, log), append(ids(0, cut/size), ids(2, 4)...))
		if told := len(log); told != min(cut%size, 1) {
			t.Fatalf("cut at byte %d: %d messages", cut, told)
		}
		s.close(position{})
	}
}

// Rows, chunks and segments end at different places, and between the rows
// stands what belongs to none.
func TestReadingInSteps(t *testing.T) {
	chance := rand.New(rand.NewPCG(5, 6))
	dir, log := t.TempDir(), newLog()
	s := testSpool(t, dir, 8<<20) // segments of 1 MiB, four chunks each
	const rows = 12_000
	for i := range rows {
		r := row(i)
		r.User = strings.Repeat("u", chance.IntN(512))
		if chance.IntN(1000) == 0 {
			r.ModelAsked, r.Session, r.Rung = strings.Repeat("m", 512), strings.Repeat("s", 512), strings.Repeat("r", 512)
		}
		if err := s.add(r); err != nil {
			t.Fatal(err)
		}
		if chance.IntN(200) == 0 {
			noise := make([]byte, chance.IntN(2*maxFrame))
			for j := range noise {
				noise[j] = frameMark[chance.IntN(len(frameMark))]
			}
			s.file.Write(noise)
			s.last().size += int64(len(noise))
			s.bytes += int64(len(noise))
		}
	}
	if len(s.segments) < 4 {
		t.Fatalf("only %d segments", len(s.segments))
	}
	o := log.options("")
	c := &cursor{spool: s, log: o.Log}
	defer c.close()
	var got []string
	for s.holds(c.at) {
		most := 1 + chance.IntN(700)
		batch, err := c.read(nil, most)
		if err != nil || len(batch) > most {
			t.Fatal(len(batch), err)
		}
		for _, r := range batch {
			got = append(got, r.ID)
		}
		if err := s.wrote(c.at); err != nil {
			t.Fatal(err)
		}
	}
	same(t, got, ids(0, rows))
	if files, _ := filepath.Glob(filepath.Join(dir, "*.rows")); len(files) != 1 {
		t.Errorf("%d segments are kept, want the open one", len(files))
	}
}

func TestTheBoundOfTheSpool(t *testing.T) {
	s := testSpool(t, t.TempDir(), leastSpool)
	n := 0
	for s.add(row(n)) == nil {
		n++
	}
	if err := s.add(row(n)); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	if bytes, _ := s.figures(); bytes > leastSpool || bytes < leastSpool-1000 {
		t.Errorf("%d of %d bytes", bytes, leastSpool)
	}
	same(t, readAll(t, s, newLog()), ids(0, n)) // none of them was overwritten

	// Once some are in the database, there is room again.
	o := newLog().options("")
	c := &cursor{spool: s, log: o.Log}
	defer c.close()
	if _, err := c.read(nil, n/2); err != nil {
		t.Fatal(err)
	}
	if err := s.wrote(c.at); err != nil {
		t.Fatal(err)
	}
	if err := s.add(row(n)); err != nil {
		t.Error(err)
	}
}

// A disk that fails costs the rows it refuses, and none behind them.
func TestAWriteThatFails(t *testing.T) {
	s := testSpool(t, t.TempDir(), defaultSpool)
	addTo(t, s, 0, 2)
	s.file.Close() // what a write meets then is an error, and so does all else
	if err := s.add(row(99)); err == nil {
		t.Fatal("no error")
	}
	addTo(t, s, 2, 4)
	same(t, readAll(t, s, newLog()), ids(0, 4))
}

func TestADirectoryHasOneProcess(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Options{Directory: dir})
	_, err := Open(t.Context(), Options{Directory: dir})
	if err == nil || !strings.Contains(err.Error(), "another process uses it") || !strings.Contains(err.Error(), "ledger.directory of its own") {
		t.Fatal(err)
	}
	if err := l.Close(in(t)); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Directory: dir})
}

func TestADirectoryThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Directory: file}); err == nil || !strings.Contains(err.Error(), "enabled: false") {
		t.Error(err)
	}
}

func TestDSNsAreNotRepeated(t *testing.T) {
	for _, dsn := range []string{"postgres://u:s3cr3t@h:port/d", "s3cr3t", "://s3cr3t"} {
		_, err := Open(t.Context(), Options{Directory: t.TempDir(), Postgres: dsn})
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "s3cr3t") {
			t.Error(err)
		}
	}
}
