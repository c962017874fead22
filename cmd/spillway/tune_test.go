package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/load"
	"github.com/spillway-llm/spillway/internal/sim"
)

// tunable is a gateway of two pools, of which the trace uses one, with limits
// that stand in each other's way.
const tunable = `
providers: {gpu: {base_url: "http://127.0.0.1:1/v1"}}
models:
  chat: {deployments: [{provider: gpu, model: big, concurrency: 12}]}
  spare: {deployments: [{provider: gpu}]}
tenants:
  - {name: bank, keys: ["sha256:695673883ea7012a1ccbfc2683d97a8b5947a5c44c035128b4fbbd8d04712b09"], concurrency: 1, limits: {rpm: 600}}
simulation:
  upstreams: {chat: {slots: 8, mean: 1s}}
  callers: [{share: 100, deadline: 5s}]
`

func TestTuneOnATrace(t *testing.T) {
	dir := t.TempDir()
	file, trace := filepath.Join(dir, "spillway.yaml"), filepath.Join(dir, "trace.csv")
	write(t, file, tunable)
	rows, at := "t,tenant,model,input,output\n", 0.0
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		at += rng.ExpFloat64() / 5
		rows += fmt.Sprintf("%.3f,%s,chat,100,50\n", at, []string{"bank", "shop"}[i%2])
	}
	write(t, trace, rows)
	out, err := command(t, "tune", "--config", file, "--trace", trace).Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, want := range []string{
		"model chat: 8 slots, a call takes ", "unprotected, lateness cascades between load 0.", "late, in per cent, over load 0.3 to 2",
		"at load 1.3:", "as configured", "concurrency: 8}", "queue:", "low: ", "high: ", "total: ", "per_tenant: ",
		"bank at chat: rpm 600, concurrency 1 x 60 s / ", "warning: bank at chat: rpm is out of reach", "warning: chat: concurrency 12 is above the 8 slots",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "spare") || strings.Contains(text, dir) {
		t.Errorf("it speaks of what was not asked:\n%s", text)
	}
	c := applied(t, tunable, text)
	if q := c.Models["chat"].Queue; q.Low <= 0 || q.High > 4*time.Second || q.Total > 100 || c.Models["chat"].Deployments[0].Concurrency != 8 || c.Models["chat"].Deployments[0].Model != "big" {
		t.Errorf("applied: %+v, %+v", q, c.Models["chat"].Deployments)
	}
	if again, _ := command(t, "tune", "--config", file, "--trace", trace).Output(); string(again) != text {
		t.Error("a second run says something else")
	}
}

