package sim

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the outcomes in scenarios/*.txt")

// TestScenarios plays the stories of scenarios/, which are also the product's
// examples. Below each story stands what came out, to be looked at when it
// changes; the expectations in the story are the bars, and -update does not
// move them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatal("scenarios are missing", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			story, want, _ := strings.Cut(string(text), OutcomeMark+"\n")
			play := func() *Outcome {
				s, err := ParseScenario(filepath.Base(file), strings.NewReader(story))
				if err != nil {
					t.Fatal(err)
				}
				if len(s.Expects) == 0 || s.Title == "" {
					t.Fatal("a story without a title, or that expects nothing")
				}
				o, err := s.Tell(nil)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			got := play()
			for _, m := range got.Missed {
				t.Errorf("expected %s", m)
			}
			if again := play(); again.Text != got.Text {
				t.Errorf("played twice, it came out differently:\n%s\n%s", got.Text, again.Text)
			}
			if *update {
				if err := os.WriteFile(file, []byte(story+OutcomeMark+"\n"+got.Text), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got.Text != want {
				t.Errorf("the outcome changed (look at it, then run with -update):\n%s", got.Text)
			}
		})
	}
}

func readScenario(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../scenarios/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	story, _, _ := strings.Cut(string(text), OutcomeMark+"\n")
	return story
}
