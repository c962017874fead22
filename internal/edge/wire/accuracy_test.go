package wire

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// document is a text of testdata/tokens, as the features of a chat request that
// holds it, and the tokens that two tokenizers make of it.
type document struct {
	file     string
	features Features
	tokens   map[string]int64
}

// overhead is what the chat template adds to a request of one message.
const overhead = 3 + 4

func documents(t testing.TB) (docs []document) {
	t.Helper()
	texts := map[string]string{}
	table, err := os.ReadFile("testdata/tokens/counts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var file string
		var from, to int
		var cl100k, o200k int64
		if _, err := fmt.Sscanf(line, "%s\t%d\t%d\t%d\t%d", &file, &from, &to, &cl100k, &o200k); err != nil {
			t.Fatal(err)
		}
		if texts[file] == "" {
			b, err := os.ReadFile("testdata/tokens/" + file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = string(b)
		}
		docs = append(docs, document{
			file: strings.TrimSuffix(file, ".txt"), features: Measure(chatBody(texts[file][from:to])),
			tokens: map[string]int64{"cl100k": cl100k, "o200k": o200k, "coarse": o200k * 7 / 10, "fine": cl100k * 17 / 10},
		})
	}
	return docs
}

// off is the error over documents: of the sum, and the mean over each.
type off struct{ sum, each float64 }

func errorOf(e *Estimator, docs []document, tokenizer, file string) off {
	var guess, truth, each, n float64
	for _, d := range docs {
		if d.file != file {
			continue
		}
		g, y := float64(e.Tokens("m", &d.features)), float64(d.tokens[tokenizer]+overhead)
		guess, truth, each, n = guess+g, truth+y, each+math.Abs(g/y-1), n+1
	}
	return off{guess/truth - 1, each / n}
}

// Every second document is learnt from, all languages mixed as the traffic of a
// gateway is, and the others are estimated: before it, and after it.
func TestAccuracy(t *testing.T) {
	var learnt, held []document
	for i, d := range documents(t) {
		if i%2 == 0 {
			learnt = append(learnt, d)
		} else {
			held = append(held, d)
		}
	}
	for _, tokenizer := range []string{"cl100k", "o200k", "coarse", "fine"} {
		fresh, taught := NewEstimator(), NewEstimator()
		for i := range learnt {
			d := learnt[i*29%len(learnt)] // in no order of languages
			taught.Learn("m", &d.features, d.tokens[tokenizer]+overhead)
		}
		for _, file := range []string{"english", "chinese", "classical-chinese", "code", "japanese", "korean", "french"} {
			before, after := errorOf(fresh, held, tokenizer, file), errorOf(taught, held, tokenizer, file)
			t.Logf("%-7s %-18s sum %+6.1f %% -> %+5.1f %%, each %5.1f %% -> %4.1f %%", tokenizer, file, before.sum*100, after.sum*100, before.each*100, after.each*100)
			if math.Abs(after.sum) > 0.10 {
				t.Errorf("%s, %s: off by %.1f %% after learning, want 10 %% at most", tokenizer, file, after.sum*100)
			}
			if after.each > 0.10 {
				t.Errorf("%s, %s: each document off by %.1f %% after learning, want 10 %% at most", tokenizer, file, after.each*100)
			}
		}
	}
}
