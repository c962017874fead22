package wire

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func measureText(text string) Features { return Measure(chatBody(text)) }

const prose = "The committee met on Tuesday to discuss the budget, and after four hours it had agreed on nothing but lunch. "

// near says whether an estimate is within a part of the truth.
func near(got int64, want, part float64) bool { return math.Abs(float64(got)/want-1) <= part }

func TestEstimatorFirst(t *testing.T) {
	e := NewEstimator()
	f := measureText(prose)
	if got, want := e.Tokens("m", &f), f.Tokens(); got != want {
		t.Errorf("%d tokens before anything is learnt, want the prior's %d", got, want)
	}
	if n, off := e.Learned("m"); n != 0 || off != 0 {
		t.Errorf("%d reports, %g off, of a model nobody asked for", n, off)
	}
	e.Learn("m", &f, 0) // an upstream that counts nothing
	e.Learn("m", &f, -1)
	if n, _ := e.Learned("m"); n != 0 {
		t.Error("learnt from a report of nothing")
	}
	if got, want := e.Count("m", chatBody(prose)), f.Tokens(); got != want {
		t.Errorf("Count is %d, Tokens %d", got, want)
	}
}

// A model is learnt apart from the others.
func TestEstimatorModels(t *testing.T) {
	e := NewEstimator()
	f := measureText(strings.Repeat(prose, 10))
	for range 20 {
		e.Learn("dear", &f, 600)
	}
	if got := e.Tokens("dear", &f); !near(got, 600, 0.05) {
		t.Errorf("%d tokens, 600 were reported", got)
	}
	if got, want := e.Tokens("other", &f), f.Tokens(); got != want {
		t.Errorf("another model has %d tokens, want %d", got, want)
	}
	if n, off := e.Learned("dear"); n != 20 || off <= 0 || off > 0.3 {
		t.Errorf("%d reports, %g off", n, off)
	}
}

// A tokenizer that is replaced is followed within a few dozen requests.
func TestEstimatorFollows(t *testing.T) {
	e := NewEstimator()
	r := rand.New(rand.NewPCG(1, 2))
	request := func() (Features, float64) {
		f := measureText(strings.Repeat(prose, 1+r.IntN(20)))
		return f, float64(f.Tokens())
	}
	for range 2000 {
		f, n := request()
		e.Learn("m", &f, int64(n))
	}
	for range 40 {
		f, n := request()
		e.Learn("m", &f, int64(n*1.6))
	}
	if f, n := request(); !near(e.Tokens("m", &f), n*1.6, 0.1) {
		t.Errorf("%d tokens, want about %.0f", e.Tokens("m", &f), n*1.6)
	}
}

// A prompt that the provider puts before each request is learnt as what it is:
// of short and long requests alike.
func TestEstimatorHiddenPrompt(t *testing.T) {
	e := NewEstimator()
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		f := measureText(strings.Repeat(prose, 1+r.IntN(40)))
		e.Learn("m", &f, f.Tokens()+1500)
	}
	for _, n := range []int{1, 10, 40} {
		f := measureText(strings.Repeat(prose, n))
		if want := float64(f.Tokens() + 1500); !near(e.Tokens("m", &f), want, 0.1) {
			t.Errorf("%d tokens, want about %.0f", e.Tokens("m", &f), want)
		}
	}
}

// A small model of OpenAI's counts an image 33 times as high.
func TestEstimatorImages(t *testing.T) {
	e := NewEstimator()
	e.Declare("claude", ImageAreas)
	body := `{"messages":[{"role":"user","content":[{"image_url":{"url":"data:image/png;base64,` + picture(t, "png", 1024, 1024) + `"}}]}]}`
	f := Measure([]byte(body))
	if got := e.Tokens("claude", &f); got != 1399+overhead {
		t.Errorf("%d tokens of an image of 1024 by 1024, want Anthropic's 1,399 and the overhead", got)
	}
	for range 30 {
		e.Learn("mini", &f, 25501+overhead)
	}
	if got := e.Tokens("mini", &f); !near(got, 25501, 0.1) {
		t.Errorf("%d tokens, 25,501 were reported", got)
	}
	text := measureText(prose)
	if got := e.Tokens("mini", &text); got > text.Tokens()+100 {
		t.Errorf("%d tokens of text after images, want %d and not much more", got, text.Tokens())
	}
}

