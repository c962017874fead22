package internal_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Blocks marked "sh test" in README and guides are run, one after another, in
// one shell for each page, in an empty folder beside a gateway that was just
// built. A block marked "shown" is what the one before printed, with … for what
// differs from run to run. So what a guide says was so when it was last tested.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("starts gateways")
	}
	for _, tool := range []string{"bash", "curl", "openssl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/spillway", "../cmd/spillway").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages, err := filepath.Glob("../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	t.Run("pages", func(t *testing.T) {
		for _, page := range append(pages, "../README.md") {
			steps := stepsOf(t, page)
			if len(steps) == 0 {
				continue
			}
			played++
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				play(t, bin, steps)
			})
		}
	})
	if played < 5 {
		t.Errorf("only %d pages have something to run", played)
	}
}

// step is a block of a page to run, and what it is to print.
type step struct {
	line  int
	shell string
	shown string // "" for anything
}

var fence = regexp.MustCompile("^```(.*)$")

func stepsOf(t *testing.T, page string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	inside, info, n := false, "", 0
	var block strings.Builder
	for line := range strings.Lines(string(text)) {
		n++
		m := fence.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m == nil && inside:
			block.WriteString(line)
		case m == nil:
		case !inside:
			inside, info = true, m[1]
			block.Reset()
		default:
			inside = false
			switch {
			case info == "sh test":
				steps = append(steps, step{line: n, shell: block.String()})
			case !strings.HasSuffix(info, " shown"):
			case len(steps) == 0 || steps[len(steps)-1].shown != "":
				t.Errorf("%s:%d: shown by no block before", page, n)
			default:
				steps[len(steps)-1].shown = block.String()
			}
		}
	}
	return steps
}

// guideTime is for all blocks of a page.
const guideTime = time.Minute

var address = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// play runs the steps on free ports in place of those that are written.
func play(t *testing.T, bin string, steps []step) {
	var script strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&script, "echo; echo '@@ %d'\n%s", i, s.shell)
	}
	free := map[string]string{}
	at := func(written string) string {
		if free[written] == "" {
			free[written] = freeAddress(t)
		}
		return free[written]
	}
	text := address.ReplaceAllStringFunc(script.String(), at)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bin+"/spillway", filepath.Join(dir, "bin/spillway")); err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	stdout, stderr := create(t, logs+"/stdout"), create(t, logs+"/stderr")
	ctx, cancel := context.WithTimeout(t.Context(), guideTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, stderr
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir,
		"SPILLWAY_LISTEN="+at("127.0.0.1:8080"), "SPILLWAY_OPS="+at("127.0.0.1:9090")) // where a file says neither
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the page starts ends with it
	err := cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if kill := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); kill != nil && !errors.Is(kill, syscall.ESRCH) {
		t.Error(kill)
	}
	printed, errs := read(t, stdout.Name()), read(t, stderr.Name())
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, printed, tail(errs))
	}
	t.Log(printed)
	for i, s := range steps {
		_, after, _ := strings.Cut(printed, fmt.Sprintf("@@ %d\n", i))
		got, _, _ := strings.Cut(after, "@@ ")
		for written, now := range free {
			got = strings.ReplaceAll(got, now, written)
		}
		if !like(s.shown).MatchString(got) {
			t.Errorf("line %d prints\n%s\nand not\n%s\n%s", s.line, got, s.shown, tail(errs))
		}
	}
}

// like matches text that contains what is shown.
func like(shown string) *regexp.Regexp {
	parts := strings.Split(strings.TrimSpace(shown), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)" + strings.Join(parts, ".*?"))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func create(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func tail(s string) string {
	return s[max(0, len(s)-2000):]
}
