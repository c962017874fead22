package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must be left alone before it is read: an editor
// or a copy writes in several steps.
const settle = 100 * time.Millisecond

// Watch calls onChange whenever the content of the file at path changes, with
// the new configuration or, for a faulty or missing file, with the error only.
// It sees writes in place, files renamed over it and changed symbolic links,
// and goes on after the file was removed and came back. It does not look at the
// file of prices that the configuration may name. Begin to watch before
// the first Load, so that no change is missed between the two. Calls come one
// at a time, and none after stop has returned; onChange must not call stop.
func Watch(path string, onChange func(*Config, error)) (stop func(), err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("watch configuration: %w", err)
	}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch configuration: %w", err)
	}
	// The directory, not the file: a file renamed over it would not be seen.
	if err := fs.Add(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("watch configuration in %s: %w", filepath.Dir(path), err), fs.Close())
	}
	w := &watcher{path: path, fs: fs, onChange: onChange, done: make(chan struct{}), ended: make(chan struct{})}
	w.follow()
	w.last, _ = readFile(path)
	go w.run()
	return sync.OnceFunc(func() {
		close(w.done)
		<-w.ended
	}), nil
}

// watcher belongs to its own goroutine once run has begun.
type watcher struct {
	path        string
	real        string // path with symbolic links resolved; "" while there is no such file
	last        []byte // content that was read last; nil after it could not be read
	fs          *fsnotify.Watcher
	onChange    func(*Config, error)
	done, ended chan struct{}
}

func (w *watcher) run() {
	defer close(w.ended)
	defer w.fs.Close()
	timer := time.NewTimer(settle)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-w.done:
			return
		case e := <-w.fs.Events:
			real := w.real
			if w.follow(); e.Name == w.path || e.Name == real || real != w.real {
				timer.Reset(settle)
			}
		case err := <-w.fs.Errors:
			w.onChange(nil, fmt.Errorf("watch configuration: %w", err))
			timer.Reset(settle) // events may have been lost
		case <-timer.C:
			w.reload()
		}
	}
}

// follow finds the file that path leads to now, and watches its directory too.
func (w *watcher) follow() {
	real, err := filepath.EvalSymlinks(w.path)
	if err != nil {
		w.real = ""
		return
	}
	if real != w.real && filepath.Dir(real) != filepath.Dir(w.path) {
		// Failing is no loss: a change of the link itself is still seen.
		_ = w.fs.Add(filepath.Dir(real))
	}
	w.real = real
}

func (w *watcher) reload() {
	data, err := readFile(w.path)
	if err != nil {
		w.last = nil
		w.onChange(nil, err)
		return
	}
	if w.last != nil && bytes.Equal(data, w.last) {
		return
	}
	w.last = data
	c, err := Parse(w.path, data, os.LookupEnv)
	w.onChange(c, err)
}