// Whatever is reported, estimates stay within bounds, and a request never costs nothing.
func TestEstimatorBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var texts []Features
	for _, text := range []string{"", "x", prose, strings.Repeat("今天天气很好。", 50), strings.Repeat("🙂", 100), strings.Repeat("{\"a\": [1, 2]}\n", 50), strings.Repeat("q", 3000)} {
		texts = append(texts, measureText(text))
	}
	for _, report := range []func() int64{
		func() int64 { return 1 },
		func() int64 { return math.MaxInt64 },
		func() int64 { return 1 + r.Int64N(1_000_000) },
		func() int64 { return []int64{1, math.MaxInt64}[r.IntN(2)] },
	} {
		e := NewEstimator()
		for range 1000 {
			e.Learn("m", &texts[r.IntN(len(texts))], report())
			for i, f := range texts {
				got, prior := e.Tokens("m", &f), f.Tokens()
				if got < 3 || got < prior/5 || got > prior*4+12_000 {
					t.Fatalf("%d tokens of text %d, the prior says %d", got, i, prior)
				}
			}
		}
	}
}

// Lists of tokens count exactly, whatever was learnt.
func TestTokenLists(t *testing.T) {
	e := NewEstimator()
	f := measureText(prose)
	for range 50 {
		e.Learn("m", &f, 1000)
	}
	for _, tt := range []struct {
		surface Surface
		body    string
		want    int64
	}{
		{Completions, `{"model":"m","prompt":[11,22,33]}`, 3},
		{Completions, `{"model":"m","prompt":[[11,22],[33,44]]}`, 4},
		{Embeddings, `{"model":"m","input":[11]}`, 1},
		{Embeddings, `{"model":"m","input":[[1,2,3],[123456]]}`, 4},
		{Embeddings, `{"model":"m","input":""}`, 1}, // never nothing
		{Embeddings, `{"model":"m","input":"hello"}`, 1},
		{Completions, `{"model":"m","prompt":["a", "test"]}`, 2},
	} {
		env, err := Parse(tt.surface, []byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if env.Input != tt.want {
			t.Errorf("%s: %d tokens, want %d", tt.body, env.Input, tt.want)
		}
		if got := e.Tokens("m", &env.Features); strings.Contains(tt.body, "[1") && got != tt.want {
			t.Errorf("%s: %d tokens after learning, want %d", tt.body, got, tt.want)
		}
	}
}

// Estimates are read while others learn; -race looks on.
func TestEstimatorConcurrently(t *testing.T) {
	e := NewEstimator()
	f := measureText(prose)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			model := fmt.Sprint("m", i%3)
			for range 200 {
				e.Learn(model, &f, 60)
				if e.Tokens(model, &f) < 3 {
					t.Error("an estimate of nothing")
				}
				e.Learned(model)
			}
		})
	}
	group.Wait()
	for i := range 3 {
		if n, _ := e.Learned(fmt.Sprint("m", i)); n < 400 {
			t.Errorf("model %d has %d reports: some were lost", i, n)
		}
	}
}

func BenchmarkEstimator(b *testing.B) {
	e, f := NewEstimator(), Measure(requestBody(2<<10))
	b.Run("tokens", func(b *testing.B) {
		b.ReportAllocs()
		e.Learn("m", &f, 500)
		for b.Loop() {
			e.Tokens("m", &f)
		}
	})
	b.Run("learn", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Learn("m", &f, 500)
		}
	})
}