// What a provider's limits feed is said for each of its deployments, and the
// concurrency of a model's only one is kept to it.
func TestTuneKnowsTheLimitsOfProviders(t *testing.T) {
	dir := t.TempDir()
	file, trace := filepath.Join(dir, "spillway.yaml"), filepath.Join(dir, "trace.csv")
	rows, at := "t,tenant,model,input,output\n", 0.0
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		at += rng.ExpFloat64() / 5
		rows += fmt.Sprintf("%.3f,bank,%s,100,100\n", at, []string{"chat", "pair"}[i%2])
	}
	write(t, trace, rows)
	write(t, file, `
providers: {gpu: {base_url: "http://127.0.0.1:1/v1", api_keys: [a, b]}, far: {base_url: "http://127.0.0.1:1/v1"}}
models:
  chat: {deployments: [{provider: gpu, name: only, concurrency: 64, rpm: 300}]}
  pair: {deployments: [{provider: gpu, name: left, concurrency: 8, tpm: 60000}, {provider: far, name: right, concurrency: 8, rpm: 60}, {provider: far, name: free}]}
simulation:
  upstreams: {chat: {slots: 64, mean: 2s, noise: 0}, left: {slots: 8, mean: 1s, noise: 0}, right: {slots: 8, mean: 4s, noise: 0}, free: {slots: 8, mean: 1s}}
  callers: [{share: 100, deadline: 20s}]
`)
	out, err := command(t, "tune", "--config", file, "--trace", trace).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# The concurrency of only should be 25: rpm 300, of each of 2 keys let pass 594 requests a minute of 2s each, and a quarter more.",
		"only at chat: rpm 300, of each of 2 keys let pass 594 requests a minute; of 2s each they are used up by 20 at once, and 25 leave a quarter of headroom",
		"left at pair: tpm 60000 / 200 a request, of each of 2 keys let pass 594 requests a minute; of 1s each they are used up by 10 at once, and 13 leave a quarter of headroom",
		"warning: left at pair: concurrency 8 leaves its limits unused: they feed 10 calls at once, and 13 leave headroom",
		"right at pair: rpm 60 let pass 59.4 requests a minute; of 4s each they are used up by 4 at once, and 5 leave a quarter of headroom",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	recording := filepath.Join(dir, "events.jsonl") // in which calls took three times as long
	rows = ""
	for i := range 600 {
		begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
		rows += fmt.Sprintf(`{"at":%[1]q,"kind":"offer","request":{"ID":%[2]d,"Tenant":"bank","Model":"chat","Class":"interactive","Input":100,"Arrived":%[1]q,"Deadline":"0001-01-01T00:00:00Z"}}
{"at":%[1]q,"kind":"decision","decision":{"ID":%[2]d,"Deployment":"only","Verdict":"run"}}
{"at":%[3]q,"kind":"finish","id":%[2]d,"outcome":{"OK":true,"Input":100,"Output":100}}
`, begin.Format(time.RFC3339Nano), i+1, begin.Add(6*time.Second).Format(time.RFC3339Nano))
	}
	write(t, recording, rows)
	again, err := command(t, "tune", "--config", file, "--trace", recording).Output()
	if want := "only at chat: rpm 300, of each of 2 keys let pass 594 requests a minute; of 6s each they are used up by 60 at once, and 75 leave a quarter of headroom"; err != nil || !strings.Contains(string(again), want) {
		t.Errorf("no %q in\n%s (%v)", want, again, err)
	}
	if strings.Contains(string(out), "free at pair") {
		t.Errorf("it speaks of a deployment without limits:\n%s", out)
	}
}

