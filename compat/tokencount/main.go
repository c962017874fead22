// Command tokencount counts the tokens of the texts that the estimate of tokens
// is tested on. It cuts each file into documents of different lengths and writes
// counts.tsv beside them: file, first and last byte, tokens by cl100k_base and by o200k_base.
//
//	cd compat && go run ./tokencount
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

const texts = "../internal/edge/wire/testdata/tokens"

// lengths of documents in bytes, in turn. Each goes on to the end of its line
// or, as lines are long in Chinese, of its sentence.
var lengths = []int{300, 900, 500, 1800, 700, 400, 1200}

var stop = regexp.MustCompile(`\n|。`)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "count tokens:", err)
		os.Exit(1)
	}
}

func run() error {
	var codecs []tokenizer.Codec
	for _, name := range []tokenizer.Encoding{tokenizer.Cl100kBase, tokenizer.O200kBase} {
		c, err := tokenizer.Get(name)
		if err != nil {
			return err
		}
		codecs = append(codecs, c)
	}
	files, err := filepath.Glob(filepath.Join(texts, "*.txt"))
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text, from := string(data), 0
		for n := 0; from < len(text); n++ {
			to := min(from+lengths[n%len(lengths)], len(text))
			if end := stop.FindStringIndex(text[to:]); end != nil {
				to += end[1]
			} else {
				to = len(text)
			}
			fmt.Fprintf(&out, "%s\t%d\t%d", filepath.Base(file), from, to)
			for _, c := range codecs {
				tokens, err := c.Count(text[from:to])
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				fmt.Fprintf(&out, "\t%d", tokens)
			}
			out.WriteByte('\n')
			from = to
		}
	}
	return os.WriteFile(filepath.Join(texts, "counts.tsv"), []byte(out.String()), 0o666)
}
