package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const azure = `TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
2023-11-16 18:17:05.9799600,110,27
`

func traceFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTraceReplay(t *testing.T) {
	other := strings.ReplaceAll(strings.ReplaceAll(azure, "18:17:03.9799600,4808", "18:17:04.4799600+00:00,7"), "TIMESTAMP", "\ufefftimestamp")
	p := planOf(t, Settings{Traces: []string{traceFile(t, azure), traceFile(t, other)}, Speed: 2})
	want := []arrival{
		{n: 0, at: 0, input: 4808, output: 10},
		{n: 1, at: 26 * time.Millisecond, input: 3180, output: 8},
		{n: 2, at: 26 * time.Millisecond, input: 3180, output: 8},
		{n: 3, at: 250 * time.Millisecond, input: 7, output: 10},
		{n: 4, at: time.Second, input: 110, output: 27},
		{n: 5, at: time.Second, input: 110, output: 27},
	}
	got := collect(p)
	if len(got) != len(want) {
		t.Fatalf("%d arrivals, want %d: the last row counts too", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("arrival %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if (p.Duration - time.Second).Abs() > time.Microsecond {
		t.Errorf("duration %v, want that of the trace at twice its speed", p.Duration)
	}
}

func TestTraceClientsAreTenants(t *testing.T) {
	name := traceFile(t, "req_id,client,t_s,input_tokens,output_tokens\n0,13,0.000000,13,199\n1,2,0.207938,36,137\n2,13,0.441893,456,156\n")
	p := planOf(t, Settings{Traces: []string{name}, Key: "k"})
	if len(p.tenants) != 2 || p.tenants[0].Name != "13" || p.tenants[1].Name != "2" || p.tenants[1].Key != "k" {
		t.Errorf("tenants %+v", p.tenants)
	}
	got := collect(p)
	if len(got) != 3 || got[0].tenant != 0 || got[1].tenant != 1 || got[2].tenant != 0 || got[2].input != 456 {
		t.Errorf("arrivals %+v", got)
	}
	// Clients that are no tenants are shared out among those there are.
	p = planOf(t, Settings{Traces: []string{name}, Tenants: []Tenant{{Name: "2"}, {Name: "others", Share: 1}}})
	for i, a := range collect(p) {
		if want := []int{1, 0, 1}[i]; a.tenant != want {
			t.Errorf("row %d went to tenant %d", i, a.tenant)
		}
	}
}

func TestTraceFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "header line: EOF",
		"a,b\n1,2\n":                            "line 1: the columns must be TIMESTAMP,",
		"TIMESTAMP,ContextTokens\n":             "line 1: the columns must be",
		"t_s,input_tokens,output_tokens\n":      "no rows",
		"t_s,input_tokens,output_tokens\n1,2\n": "line 2: wrong number of fields",
		"t_s,input_tokens,output_tokens\n1,2,3\n1,two,3\n":                        `line 3, column 3: input_tokens: "two" is no number of tokens`,
		"t_s,input_tokens,output_tokens\n1,2,-3\n":                                "line 2, column 5: output_tokens: -3 is not between 0",
		"t_s,input_tokens,output_tokens\n1,9999999,3\n":                           "line 2, column 3: input_tokens: 9999999 is not between 0",
		"t_s,input_tokens,output_tokens\nNaN,2,3\n":                               `line 2, column 1: t_s: "NaN" is no number of seconds`,
		"t_s,input_tokens,output_tokens\n\"1,2,3\n":                               `extraneous or missing " in quoted-field`,
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16,1,1\n":               `line 2, column 1: TIMESTAMP: "2023-11-16" is no time such as`,
		"TIMESTAMP,ContextTokens,GeneratedTokens\n0001-01-01 00:00:00,1,1\n":      "line 2, column 1: TIMESTAMP",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,1.5,1\n": `line 2, column 24: ContextTokens: "1.5" is no number of tokens`,
	} {
		_, _, err := readTrace("my.csv", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "my.csv") {
			t.Errorf("%q: error %v, want one with my.csv and %q", text, err, want)
		}
	}
	if _, err := readTraces([]string{filepath.Join(t.TempDir(), "none.csv")}); err == nil || !strings.Contains(err.Error(), "open trace") {
		t.Errorf("missing file: %v", err)
	}
	seconds := traceFile(t, "t_s,input_tokens,output_tokens\n1,2,3\n")
	if _, err := readTraces([]string{traceFile(t, azure), seconds}); err == nil || !strings.Contains(err.Error(), "cannot be merged") {
		t.Errorf("dated and undated: %v", err)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(azure)
	f.Add("t_s,input_tokens,output_tokens,client\n1,2,3,\"a\nb\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, _, err := readTrace("f", strings.NewReader(text))
		if (err == nil) != (len(rows) > 0) {
			t.Fatalf("%d rows with error %v", len(rows), err)
		}
		for _, r := range rows {
			if r.input < 0 || r.output < 0 || r.input > maxTokens || r.output > maxTokens || r.at < 0 {
				t.Fatalf("row out of range: %+v", r)
			}
		}
	})
}
