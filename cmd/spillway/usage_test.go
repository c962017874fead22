package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/store"
)

// bookkeeping is a directory with a configuration and, once serve was called, a
// ledger that is held open as by a gateway that runs.
type bookkeeping struct{ dir, file string }

func newBookkeeping(t *testing.T, ledger string) bookkeeping {
	t.Helper()
	dir := t.TempDir()
	b := bookkeeping{dir, filepath.Join(dir, "spillway.yaml")}
	write(t, b.file, "providers: {gpu: {base_url: \"http://127.0.0.1:1/v1\"}}\nledger: "+ledger+"\n")
	return b
}

func (b bookkeeping) serve(t *testing.T) {
	t.Helper()
	l, err := store.Open(t.Context(), store.Options{Directory: filepath.Join(b.dir, "books")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(t.Context()) })
	day := func(d, hour int) time.Time { return time.Date(2026, 3, d, hour, 0, 0, 0, time.UTC) }
	for _, r := range []store.Row{
		{ID: "1", Time: day(28, 22), Tenant: "acme", ModelUsed: "chat", User: "ann", Input: 1000, Output: 100, Cached: 10, CacheWrite: 5, Reasoning: 7, Cost: 9_007_199_254_740_993, Priced: true},
		{ID: "2", Time: day(28, 23), Tenant: "acme", ModelUsed: "chat", User: "\x1b[2J,\"bob\"", Input: 1, Output: 2, Cost: 1, Priced: true, Estimated: true},
		{ID: "3", Time: day(29, 22), Tenant: "shop", ModelUsed: "free", Input: 3, Output: 4},
	} {
		if err := l.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// usage runs the command in the directory of the configuration.
func (b bookkeeping) usage(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := command(t, append([]string{"usage", "--config", b.file}, args...)...)
	cmd.Dir = b.dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return stdout.String(), stderr.String(), code
}

func TestUsageTable(t *testing.T) {
	b := newBookkeeping(t, "{directory: books}")
	b.serve(t)
	out, errs, code := b.usage(t, "--from", "2026-03-01", "--to", "2026-03-29")
	// Nine quadrillion and one micro-dollars: more than a float tells from its neighbour.
	want := `
tenant  model  day         requests  input  output  cached  cache_write  reasoning           cost_usd  unpriced  estimated
acme    chat   2026-03-28         2   1001     102      10            5          7  9007199254.740994         0          1
shop    free   2026-03-29         1      3       4       0            0          0                  -         1          0
total                             3   1004     106      10            5          7  9007199254.740994         1          1

1 of 3 requests have no known price and are not in the cost.
`[1:]
	if code != 0 || out != want {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	// In Berlin it is the 29th at 23 h UTC, and the 30th at 22 h of the 29th, as summer time begins in between.
	out, _, _ = b.usage(t, "--from", "2026-03-01", "--to", "2026-03-30", "--zone", "Europe/Berlin", "--by", "day")
	var days []string
	for line := range strings.Lines(out) {
		days = append(days, strings.Fields(line + " -")[0])
	}
	if want := []string{"day", "2026-03-28", "2026-03-29", "2026-03-30", "total", "-", "1"}; !reflect.DeepEqual(days, want) {
		t.Errorf("%q\n%s", days, out)
	}
	// What a caller wrote does not clear the screen.
	if out, _, _ = b.usage(t, "--from", "2026-03-01", "--to", "2026-03-30", "--by", "user"); strings.Contains(out, "\x1b") || !strings.Contains(out, "bob") {
		t.Errorf("%q", out)
	}
	if out, _, code = b.usage(t); code != 0 || !strings.HasPrefix(out, "no requests from ") {
		t.Error(code, out)
	}
}

func TestUsageForMachines(t *testing.T) {
	b := newBookkeeping(t, "{directory: books}")
	b.serve(t)
	span := []string{"--from", "2026-03-28T22:00:00Z", "--to", "2026-03-29T22:00:01Z"}
	out, errs, _ := b.usage(t, append(span, "--format", "csv", "--by", "user,tenant")...)
	got, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if want := [][]string{
		{"user", "tenant", "requests", "input", "output", "cached", "cache_write", "reasoning", "cost_usd", "unpriced", "estimated"},
		{"", "shop", "1", "3", "4", "0", "0", "0", "", "1", "0"},
		{"\x1b[2J,\"bob\"", "acme", "1", "1", "2", "0", "0", "0", "0.000001", "0", "1"},
		{"ann", "acme", "1", "1000", "100", "10", "5", "7", "9007199254.740993", "0", "0"},
	}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %s\n%q", err, errs, got)
	}
	out, errs, _ = b.usage(t, append(span, "--format", "json", "--tenant", "acme", "--model", "chat", "--by", "tenant")...)
	d := json.NewDecoder(strings.NewReader(out))
	d.UseNumber()
	var lines []map[string]any
	if err := d.Decode(&lines); err != nil || len(lines) != 1 || lines[0]["cost_micro_dollars"] != json.Number("9007199254740994") || lines[0]["tenant"] != "acme" || lines[0]["user"] != nil {
		t.Errorf("%v %s %v", err, errs, lines)
	}
	if out, _, _ = b.usage(t, "--from", "2026-03-29", "--to", "2026-03-29", "--format", "json"); !strings.Contains(out, `"cost_micro_dollars": null`) {
		t.Error(out)
	}
	if out, _, _ = b.usage(t, "--to", "2020-01-01", "--format", "json"); out != "[]\n" {
		t.Error(out)
	}
}

func TestUsageWithoutALedger(t *testing.T) {
	for ledger, says := range map[string]string{
		"{directory: books}": "there is no usage ledger yet; a gateway begins it when it serves. ledger.directory is seen from where",
		"{directory: " + os.TempDir() + "/no-such-directory-of-spillway}": "there is no usage ledger yet; a gateway begins it when it serves",
		"{enabled: false}": "switched off",
		"{postgres: 'host=/nowhere-at-all password=s3cr3t'}": "read the usage ledger in PostgreSQL",
	} {
		b := newBookkeeping(t, ledger)
		out, errs, code := b.usage(t)
		if code != exitFailed || out != "" || !strings.Contains(errs, says) || strings.Contains(errs, "s3cr3t") {
			t.Errorf("%s: code %d, %s%s", ledger, code, out, errs)
		}
		if _, err := os.Stat(filepath.Join(b.dir, "books")); err == nil {
			t.Error("reading has made a directory")
		}
	}
}

func TestUsageFlags(t *testing.T) {
	b := newBookkeeping(t, "{directory: books}")
	for _, tt := range []struct{ flag, value, says string }{
		{"--by", "tenant,hour", `"hour" is not one of tenant, model, day`},
		{"--by", "day,day", "twice"},
		{"--from", "yesterday", "write a day like 2026-03-31"},
		{"--to", "2026-13-01", "--to: "},
		{"--from", "2999-01-01", "there is no time from"},
		{"--zone", "Local", "IANA name"},
		{"--zone", "Mars/Base", "IANA name"},
		{"--format", "xml", "table"},
	} {
		if out, errs, code := b.usage(t, tt.flag, tt.value); code != exitUsage || !strings.Contains(errs, tt.says) {
			t.Errorf("%s %s: code %d, %s%s", tt.flag, tt.value, code, out, errs)
		}
	}
}
