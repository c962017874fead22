package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary stand in for the command, so that exit codes
// and signals are those of a real process.
func TestMain(m *testing.M) {
	if os.Getenv("SPILLWAY_TEST_MAIN") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "SPILLWAY_TEST_MAIN=1")
	return cmd
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	write(t, good, "providers: {gpu: {base_url: \"http://127.0.0.1:1/v1\"}}\n")
	write(t, bad, "providers: {gpu: {base_ur: \"http://127.0.0.1:1/v1\"}}\n")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"version"}, 0, "spillway "},
		{[]string{"--help"}, 0, "Run the gateway"},
		{[]string{"serve", "--help"}, 0, "--config"},
		{[]string{"mock", "--help"}, 0, "brownout"},
		{[]string{"check", "--config", good}, 0, "valid"},
		{[]string{"check", "--schema"}, 0, `"$schema"`},
		{[]string{"check", "--hash-key", "abc"}, 0, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{[]string{"check"}, 2, "nothing to check"},
		{[]string{"check", "--config", bad}, 2, `bad.yaml:1:19: providers.gpu.base_ur: unknown key; did you mean "base_url"?`},
		{[]string{"check", "--config", filepath.Join(dir, "none.yaml")}, 2, "none.yaml"},
		{[]string{"serve", "--config", bad}, 2, "base_url"},
		{[]string{"serve", "--listen", "0.0.0.0:0"}, 2, "loopback"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--ops", "256.0.0.1:0"}, 1, "listen for operators"},
		{[]string{"mock", "--faults", "nonsense=0.1"}, 2, "nonsense"},
		{[]string{"load"}, 2, "--target"},
		{[]string{"load", "--target", "http://127.0.0.1:1/v1", "--burst", "ten"}, 2, "ten"},
		{[]string{"sevre"}, 2, "serve"},
		{[]string{"serve", "--conifg", "x"}, 2, "--config"},
	} {
		out, err := command(t, tt.args...).CombinedOutput()
		code := 0
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != tt.code || !strings.Contains(string(out), tt.says) {
			t.Errorf("spillway %s: code %d, want %d and %q in\n%s", strings.Join(tt.args, " "), code, tt.code, tt.says, out)
		}
	}
}

func TestHashKeyFromStandardInput(t *testing.T) {
	cmd := command(t, "check", "--hash-key", "-")
	cmd.Stdin = strings.NewReader("abc\n")
	out, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(out), "sha256:ba7816bf") {
		t.Errorf("%q, %v", out, err)
	}
}

// process is a running serve command, with its log lines.
type process struct {
	cmd   *exec.Cmd
	lines chan map[string]any
}

func serve(t *testing.T, args ...string) (p *process, base, ops string) {
	t.Helper()
	cmd := command(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--ops", "127.0.0.1:0"}, args...)...)
	cmd.Dir = t.TempDir() // where the ledger is
	return started(t, cmd)
}

// started runs a serve command until it serves.
func started(t *testing.T, cmd *exec.Cmd) (p *process, base, ops string) {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p = &process{cmd: cmd, lines: make(chan map[string]any, 1000)}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	go func() {
		defer close(p.lines)
		s := bufio.NewScanner(pipe)
		for s.Scan() {
			var line map[string]any
			if json.Unmarshal(s.Bytes(), &line) == nil {
				p.lines <- line
			}
		}
	}()
	up := p.wait(t, "spillway serves")
	return p, "http://" + up["listen"].(string), "http://" + up["ops"].(string)
}

// wait reads the log until a message appears.
func (p *process) wait(t *testing.T, message string) map[string]any {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				t.Fatalf("the process ended before it said %q", message)
			}
			if strings.Contains(line["message"].(string), message) {
				return line
			}
		case <-limit:
			t.Fatalf("it never said %q", message)
		}
	}
}

func (p *process) end(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range p.lines {
	}
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

const hello = `{"model":"chat","max_tokens":2,"messages":[{"role":"user","content":"hi"}]}`

func post(t *testing.T, url, key, body string) (int, string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestServeWithoutConfigurationAnswers(t *testing.T) {
	p, base, ops := serve(t)
	if code, body := post(t, base+"/v1/chat/completions", "", hello); code != 200 || !strings.Contains(body, `"model":"chat"`) {
		t.Errorf("%d %s", code, body)
	}
	for path, want := range map[string]string{"/healthz": `"status":"ok"`, "/readyz": "ready", "/metrics": "spillway_decisions_total"} {
		resp, err := http.Get(ops + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s: %d without %q", path, resp.StatusCode, want)
		}
	}
	if code := p.end(t); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
}

// The file is read again when it is saved and on SIGHUP; a faulty one changes
// nothing and is told.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spillway.yaml")
	config := func(key string) string {
		out, err := command(t, "check", "--hash-key", key).Output()
		if err != nil {
			t.Fatal(err)
		}
		return "providers: {sim: {kind: simulated, slots: 4, service_mean: 10ms}}\nmodels: {chat: {deployments: [{provider: sim}]}}\n" +
			"tenants: [{name: a, keys: [\"" + strings.TrimSpace(string(out)) + "\"]}]\n"
	}
	write(t, file, config("one"))
	p, base, _ := serve(t, "--config", file)
	url := base + "/v1/chat/completions"
	expect := func(key string, want int) {
		t.Helper()
		if code, body := post(t, url, key, hello); code != want {
			t.Errorf("key %s: %d, want %d: %s", key, code, want, body)
		}
	}
	expect("one", 200)
	expect("two", 401)

	write(t, file, config("two"))
	p.wait(t, "configuration applied")
	expect("two", 200)
	expect("one", 401)

	write(t, file, "providers: {}\n")
	if line := p.wait(t, "configuration not applied"); !strings.Contains(line["error"].(string), "providers") {
		t.Errorf("the log does not say why: %v", line)
	}
	expect("two", 200)

	p.cmd.Process.Signal(syscall.SIGHUP)
	p.wait(t, "configuration not applied")
	expect("two", 200)
	if code := p.end(t); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
}

// mockCommand starts a mock with so many slots, and gives it and the base URL of
// its API.
func mockCommand(t *testing.T, slots string) (mock *exec.Cmd, target string) {
	t.Helper()
	mock = command(t, "mock", "--listen", "127.0.0.1:0", "--slots", slots, "--service-mean", "20ms", "--seed", "1")
	pipe, _ := mock.StdoutPipe()
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mock.Process.Kill(); mock.Wait() })
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(line, "http://")
	host, _, _ := strings.Cut(rest, "/v1")
	return mock, "http://" + host + "/v1"
}

// A load against a mock, both as commands, ends by itself with one JSON object.
func TestMockAndLoad(t *testing.T) {
	mock, target := mockCommand(t, "4")
	out, err := command(t, "load", "--target", target, "--rate", "50", "--duration", "1s", "--deadline", "5s", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var sum struct {
		Offered      int      `json:"offered"`
		OnTime       int      `json:"on_time"`
		GoodputRatio *float64 `json:"goodput_ratio"`
	}
	if err := json.Unmarshal(out, &sum); err != nil || sum.Offered == 0 || sum.OnTime != sum.Offered || sum.GoodputRatio == nil {
		t.Errorf("%v: %s", err, out)
	}
	mock.Process.Signal(syscall.SIGTERM)
	if mock.Wait(); mock.ProcessState.ExitCode() != 0 {
		t.Errorf("mock: exit code %d", mock.ProcessState.ExitCode())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
