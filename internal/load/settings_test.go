package load

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTenantForm(t *testing.T) {
	var got Tenant
	err := got.UnmarshalText([]byte("name=light, key=k1,model=m,share=0.05,weight=2,class=interactive,deadline=8s,stream,input=100,output=50"))
	want := Tenant{Name: "light", Key: "k1", Model: "m", Share: 0.05, Weight: 2, Class: "interactive", Deadline: 8 * time.Second, Stream: true, Input: 100, Output: 50}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if err := got.UnmarshalText([]byte("name=x,stream=false,rate=3")); err != nil || got != (Tenant{Name: "x", Rate: 3}) {
		t.Errorf("got %+v, %v: an earlier value must not shine through", got, err)
	}

	for form, want := range map[string]string{
		"":                   `"" is no name=value`,
		"key=k":              "name is missing",
		"name=a,name=b":      "name is given twice",
		"name=a,stream,":     `"" is no name=value`,
		"name=a,rate":        `"rate" is no name=value`,
		"name=a,rate=-1":     `rate: "-1" is no positive number`,
		"name=a,share=NaN":   `share: "NaN" is no positive number`,
		"name=a,deadline=8":  "deadline: time: missing unit",
		"name=a,stream=yes":  "stream: strconv.ParseBool",
		"name=a,output=many": "output: strconv.Atoi",
		"name=a,speed=3":     "speed: unknown field; the fields are name, key,",
	} {
		if err := new(Tenant).UnmarshalText([]byte(form)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("tenant %q: error %v, want one with %q", form, err, want)
		}
	}
}

func TestBurstForm(t *testing.T) {
	for form, want := range map[string]Burst{
		"10x@20s+5s": {Factor: 10, At: 20 * time.Second, For: 5 * time.Second},
		"0.5x@1m0s":  {Factor: 0.5, At: time.Minute},
		"0x@0s+1s":   {Factor: 0, For: time.Second},
	} {
		var b Burst
		if err := b.UnmarshalText([]byte(form)); err != nil || b != want {
			t.Errorf("burst %q: %+v, %v", form, b, err)
		} else if b.String() != form {
			t.Errorf("burst %q is written as %q", form, b)
		}
	}
	for form, want := range map[string]string{
		"10":         "not of the form",
		"ax@1s":      "factor",
		"-2x@1s":     "factor",
		"2x@1":       "start",
		"2x@-1s":     "must not be negative",
		"2x@1s+":     "length",
		"2x@1s+0s":   "length: must be positive",
		"9999999x@0": "factor 9.999999e+06 is not between",
	} {
		if err := new(Burst).UnmarshalText([]byte(form)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("burst %q: error %v, want one with %q", form, err, want)
		}
	}
}

func TestPatienceForm(t *testing.T) {
	var p Patience
	if err := p.UnmarshalText([]byte("0.3@2s")); err != nil || p != (Patience{Fraction: 0.3, Mean: 2 * time.Second}) {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, form := range []string{"0.3", "2@1s", "x@1s", "0.5@0s", "0.5@-1s", "0.5@1"} {
		if err := new(Patience).UnmarshalText([]byte(form)); err == nil {
			t.Errorf("patience %q has no error", form)
		}
	}
}

func TestNames(t *testing.T) {
	for _, want := range []Arrivals{Poisson, Constant} {
		var got Arrivals
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Errorf("%v: %v, %v", want, got, err)
		}
	}
	for _, want := range []DeadlineOf{Auto, Total, FirstToken} {
		var got DeadlineOf
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Errorf("%v: %v, %v", want, got, err)
		}
	}
	if err := new(Arrivals).UnmarshalText([]byte("bursty")); err == nil || err.Error() != `"bursty" is none of poisson, constant` {
		t.Errorf("unknown law: %v", err)
	}
}

func TestValidate(t *testing.T) {
	good := func() Settings { return Settings{Target: "http://127.0.0.1:1/v1"} }
	if err := good().Validate(); err != nil {
		t.Fatalf("two words are enough: %v", err)
	}
	for want, change := range map[string]func(*Settings){
		"target: missing":                      func(s *Settings) { s.Target = "" },
		`"localhost:8080" is no http`:          func(s *Settings) { s.Target = "localhost:8080" },
		"rate: -1 is not between":              func(s *Settings) { s.Rate = -1 },
		"rate: NaN is not between":             func(s *Settings) { s.Rate = math.NaN() },
		"retries: -1":                          func(s *Settings) { s.Retries = -1 },
		"deadline: -1":                         func(s *Settings) { s.Deadline = -time.Second },
		"arrivals: unknown law 7":              func(s *Settings) { s.Arrivals = 7 },
		"burst -1x@0s: factor":                 func(s *Settings) { s.Bursts = []Burst{{Factor: -1}} },
		"patience: mean must be positive":      func(s *Settings) { s.Patience.Fraction = 1 },
		"tenant 1 (): name is missing":         func(s *Settings) { s.Tenants = []Tenant{{}} },
		"tenant 2 (a): the name is taken":      func(s *Settings) { s.Tenants = []Tenant{{Name: "a"}, {Name: "a"}} },
		"rate and share exclude each other":    func(s *Settings) { s.Tenants = []Tenant{{Name: "a", Rate: 1, Share: 1}} },
		"shares add up to 1.2":                 func(s *Settings) { s.Tenants = []Tenant{{Name: "a", Share: 0.6}, {Name: "b", Share: 0.6}} },
		"(b): the other tenants leave nothing": func(s *Settings) { s.Tenants = []Tenant{{Name: "a", Share: 1}, {Name: "b"}} },
		"input and output must be between":     func(s *Settings) { s.Tenants = []Tenant{{Name: "a", Output: -1}} },
	} {
		s := good()
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	s := Settings{Rate: -1, Speed: -1}
	if err := s.Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three faults must be told at once, got: %v", err)
	}
}
