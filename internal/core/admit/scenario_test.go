package admit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the outcomes in testdata/*.txt")

const outcomeMark = "---- outcome\n"

// TestScenarios plays the stories in testdata. Below each story stands what
// came out, to be looked at when it changes; the expectations in the story
// are the bars, and -update does not move them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			story, want, _ := strings.Cut(string(text), outcomeMark)
			got := playStory(t, story, true)
			if again := playStory(t, story, false); again != got {
				t.Errorf("played twice, it came out differently:\n%s\n%s", got, again)
			}
			if *update {
				if err := os.WriteFile(file, []byte(story+outcomeMark+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("the outcome changed (look at it, then run with -update):\n%s", got)
			}
		})
	}
}

// playStory gives the outcome; the first time, what was expected must hold.
func playStory(t *testing.T, story string, first bool) string {
	s, err := parseScript(story)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.expects) == 0 {
		t.Fatal("a story that expects nothing")
	}
	w := s.play(first)
	var b strings.Builder
	for _, e := range s.expects {
		got, ok := e.met(w)
		if !ok && first {
			t.Errorf("%s: got %.4g", e.line, got)
		}
		fmt.Fprintf(&b, "%-44s %.4g\n", strings.TrimPrefix(e.line, "expect "), got)
	}
	b.WriteString("\n" + w.report())
	return b.String()
}

// TestScriptRefuses shows that a mistyped story is noticed.
func TestScriptRefuses(t *testing.T) {
	for _, story := range []string{"slotz 3", "caller a rat=3", "expect goodputt >= 3", "caller a class=urgent", "for 3"} {
		t.Run(story, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			if _, err := parseScript(story); err != nil {
				panic(err)
			}
		})
	}
}
