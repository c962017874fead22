package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A stop in the midst of answers: they are given to their end, and all of them
// are in the database when the process has ended.
func TestSIGTERMWithAnswersUnderWay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "spillway.yaml")
	write(t, file, fmt.Sprintf("drain: 10s\nproviders: {sim: {kind: simulated, slots: 200, service_mean: 500ms}}\n"+
		"models: {chat: {deployments: [{provider: sim, concurrency: 200, price: {input: 1, output: 10}}]}}\nledger: {directory: %q}\n", filepath.Join(dir, "ledger")))
	p, base, ops := serve(t, "--config", file)
	var complete atomic.Int64
	var callers sync.WaitGroup
	const asked = 60
	for i := range asked {
		callers.Go(func() {
			body := hello
			if i%2 == 0 {
				body = strings.Replace(hello, "{", `{"stream":true,`, 1)
			}
			if code, answer := post(t, base+"/v1/chat/completions", "", body); code == 200 && (i%2 != 0 || strings.HasSuffix(answer, "data: [DONE]\n\n")) {
				complete.Add(1)
			}
		})
	}
	until(t, func() bool {
		return metric(t, ops, `spillway_running{class="interactive",model="chat"}`) == asked
	})
	code := p.end(t)
	callers.Wait()
	if code != 0 || complete.Load() != asked {
		t.Errorf("exit code %d, %d of %d answers were complete", code, complete.Load(), asked)
	}
	if rows := ledgerRows(t, file); rows != asked {
		t.Errorf("%d rows of %d requests", rows, asked)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "ledger", "spool", "*.rows")); len(left) > 0 {
		t.Errorf("the spool has %v", left)
	}
}

// A disk that is full, here a limit of file sizes: callers are served, the log
// says what is lost and what to do, and when there is room rows are kept again.
func TestNoRoomForTheLedger(t *testing.T) {
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("this needs prlimit, of util-linux: ", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "spillway.yaml")
	write(t, file, fmt.Sprintf("providers: {sim: {kind: simulated, slots: 64, service_mean: 1ms}}\n"+
		"models: {chat: {deployments: [{provider: sim, concurrency: 64, price: {input: 1, output: 10}}]}}\nledger: {directory: %q}\n", filepath.Join(dir, "ledger")))
	p, base, ops := serve(t, "--config", file)
	room := func(bytes string) {
		t.Helper()
		if out, err := exec.Command("prlimit", "--pid", fmt.Sprint(p.cmd.Process.Pid), "--fsize="+bytes+":unlimited").CombinedOutput(); err != nil {
			t.Fatalf("prlimit: %v\n%s", err, out)
		}
	}
	ask := func(n int) {
		t.Helper()
		for range n {
			if code, body := post(t, base+"/v1/chat/completions", "", hello); code != 200 {
				t.Fatalf("%d %s", code, body)
			}
		}
	}
	ask(10)
	room("16384")
	ask(150)
	if line := p.wait(t, "rows are lost"); line["remedy"] == nil || line["lost"] == nil || line["error"] == nil {
		t.Errorf("the log does not say what to do: %v", line)
	}
	lost := metric(t, ops, "spillway_ledger_lost_total")
	if lost == 0 {
		t.Error("no metric tells of the loss")
	}
	room("unlimited")
	ask(10)
	if now := metric(t, ops, "spillway_ledger_lost_total"); now != lost {
		t.Errorf("with room again %v more rows were lost", now-lost)
	}
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if rows := ledgerRows(t, file); rows != 170-int(lost) {
		t.Errorf("%d rows, want 170 without the %v that were lost", rows, lost)
	}
}

// A directory that cannot be used ends the start, and says what to do.
func TestNoDirectoryForTheLedger(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "spillway.yaml")
	write(t, filepath.Join(dir, "taken"), "")
	write(t, file, fmt.Sprintf("providers: {sim: {kind: simulated}}\nledger: {directory: %q}\n", filepath.Join(dir, "taken", "ledger")))
	cmd := command(t, "serve", "--config", file, "--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitUsage {
		t.Errorf("exit code %d, %v", code, err)
	}
	for _, say := range []string{"taken", "ledger.directory", "ledger: {enabled: false}"} {
		if !strings.Contains(string(out), say) {
			t.Errorf("it does not say %q:\n%s", say, out)
		}
	}
}

// What nobody configured keeps nothing on disk.
func TestNothingIsLeftBehind(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, cmd *exec.Cmd){
		"serve": func(t *testing.T, cmd *exec.Cmd) {
			cmd.Args = append(cmd.Args, "serve", "--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0")
			p, base, _ := started(t, cmd)
			if code, body := post(t, base+"/v1/chat/completions", "", hello); code != 200 {
				t.Errorf("%d %s", code, body)
			}
			p.end(t)
		},
		"demo": func(t *testing.T, cmd *exec.Cmd) {
			cmd.Args = append(cmd.Args, "demo", "--duration", "2s")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := command(t)
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, "HOME="+dir, "TMPDIR="+dir, "XDG_DATA_HOME="+dir)
			run(t, cmd)
			left, err := os.ReadDir(dir)
			if err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

// ledgerRows are the requests that spillway usage counts.
func ledgerRows(t *testing.T, file string) (rows int) {
	t.Helper()
	out, err := command(t, "usage", "--config", file, "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []struct{ Requests int }
	if err := json.Unmarshal(out, &lines); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, l := range lines {
		rows += l.Requests
	}
	return rows
}

// metric reads one figure, 0 if it is not there.
func metric(t *testing.T, ops, name string) (value float64) {
	t.Helper()
	resp, err := http.Get(ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			fmt.Sscan(rest, &value)
		}
	}
	return value
}

// until waits for something to become true.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it did not happen within ten seconds")
		}
	}
}
