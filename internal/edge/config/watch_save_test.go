package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// until reads changes until one is of the drain; those before it may be anything.
func (w *watched) until(want time.Duration) (seen int) {
	w.t.Helper()
	for {
		seen++
		if c := w.next(); c.err == nil && c.drain == want {
			return seen
		}
	}
}

// vim tries whether the directory can be written to, moves the file away, writes
// it anew, and removes the old one.
func TestWatchEditor(t *testing.T) {
	w := plainFile(t)
	for i := 2; i < 5; i++ {
		begun := time.Now()
		write(t, filepath.Join(filepath.Dir(w.path), "4913"), nil)
		for _, err := range []error{os.Remove(filepath.Join(filepath.Dir(w.path), "4913")), os.Rename(w.path, w.path+"~")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		write(t, w.path, fileWith(fmt.Sprintf("%ds", i)))
		if err := os.Remove(w.path + "~"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > settle {
			t.Skipf("saving took %v: this machine is too busy to show it as one change", took)
		}
		w.wantDrain(time.Duration(i) * time.Second) // and at no time that the file is missing
	}
}

// A file that is written in pieces, each soon after the one before, is read when it
// is complete: half of it may be a right file that says something else.
func TestWatchPieces(t *testing.T) {
	w := plainFile(t)
	f, err := os.Create(w.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pause := time.NewTicker(settle / 5)
	defer pause.Stop()
	last := time.Now()
	for _, piece := range []string{"providers: {a: {base_url: http://h/v1}}\n", "drain: 9", "s\n# drain: 8s\n", "log: {lev", "el: warn}\n", "# and\n", "# more\n", "# to\n", "# come\n"} {
		if _, err := f.WriteString(piece); err != nil {
			t.Fatal(err)
		}
		select {
		case c := <-w.changes:
			if time.Since(last) > settle/2 {
				t.Skip("this machine is too busy to write without pauses")
			}
			t.Fatalf("read in the midst: %+v", c)
		case <-pause.C:
		}
		if time.Since(last) > settle*3/4 {
			t.Skip("this machine is too busy to write without pauses")
		}
		last = time.Now()
	}
	w.wantDrain(9 * time.Second)
}

// Whoever saves without end, in each way that there is, has the last file in force.
func TestWatchStorm(t *testing.T) { // B181
	dir := t.TempDir()
	path := filepath.Join(dir, "spillway.yaml")
	swap := func(n int, drain string) { // as a ConfigMap is mounted anew
		name := fmt.Sprintf("..v%d", n)
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "spillway.yaml"), fileWith(drain))
		for _, err := range []error{os.Symlink(name, filepath.Join(dir, "..tmp")), os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data"))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if n > 0 {
			if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..v%d", n-1))); err != nil {
				t.Fatal(err)
			}
		}
	}
	swap(0, "1s")
	if err := os.Symlink(filepath.Join("..data", "spillway.yaml"), path); err != nil {
		t.Fatal(err)
	}
	w := watch(t, path)
	for n := 1; n <= 200; n++ {
		swap(n, "2s")
	}
	swap(201, "3s")
	if seen := w.until(3 * time.Second); seen > 100 {
		t.Errorf("%d changes for 201 versions", seen)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for n := range 200 { // now a plain file
		replace(t, path, fileWith(fmt.Sprintf("%dms", 10+n)))
		if n%10 == 0 {
			write(t, path, []byte("half a fi"))
		}
	}
	replace(t, path, fileWith("4s"))
	w.until(4 * time.Second)
	select {
	case c := <-w.changes:
		t.Errorf("after the last: %+v", c)
	case <-time.After(3 * settle):
	}
}