// applied lays the patch over the file, as docs/simulator.md describes it.
func applied(t *testing.T, file, patch string) *config.Config {
	t.Helper()
	var a, b map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(file), &a), yaml.Unmarshal([]byte(patch), &b)); err != nil {
		t.Fatal(err)
	}
	changes, ok := b["models"].(map[string]any)
	if len(b) != 1 || !ok {
		t.Fatalf("the patch has more or less than models: %v", b)
	}
	for name, change := range changes {
		maps.Copy(a["models"].(map[string]any)[name].(map[string]any), change.(map[string]any))
	}
	text, err := yaml.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("patched.yaml", text, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

func TestTuneOnALiveTarget(t *testing.T) {
	_, target := mockCommand(t, "2")
	file := filepath.Join(t.TempDir(), "spillway.yaml")
	write(t, file, "providers: {gpu: {base_url: \"http://127.0.0.1:1/v1\"}}\nmodels: {chat: {deployments: [{provider: gpu, model: big}]}}\n")
	out, err := command(t, "tune", "--config", file, "--target", target, "--rate", "40", "--max-rate", "100", "--step", "300ms", "--deadline", "2s", "--output", "2").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := applied(t, "models: {chat: {}}\nproviders: {gpu: {base_url: \"http://127.0.0.1:1/v1\"}}\n", string(out))
	if d := c.Models["chat"].Deployments[0]; d.Model != "big" || d.Concurrency < 1 || d.Concurrency > 10 || !strings.Contains(string(out), "less a tenth") {
		t.Errorf("%+v from\n%s", d, out)
	}
}

// A patch replaces lists as a whole: it must not drop what else is said of a
// deployment.
func TestTuneDoesNotPatchWhatItCannotRepeat(t *testing.T) {
	for deployment, want := range map[string]string{
		"{provider: gpu, model: big}":           "concurrency: 5}",
		"{provider: gpu, rpm: 60}":              "# The concurrency of gpu/chat should be 5",
		"{provider: gpu}, {provider: gpu}":      "# The concurrency of all deployments of chat together should be 5",
		"{provider: gpu, name: a, price: {}}":   "# The concurrency of a should be 5",
		"{provider: gpu, concurrency: auto}":    "# The concurrency of gpu/chat should be 5",
		"{provider: gpu, quality: {code: 0.5}}": "# The concurrency of gpu/chat should be 5",
	} {
		text := "providers: {gpu: {base_url: \"http://127.0.0.1:1/v1\"}}\nmodels: {chat: {deployments: [" + deployment + "]}}"
		c, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		p := &patch{config: c}
		if p.advise("chat", sim.Advice{Concurrency: 5}); !strings.Contains(p.String(), want) || strings.Contains(want, "#") == strings.Contains(p.String(), "models:") {
			t.Errorf("%s: %s", deployment, p.String())
		}
	}
}

func TestTuneIsToldWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	two := filepath.Join(dir, "two.yaml")
	write(t, two, tunable)
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, 2, "--config FILE and --trace FILE"},
		{[]string{"--config", two, "--trace", two, "--load", "1.3"}, 2, "--load has no place"},
		{[]string{"--config", two, "--trace", two, "--target", "http://127.0.0.1:1/v1"}, 2, "either --trace or --target"},
		{[]string{"--target", "http://127.0.0.1:1/v1"}, 2, "--config"},
		{[]string{"--config", two, "--target", "http://127.0.0.1:1/v1"}, 2, "2 models: say with --model"},
		{[]string{"--config", two, "--target", "http://127.0.0.1:1/v1", "--model", "chta"}, 2, `no model "chta"`},
		{[]string{"--config", two, "--target", "127.0.0.1:1", "--model", "chat"}, 2, "target"},
		{[]string{"--config", two, "--target", "http://127.0.0.1:1/v1", "--model", "chat", "--rate", "0"}, 2, "--rate"},
		{[]string{"--config", two, "--target", "http://127.0.0.1:1/v1", "--model", "chat", "--step", "100ms", "--rate", "50", "--deadline", "1s"}, 1, "nothing was answered in time"},
	} {
		cmd := command(t, append([]string{"tune"}, tt.args...)...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.says) {
			t.Errorf("tune %s: code %d, want %d and %q in\n%s", strings.Join(tt.args, " "), code, tt.code, tt.says, out)
		}
	}
}

// The first measurement is the baseline; waits are what later ones add to it.
func TestMeasured(t *testing.T) {
	figures := func(onTime int64, mean, p95 float64) *load.Summary {
		s := &load.Summary{}
		s.Offered, s.OnTime, s.Duration = 100, onTime, 10
		if p95 > 0 {
			s.LatencyMean, s.LatencyP95 = &mean, &p95
		}
		return s
	}
	var r sim.Ramp
	for _, s := range []*load.Summary{figures(100, 1, 2), figures(97, 2, 5), figures(99, 0.5, 1.5), figures(0, 0, 0)} {
		if err := measured(&r, s, 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if r.Service != time.Second || r.Service95 != 2*time.Second || r.Patience != 8*time.Second {
		t.Errorf("baseline %+v", r.Profile)
	}
	for i, want := range []struct {
		late float64
		wait time.Duration
	}{{0, 0}, {0.03, 3 * time.Second}, {0.01, 0}, {1, 10 * time.Second}} {
		if s := r.Steps[i]; s.Rate != 10 || s.Late < want.late-1e-9 || s.Late > want.late+1e-9 || s.Wait95 != want.wait {
			t.Errorf("step %d: %+v, want %+v", i, s, want)
		}
	}
}
