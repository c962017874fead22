package sim

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func serveGenExtract(t *testing.T, o TraceOptions) []Arrival {
	t.Helper()
	return mustGenerate(t, openExtract(t, "servegen_rates.csv"), openExtract(t, "servegen_lengths.csv"), o)
}

func generate(rates, lengths string, o TraceOptions) ([]Arrival, error) {
	s, err := ServeGen("gen", strings.NewReader(rates), strings.NewReader(lengths), o)
	if err != nil {
		return nil, err
	}
	return drain(s)
}

func mustGenerate(t *testing.T, rates, lengths string, o TraceOptions) []Arrival {
	t.Helper()
	all, err := generate(rates, lengths, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(all, func(a, b Arrival) int { return int(a.At - b.At) }) {
		t.Fatal("arrivals are out of order")
	}
	return all
}

const (
	rateHead   = "client,t_s,rate_rps,iat_cv,iat_dist,p1,p2\n"
	lengthHead = "client,t_s,field,mean,p50,p90,p95,p99,max,support\n"
	someLength = lengthHead + "a,0,input_tokens,100,60,0,300,0,1000,50\na,0,output_tokens,40,50,0,90,0,200,50\n"
)

// Two clients, three hours at noon: the rates of the extract add up to 9,210
// and 13,561 requests, and bursts let the number of one run differ.
func TestServeGenExtract(t *testing.T) {
	want := map[string]float64{"c-0": 9210, "c-1": 13561}
	got := map[string]float64{}
	const runs = 20
	for seed := range uint64(runs) {
		for _, a := range serveGenExtract(t, TraceOptions{Tenant: "c", Model: "m", Seed: seed, From: 12 * time.Hour}) {
			got[a.Tenant] += 1.0 / runs
			if a.At < 0 || a.At >= 3*time.Hour || a.Model != "m" || a.Input < 1 || a.Output < 1 {
				t.Fatalf("%+v", a)
			}
		}
	}
	for c, n := range want {
		if math.Abs(got[c]/n-1) > 0.08 {
			t.Errorf("%s: %.0f requests on average, want %.0f", c, got[c], n)
		}
	}
}

func TestServeGenIsReproducible(t *testing.T) {
	o := TraceOptions{Seed: 3}
	first := serveGenExtract(t, o)
	if !slices.Equal(first, serveGenExtract(t, o)) {
		t.Error("the same seed gives other arrivals")
	}
	if slices.Equal(first, serveGenExtract(t, TraceOptions{Seed: 4})) {
		t.Error("another seed gives the same arrivals")
	}
}

// A part of the windows has the same arrivals as that part of the whole, also
// when it begins and ends in the middle of one.
func TestServeGenSection(t *testing.T) {
	const from, duration = 12*time.Hour + 17*time.Minute, 90 * time.Minute
	whole := serveGenExtract(t, TraceOptions{})
	want, err := drain(Section(&listed{list: whole}, from, duration))
	if err != nil {
		t.Fatal(err)
	}
	got := serveGenExtract(t, TraceOptions{From: from, Duration: duration})
	if len(got) < 1000 || !slices.Equal(got, want) {
		t.Errorf("%d arrivals, want the same as the %d of the section", len(got), len(want))
	}
}

// Every law keeps the rate of its window from the start: 400 windows of 600 s
// at 0.5 requests a second.
func TestServeGenRates(t *testing.T) {
	for _, law := range []string{"Gamma,0.05,0", "Gamma,0.4,0", "Gamma,7,0", "Weibull,0.35,0", "Weibull,0.7,0", "Weibull,2,0", "Exponential,0,0", ",0,0"} {
		rates := strings.Builder{}
		rates.WriteString(rateHead)
		for i := range 400 {
			fmt.Fprintf(&rates, "a,%d,0.5,1,%s\n", i*600, law)
		}
		all := mustGenerate(t, rates.String(), someLength, TraceOptions{})
		if got := float64(len(all)) / 400 / 600; math.Abs(got-0.5) > 0.04 {
			t.Errorf("%s: %.3f requests a second, want 0.5", law, got)
		}
		early := slices.DeleteFunc(all, func(a Arrival) bool { return a.At%(600*time.Second) >= 60*time.Second })
		if got := float64(len(early)) / 400 / 60; math.Abs(got-0.5) > 0.09 {
			t.Errorf("%s: %.3f requests a second in the first minute of a window, want 0.5", law, got)
		}
	}
}

func TestServeGenCompress(t *testing.T) {
	rates := rateHead + "a,0,2,1,Exponential,0,0\na,600,0,0,,0,0\na,1200,20,1,Exponential,0,0\n"
	all := mustGenerate(t, rates, someLength, TraceOptions{Compress: 6})
	var n [3]int
	for _, a := range all {
		n[a.At/(100*time.Second)]++ // a window lasts 100 s
	}
	if math.Abs(float64(n[0])-200) > 60 || n[1] != 0 || math.Abs(float64(n[2])-2000) > 200 {
		t.Errorf("%v requests a window, want about 200, 0, 2000", n)
	}
}

func TestServeGenMaxTenants(t *testing.T) {
	rates := rateHead + "a,0,1,1,Exponential,0,0\nb,0,3,1,Exponential,0,0\nc,0,2,1,Exponential,0,0\nc,600,0.1,1,Exponential,0,0\nd,600,9,1,Exponential,0,0\n"
	seen := map[string]bool{}
	for _, a := range mustGenerate(t, rates, someLength, TraceOptions{MaxTenants: 2, Duration: 10 * time.Minute}) {
		seen[a.Tenant] = true
	}
	if len(seen) != 2 || !seen["b"] || !seen["c"] {
		t.Errorf("tenants %v, want b and c, the biggest of the first window", seen)
	}
}

// Lengths have the measured mean; those of a client without any are another's.
func TestServeGenLengths(t *testing.T) {
	rates := rateHead + "a,0,50,1,Exponential,0,0\nz,0,50,1,Exponential,0,0\n"
	lengths := someLength + "a,21600,input_tokens,9999,9999,0,9999,0,9999,1\n"
	input, output, n := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, a := range mustGenerate(t, rates, lengths, TraceOptions{}) {
		input[a.Tenant] += float64(a.Input)
		output[a.Tenant] += float64(a.Output)
		n[a.Tenant]++
		if a.Input > 1000 || a.Output > 200 {
			t.Fatalf("%+v is beyond the maximum", a)
		}
	}
	for _, c := range []string{"a", "z"} {
		if in, out := input[c]/n[c], output[c]/n[c]; math.Abs(in-100) > 3 || math.Abs(out-40) > 1.2 {
			t.Errorf("%s: %.1f tokens in and %.1f out, want 100 and 40", c, in, out)
		}
	}
}

func TestServeGenErrors(t *testing.T) {
	for _, c := range []struct{ name, rates, lengths, want string }{
		{"no rates", "", someLength, "gen: the trace is empty"},
		{"no lengths", rateHead, lengthHead, "gen lengths: no client"},
		{"column missing", "client,t_s\n", someLength, `gen:1:1: column "rate_rps" is missing`},
		{"negative rate", rateHead + "a,0,-2,1,Gamma,1,1\n", someLength, "gen:2:5: rate_rps: -2 is negative"},
		{"huge rate", rateHead + "a,0,2e6,1,Gamma,1,1\n", someLength, "gen:2:1: 2e+06 requests a second: at most"},
		{"infinite rate", rateHead + "a,0,1e999,1,Gamma,1,1\n", someLength, "gen:2:5: rate_rps: 1e999: at most"},
		{"unknown law", rateHead + "a,0,2,1,Pareto,1,1\n", someLength, `gen:2:1: iat_dist: "Pareto" is not Gamma`},
		{"shape", rateHead + "a,0,2,1,Weibull,0,1\n", someLength, "gen:2:1: p1: the shape 0 of a Weibull law"},
		{"windows overlap", rateHead + "a,0,2,1,Gamma,1,1\na,300,2,1,Gamma,1,1\n", someLength, "gen:3:1: the window at 5m0s of client a is less than 10m0s after"},
		{"lengths out of order", rateHead, someLength + "a,5,output_tokens,1,1,1,1,1,1,1\na,0,output_tokens,1,1,1,1,1,1,1\n", "gen lengths:5:1: the window at 0s of client a comes after"},
		{"mean", rateHead, lengthHead + "a,0,output_tokens,x,1,1,1,1,1,1\n", `gen lengths:2:19: mean: "x" is not a number`},
		{"NUL", rateHead + "a,0,2\x00", someLength, "gen:2:6: a NUL byte"},
		{"cells", rateHead + "a,0\n", someLength, "gen:2:4: 2 cells where the header has 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := generate(c.rates, c.lengths, TraceOptions{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
		})
	}
}

