package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a child that listens on addr.
type process struct {
	addr string
	ops  string // of a gateway
	cmd  *exec.Cmd
	in   io.Closer // children of this program end when it closes
	log  *os.File
}

const (
	startTime = 5 * time.Second
	stopTime  = 3 * time.Second
)

// start runs a program and returns when it accepts connections. A program that
// does not stop when told is killed.
func start(ctx context.Context, addr, name string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p := &process{addr: addr, cmd: cmd, in: in}
	if p.log, err = os.CreateTemp("", "spillway-bench-proxy-*.log"); err != nil {
		return nil, err
	}
	if err := os.Remove(p.log.Name()); err != nil { // it goes with the last who has it open
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	for end := time.Now().Add(startTime); ; {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			return p, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			defer p.stop()
			return nil, fmt.Errorf("%s does not listen on %s: %w\n%s", name, addr, err, p.said())
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			p.stop()
			return nil, err
		}
	}
}

// said is the end of what the process has written.
func (p *process) said() []byte {
	b := make([]byte, 2<<10)
	info, err := p.log.Stat()
	if err != nil {
		return nil
	}
	n, _ := p.log.ReadAt(b, max(0, info.Size()-int64(len(b)))) // up to its end is what is wanted
	return b[:n]
}

// stop ends the process and waits for it.
func (p *process) stop() {
	defer p.log.Close()
	p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(stopTime, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_ = p.cmd.Wait() // a signal is how it ends
}

// cpu is the processor time that the process has used, in steps of a tick.
func (p *process) cpu() (time.Duration, error) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // after the name: field 3 and on
	if len(f) < 13 {
		return 0, fmt.Errorf("read processor time: %q", b)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 64)
	system, err2 := strconv.ParseInt(f[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("read processor time: %q", b)
	}
	return time.Duration(user+system) * tick, nil
}

// rss is the resident memory of the process in bytes.
func (p *process) rss() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("read memory: no VmRSS of process %d", p.cmd.Process.Pid)
}

// freeAddr is a loopback address that nobody listens on.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// untilOrphan returns when the parent has closed the pipe, or is gone.
func untilOrphan() { _, _ = io.Copy(io.Discard, os.Stdin) }
