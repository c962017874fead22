package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// change is what a watch reported.
type change struct {
	drain time.Duration // of a good file
	err   error
}

// watched is a watched file in a directory of its own.
type watched struct {
	t       *testing.T
	path    string
	changes chan change
	stop    func()
}

func fileWith(drain string) []byte {
	return []byte("providers: {a: {base_url: http://h/v1}}\ndrain: " + drain + "\n")
}

func watch(t *testing.T, path string) *watched {
	t.Helper()
	w := &watched{t: t, path: path, changes: make(chan change, 100)}
	stop, err := Watch(path, func(c *Config, err error) {
		switch {
		case (c == nil) == (err == nil):
			t.Errorf("a configuration %v and an error %v", c, err)
		case err != nil:
			w.changes <- change{err: err}
		default:
			w.changes <- change{drain: c.Drain}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stop = stop
	t.Cleanup(stop)
	return w
}

func plainFile(t *testing.T) *watched {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spillway.yaml")
	write(t, path, fileWith("1s"))
	return watch(t, path)
}

func (w *watched) next() change {
	w.t.Helper()
	select {
	case c := <-w.changes:
		return c
	case <-time.After(10 * time.Second):
		w.t.Fatal("no change was seen")
		return change{}
	}
}

func (w *watched) wantDrain(want time.Duration) {
	w.t.Helper()
	if c := w.next(); c.err != nil || c.drain != want {
		w.t.Fatalf("drain is %v (%v), want %v", c.drain, c.err, want)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace is how most editors and deployment tools save.
func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	write(t, path+".tmp", data)
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

func TestWatchWriteInPlace(t *testing.T) {
	w := plainFile(t)
	write(t, w.path, fileWith("2s"))
	w.wantDrain(2 * time.Second)
	write(t, w.path, fileWith("3s"))
	w.wantDrain(3 * time.Second)
}

func TestWatchAtomicRename(t *testing.T) {
	w := plainFile(t)
	replace(t, w.path, fileWith("2s"))
	w.wantDrain(2 * time.Second)
	replace(t, w.path, fileWith("3s"))
	w.wantDrain(3 * time.Second)
}

// A burst of saves is one change: the last one.
func TestWatchDebounces(t *testing.T) {
	w := plainFile(t)
	begun := time.Now()
	for range 20 {
		replace(t, w.path, fileWith("2s"))
	}
	write(t, w.path, []byte("half a fi"))
	write(t, w.path, fileWith("3s"))
	if took := time.Since(begun); took > settle {
		t.Skipf("saving took %v, longer than changes are collected: this machine is too busy to show it", took)
	}
	w.wantDrain(3 * time.Second)
	replace(t, w.path, fileWith("4s"))
	w.wantDrain(4 * time.Second) // and nothing in between
}

// Saving what is there already, or touching other files, is no change.
func TestWatchIgnoresWhatIsNoChange(t *testing.T) {
	w := plainFile(t)
	replace(t, w.path, fileWith("1s"))
	write(t, w.path+".bak", fileWith("9s"))
	select {
	case c := <-w.changes:
		t.Fatalf("%+v", c)
	case <-time.After(3 * settle):
	}
	replace(t, w.path, fileWith("2s"))
	w.wantDrain(2 * time.Second)
}

func TestWatchInvalidThenValid(t *testing.T) {
	w := plainFile(t)
	replace(t, w.path, fileWith("never"))
	var problems Problems
	if c := w.next(); !errors.As(c.err, &problems) || !strings.Contains(c.err.Error(), `spillway.yaml:2:8: drain: "never"`) {
		t.Fatalf("%v", c.err)
	}
	replace(t, w.path, fileWith("1s")) // back to the first content: it must be heard that all is well
	w.wantDrain(time.Second)
}

// Some editors move the old file away first; it may be missing for long.
func TestWatchRemovedThenBack(t *testing.T) {
	w := plainFile(t)
	if err := os.Rename(w.path, w.path+"~"); err != nil {
		t.Fatal(err)
	}
	if c := w.next(); !errors.Is(c.err, fs.ErrNotExist) {
		t.Fatalf("%+v, want that the file is missing", c)
	}
	write(t, w.path, fileWith("2s"))
	w.wantDrain(2 * time.Second)
	replace(t, w.path, fileWith("3s"))
	w.wantDrain(3 * time.Second)
}

// A mounted ConfigMap: file -> ..data/file, and ..data -> a directory that is
// swapped by renaming a new link over it. The old directory is then removed.
func TestWatchSymlinkSwap(t *testing.T) { // B181
	dir := t.TempDir()
	version := func(name, drain string) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "spillway.yaml"), fileWith(drain))
		tmp := filepath.Join(dir, "..data_tmp")
		if err := os.Symlink(name, tmp); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..v1", "1s")
	path := filepath.Join(dir, "spillway.yaml")
	if err := os.Symlink(filepath.Join("..data", "spillway.yaml"), path); err != nil {
		t.Fatal(err)
	}
	w := watch(t, path)
	version("..v2", "2s")
	if err := os.RemoveAll(filepath.Join(dir, "..v1")); err != nil {
		t.Fatal(err)
	}
	w.wantDrain(2 * time.Second)
	version("..v3", "3s")
	w.wantDrain(3 * time.Second)
}

// A link into another directory: the file there is what changes.
func TestWatchLinkToAnotherDirectory(t *testing.T) {
	target := filepath.Join(t.TempDir(), "real.yaml")
	write(t, target, fileWith("1s"))
	path := filepath.Join(t.TempDir(), "spillway.yaml")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	w := watch(t, path)
	write(t, target, fileWith("2s"))
	w.wantDrain(2 * time.Second)
	replace(t, target, fileWith("3s"))
	w.wantDrain(3 * time.Second)
}

func TestWatchStops(t *testing.T) {
	w := plainFile(t)
	replace(t, w.path, fileWith("2s"))
	w.stop()
	w.stop() // again: nothing happens
	for len(w.changes) > 0 {
		<-w.changes // the change may have been in time
	}
	replace(t, w.path, fileWith("3s"))
	select {
	case c := <-w.changes:
		t.Errorf("%+v after stop", c)
	case <-time.After(3 * settle):
	}
}

func TestWatchNeedsADirectory(t *testing.T) {
	if _, err := Watch(filepath.Join(t.TempDir(), "none", "spillway.yaml"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