func FuzzServeGen(f *testing.F) {
	f.Add([]byte(rateHead+"a,0,2,1,Weibull,0.4,1\na,600,2,1,Gamma,0.01,1\n"), []byte(someLength))
	f.Fuzz(func(t *testing.T, rates, lengths []byte) {
		s, err := ServeGen("gen", bytes.NewReader(rates), bytes.NewReader(lengths), TraceOptions{Compress: 60, Duration: time.Hour})
		if err != nil {
			return
		}
		last := time.Duration(0)
		for range 1000 {
			a, ok, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return
			}
			if a.At < last || a.Input < 1 || a.Output < 1 || a.Output > maxTokens {
				t.Fatalf("%+v after %v", a, last)
			}
			last = a.At
		}
	})
}

func BenchmarkServeGen(b *testing.B) {
	rates := strings.Builder{}
	rates.WriteString(rateHead)
	for c := range 100 {
		fmt.Fprintf(&rates, "c%d,0,%f,1,Weibull,0.4,0\nc%d,600,%f,1,Gamma,0.3,0\n", c, float64(b.N)/9e4+0.1, c, float64(b.N)/9e4+0.1)
	}
	s, err := ServeGen("gen", strings.NewReader(rates.String()), strings.NewReader(someLength), TraceOptions{})
	benchSource(b, s, err)
}
