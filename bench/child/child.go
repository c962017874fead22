// Package child runs the processes that a benchmark measures, and ends them by
// their own handle.
package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// stopTime is how long a child may take to end before it is killed.
const stopTime = 5 * time.Second

// startTime is how long a child may take to say where it listens.
const startTime = 15 * time.Second

// Child is a process that this program started.
type Child struct {
	name   string
	cmd    *exec.Cmd
	cancel context.CancelFunc
	ended  chan struct{} // closed when err and last are set
	err    error
	last   string // line of its output
}

// Start runs a program. If announces is given, it returns once a line of
// the program's output matches it, with the text of the groups. What the
// program says goes to keep.
func Start(ctx context.Context, name string, argv []string, announces *regexp.Regexp, keep io.Writer) (*Child, []string, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	out, in, err := os.Pipe()
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		cancel()
		out.Close()
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &Child{name: name, cmd: cmd, cancel: cancel, ended: make(chan struct{})}
	found := make(chan []string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer out.Close()
		c.last = follow(out, announces, found, keep)
	}()
	go func() {
		<-read // the pipe ends with the process
		c.err = cmd.Wait()
		close(c.ended)
	}()
	if announces == nil {
		return c, nil, nil
	}
	select {
	case groups := <-found:
		return c, groups, nil
	case <-c.ended:
		cancel()
		return nil, nil, c.early()
	case <-time.After(startTime):
		return nil, nil, errors.Join(fmt.Errorf("start %s: it did not say where it listens within %v", name, startTime), c.Stop())
	}
}

// follow copies lines to keep, and the first that matches to found. It returns
// the last line.
func follow(out io.Reader, announces *regexp.Regexp, found chan<- []string, keep io.Writer) (last string) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		keep.Write(line) // a log that cannot be kept spoils no measurement
		if announces != nil {
			if m := announces.FindSubmatch(line); m != nil {
				groups := make([]string, len(m)-1)
				for i := range groups {
					groups[i] = string(m[i+1])
				}
				found <- groups
				announces = nil
			}
		}
		if err != nil {
			return last
		}
		last = string(bytes.TrimSpace(line))
	}
}

// Answers waits until a URL that the process serves is answered with 200.
func (c *Child) Answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.ended:
			return c.early()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", url, err)
		}
	}
}

func (c *Child) early() error {
	return fmt.Errorf("%s ended too early: %v (its last words: %s)", c.name, c.err, c.last)
}

// Stop ends the process and waits for its end. It returns an error if the
// process had ended before.
func (c *Child) Stop() error {
	var err error
	select {
	case <-c.ended:
		err = c.early()
	default:
	}
	c.cancel()
	<-c.ended
	return err
}

// Kill ends the process at once, without a word to it, and waits for its end.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // it may have ended before
	<-c.ended
	c.cancel()
}

// Interrupt ends the process with the signal of a terminal, and waits for its
// end. PostgreSQL then does not wait for its clients.
func (c *Child) Interrupt() {
	_ = c.cmd.Process.Signal(os.Interrupt) // it may have ended before
	select {
	case <-c.ended:
	case <-time.After(stopTime):
	}
	c.cancel()
	<-c.ended
}

// ExitCode of a process that has ended; -1 if a signal ended it.
func (c *Child) ExitCode() int {
	<-c.ended
	return c.cmd.ProcessState.ExitCode()
}
