package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// What a gateway recorded, and what it still remembers, replay the same; what
// was changed or has lost its beginning is told, with exit code 1.
func TestRecordAndReplay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "events.jsonl")
	p, base, ops := serve(t, "--record", file)
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() { post(t, base+"/v1/chat/completions", "", hello) })
	}
	callers.Wait()
	resp, err := http.Get(ops + "/debug/events")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if code := p.end(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(whole), string(ring)) {
		t.Error("the recording does not begin as the dump does")
	}
	_, later, _ := strings.Cut(string(whole), "\n")
	for _, tt := range []struct {
		name, text string
		code       int
		says       string
	}{
		{"recording", string(whole), 0, " events, 40 requests and "},
		{"dump", string(ring), 0, " events, 40 requests and "},
		{"cut", string(whole[:len(whole)-9]), 0, "the last line is cut off"},
		{"changed", strings.Replace(string(whole), `"Stage":"free"`, `"Stage":"dispatch"`, 1), 1, "first difference: event 2 (offer at "},
		{"headless", later, 1, "serve --record FILE keeps all"},
		{"other", "hello\nworld\n", 2, "read dump, line 1"},
		{"empty", "", 2, "no events"},
	} {
		name := filepath.Join(dir, tt.name)
		write(t, name, tt.text)
		cmd := command(t, "replay", name)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: code %d, want %d and %q in\n%s", tt.name, code, tt.code, tt.says, out)
		}
	}
	cmd := command(t, "serve", "--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0", "--record", file)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "exists") {
		t.Errorf("a recording was written over: code %d, %s", cmd.ProcessState.ExitCode(), out)
	}
}
