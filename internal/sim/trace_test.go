package sim

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// drain reads a source to its end.
func drain(s Source) (all []Arrival, err error) {
	for {
		a, ok, err := s.Next()
		if err != nil || !ok {
			return all, err
		}
		all = append(all, a)
	}
}

// readTrace reads all of a text, with the error of wherever it comes.
func readTrace(name, text string, o TraceOptions) ([]Arrival, error) {
	s, err := Trace(name, strings.NewReader(text), o)
	if err != nil {
		return nil, err
	}
	return drain(s)
}

func mustRead(t *testing.T, name, text string, o TraceOptions) []Arrival {
	t.Helper()
	all, err := readTrace(name, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func openExtract(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTraceAzure(t *testing.T) {
	conv := mustRead(t, "azure_conv.csv", openExtract(t, "azure_conv.csv"), TraceOptions{Model: "m", Class: admit.Standard})
	if len(conv) != 25 {
		t.Fatalf("%d rows, want 25", len(conv))
	}
	want := Arrival{At: 4*time.Second + 314579*time.Microsecond, Tenant: "conv", Model: "m", Class: admit.Standard, Input: 396, Output: 109}
	if conv[1] != want {
		t.Errorf("second row: %+v, want %+v", conv[1], want)
	}
	if conv[0].At != 0 {
		t.Errorf("the first arrives at %v, want 0", conv[0].At)
	}
}

// Two routes of one service were recorded on the same evening: the second
// begins 77 s after the first, and stays there.
func TestMergeKeepsTimesOfDay(t *testing.T) {
	open := func(name string) Source {
		s, err := Trace("x/"+name, strings.NewReader(openExtract(t, name)), TraceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	both, err := drain(Merge(open("azure_code.csv"), open("azure_conv.csv")))
	if err != nil {
		t.Fatal(err)
	}
	if len(both) != 50 || !slices.IsSortedFunc(both, func(a, b Arrival) int { return int(a.At - b.At) }) {
		t.Fatalf("%d arrivals, want 50 in order", len(both))
	}
	i := slices.IndexFunc(both, func(a Arrival) bool { return a.Tenant == "code" })
	if want := 77*time.Second + 299370*time.Microsecond; both[i].At != want || both[0].Tenant != "conv" {
		t.Errorf("code begins at %v, want %v after conv", both[i].At, want)
	}

	later := strings.ReplaceAll(openExtract(t, "azure_code.csv"), "2023-11-16", "2024-11-16")
	s, err := Trace("code", strings.NewReader(later), TraceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	both, err = drain(Merge(s, open("azure_conv.csv")))
	if err != nil {
		t.Fatal(err)
	}
	if both[0].At != 0 || both[1].At != 0 || both[0].Tenant != "code" {
		t.Errorf("a year apart they start together, the first source first: %+v", both[:2])
	}
}

func TestTraceVTC(t *testing.T) {
	text := openExtract(t, "vtc.csv")
	got := mustRead(t, "vtc", text, TraceOptions{})
	want := Arrival{At: 207938 * time.Microsecond, Tenant: "2", Input: 36, Output: 137}
	if len(got) != 30 || got[1] != want {
		t.Errorf("%d rows, the second %+v, want 30 and %+v", len(got), got[1], want)
	}
	if got = mustRead(t, "vtc", text, TraceOptions{Tenant: "user"}); got[1].Tenant != "user-2" {
		t.Errorf("tenant %q, want user-2", got[1].Tenant)
	}
}

func TestTracePlain(t *testing.T) {
	const sec = time.Second
	full := []Arrival{
		{At: 0, Tenant: "a", Model: "big", Class: admit.Batch, Input: 10, Output: 20, Deadline: 1500 * time.Millisecond, Stream: true},
		{At: sec / 4, Tenant: "x", Model: "small", Class: admit.Standard, Input: 1, Output: 5},
	}
	o := TraceOptions{Tenant: "x", Model: "small", Class: admit.Standard}
	for _, c := range []struct {
		name, text string
		want       []Arrival
	}{
		{"csv", "t,tenant,model,class,input,output,deadline,stream,max_output\n0,a,big,batch,10,20,1.5,true,\n0.25,,,,1,9,,,5\n", full},
		{"columns in another order, CRLF, comment, empty line, no last newline, byte order mark",
			"\xef\xbb\xbf# mine\r\noutput,input,class,t,tenant,model,deadline,stream,max_output\r\n20,10,batch,0.0,a,big,15e-1,1,\r\n\r\n9,1.0,,.25,,,,0,5", full},
		{"quotes", "t,tenant,input,output\n1,\"a,\"\"b\",3,4\n", []Arrival{{At: sec, Tenant: `a,"b`, Model: "small", Class: admit.Standard, Input: 3, Output: 4}}},
		{"json", `{"t":0,"tenant":"a","model":"big","class":"batch","input":10,"output":20,"deadline":1.5,"stream":true}` + "\n" +
			`{"output":9,"input":1,"t":2.5e-1,"tenant":null,"max_output":5}`, full},
		{"json with escapes", `{"t":1,"tenant":"a,\"b","input":3,"output":4}`, []Arrival{{At: sec, Tenant: `a,"b`, Model: "small", Class: admit.Standard, Input: 3, Output: 4}}},
		{"Unix times", "t,input,output\n1700000000.25,1,1\n1700000000.75,2,2\n", []Arrival{
			{Tenant: "x", Model: "small", Class: admit.Standard, Input: 1, Output: 1},
			{At: sec / 2, Tenant: "x", Model: "small", Class: admit.Standard, Input: 2, Output: 2}}},
		{"a start that is not 0 stays", "t,input,output\n60,1,1\n", []Arrival{{At: time.Minute, Tenant: "x", Model: "small", Class: admit.Standard, Input: 1, Output: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mustRead(t, "x", c.text, o); !slices.Equal(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// What is wrong with a trace says where it is.
func TestTraceErrors(t *testing.T) {
	const head = "t,tenant,input,output\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "x: the trace is empty"},
		{"comments alone", "# a\n\n", "x: the trace is empty"},
		{"header missing", "1,2,3\n", "x:1:1: the first line must name the columns"},
		{"column missing", "t,input\n1,2\n", `x:1:1: column "output" is missing`},
		{"typo in a column", "t,tenent,input,output\n", `x:1:3: unknown column "tenent", did you mean "tenant"?`},
		{"unknown column", "t,input,output,temperature\n", `x:1:16: unknown column "temperature"; known are t, tenant, model`},
		{"column twice", "t,input,output,t\n", `x:1:16: column "t" stands twice`},
		{"azure without output", "TIMESTAMP,ContextTokens\n", `x:1:1: column "GeneratedTokens" is missing`},
		{"servegen", "client,t_s,rate_rps,iat_cv,iat_dist,p1,p2\n", "x:1:1: ServeGen windows are two files"},
		{"negative time", head + "1,a,2,3\n-1,a,2,3\n", "x:3:1: t: -1 is negative"},
		{"negative tokens", head + "1,a,-2,3\n", "x:2:5: input: -2 is negative"},
		{"bad number", head + "1,a,2,three\n", `x:2:7: output: "three" is not a whole number of tokens`},
		{"part of a token", head + "1,a,2,3.5\n", `x:2:7: output: "3.5" is not a whole number`},
		{"huge tokens", head + "1,a,99999999999999999999999,3\n", "x:2:5: input: 99999999999999999999999 tokens: at most 100000000"},
		{"huge time", head + "1e300,a,2,3\n", "x:2:1: t: 1e300 seconds: at most"},
		{"not a number", head + "nan,a,2,3\n", `x:2:1: t: "nan" is not a number`},
		{"nanosecond of too much", head + "99999999999.5,a,2,3\n", "x:2:1: t: 99999999999.5 seconds: at most"},
		{"empty cell", head + "1,a,,3\n", "x:2:5: input is empty"},
		{"cell missing", head + "1,a,2\n", "x:2:6: 3 cells where the header has 4"},
		{"cell too many", head + "1,a,2,3,4\n", "x:2:9: 5 cells where the header has 4"},
		{"NUL", head + "1,a\x00,2,3\n", "x:2:4: a NUL byte"},
		{"control character", head + "1,a\x1b,2,3\n", "x:2:3: tenant: control character"},
		{"bad UTF-8", head + "1,a\xff,2,3\n", "x:2:3: tenant: \"a\\xff\" is not UTF-8"},
		{"open quote", head + "1,\"a,2,3\n", "x:2:3: the quote does not end"},
		{"text after a quote", head + "1,\"a\"b,2,3\n", "x:2:6: text after the closing quote"},
		{"overlong line", head + strings.Repeat("1", 80<<10) + ",a,2,3\n", "x:2:65537: a line of more than 65536 bytes"},
		{"overlong name", head + "1," + strings.Repeat("a", 300) + ",2,3\n", "x:2:3: tenant: a name of 300 bytes"},
		{"class", "t,class,input,output\n1,urgent,2,3\n", `x:2:3: class: "urgent" is no class: interactive, standard, batch, speculative`},
		{"stream", "t,stream,input,output\n1,perhaps,2,3\n", `x:2:3: stream: "perhaps" is neither true nor false`},
		{"stamp", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:15:46.1,1,1\n", "x:2:1: TIMESTAMP: "},
		{"year", "TIMESTAMP,ContextTokens,GeneratedTokens\n1970-01-01 00:00:00,1,1\n", "x:2:1: TIMESTAMP: the year 1970"},
		{"json typo", `{"t":1,"imput":2,"output":3}`, `x:1:16: unknown column "imput", did you mean "input"?`},
		{"json missing", "{\"t\":1,\"input\":2,\"output\":3}\n{\"t\":1,\"input\":2}\n", `x:2:1: "output" is missing`},
		{"json negative", `{"t":-1,"input":2,"output":3}`, "x:1:6: t: -1 is negative"},
		{"json nested", `{"t":1,"input":[2],"output":3}`, "x:1:16: input: not a single value"},
		{"json twice", `{"t":1,"input":2,"output":3,"t":2}`, "x:1:29: JSON: duplicate object member name"},
		{"json cut off", `{"t":1,"input":2,"out`, "x:1:22: JSON: "},
		{"json and more", `{"t":1,"input":2,"output":3} {}`, "x:1:31: text after the object"},
		{"gzip damaged", "\x1f\x8bnonsense", "x: decompress: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readTrace("x", c.text, TraceOptions{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
		})
	}
}

func TestTraceOptionErrors(t *testing.T) {
	for _, c := range []struct {
		want string
		o    TraceOptions
	}{
		{"x: speed -1", TraceOptions{Speed: -1}},
		{"x: compress -1", TraceOptions{Compress: -1}},
		{"x: from -1s", TraceOptions{From: -time.Second}},
		{"x: duration -1s", TraceOptions{Duration: -time.Second}},
		{"x: -1 tenants", TraceOptions{Tenants: -1}},
		{"x: at most -1 tenants", TraceOptions{MaxTenants: -1}},
	} {
		if _, err := readTrace("x", "t,input,output\n", c.o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

func TestTraceCompressed(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, openExtract(t, "vtc.csv")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	if got := mustRead(t, "vtc.csv.gz", whole, TraceOptions{}); len(got) != 30 {
		t.Errorf("%d rows, want 30", len(got))
	}
	if _, err := readTrace("vtc.csv.gz", whole[:len(whole)-20], TraceOptions{}); err == nil {
		t.Error("a file that is cut off gives no error")
	}
}

func TestTraceSpreadsTenants(t *testing.T) {
	o := TraceOptions{Tenants: 3, Seed: 7}
	text := "t,input,output\n" + strings.Repeat("1,2,3\n", 3000)
	first := mustRead(t, "conv", text, o)
	count := map[string]int{}
	for _, a := range first {
		count[a.Tenant]++
	}
	for _, name := range []string{"conv-0", "conv-1", "conv-2"} {
		if n := count[name]; n < 900 || n > 1100 {
			t.Errorf("%s has %d of 3,000", name, n)
		}
	}
	if !slices.Equal(first, mustRead(t, "conv", text, o)) {
		t.Error("the same seed gives other tenants")
	}
}

func TestTracePart(t *testing.T) {
	got := mustRead(t, "x", "t,input,output\n1,1,1\n2,2,2\n3,3,3\n4,4,4\n", TraceOptions{From: 2 * time.Second, Duration: 2 * time.Second, Speed: 4})
	if len(got) != 2 || got[0].At != 0 || got[0].Input != 2 || got[1].At != time.Second/4 {
		t.Errorf("got %+v, want the rows of 2 s and 3 s, at 0 and 250 ms", got)
	}
}

// Nothing of the vocabulary of a trace panics, and what comes out is in order.
func FuzzTrace(f *testing.F) {
	for _, name := range []string{"azure_conv.csv", "vtc.csv", "servegen_rates.csv"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("t,tenant,model,class,input,output,deadline,stream,max_output\n0,\"a\"\"\",big,batch,10,20,1.5,true,\n0.25,,,,1,9,,,5\n"))
	f.Add([]byte(`{"t":0,"tenant":"\u00e4","input":10,"output":20,"deadline":1.5,"stream":true}` + "\n" + `{"t":1}`))
	f.Add([]byte(logSample))
	f.Add([]byte(dumpSample))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Trace("x", bytes.NewReader(text), TraceOptions{Tenants: 2})
		if err != nil {
			return
		}
		last := time.Duration(0)
		for {
			a, ok, err := s.Next()
			if err != nil || !ok {
				if _, again, _ := s.Next(); again {
					t.Fatal("an arrival after the end")
				}
				return
			}
			if a.At < last || a.Deadline < 0 || a.Input < 0 || a.Output < 0 || a.Input > maxTokens || a.Output > maxTokens || a.Tenant == "" {
				t.Fatalf("%+v after %v", a, last)
			}
			last = a.At
		}
	})
}
