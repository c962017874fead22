package sim

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// lost is what a caller does without at each level of the example's ladder.
var lost = [...]string{
	"nothing",
	"log probabilities; turns before the last ones",
	"of the input what is above 2,000 tokens; the precision of the weights",
	"the model itself: a smaller one answers",
}

// TestWhatEachLevelGives holds the ladder of the 1.5x story at each of its
// levels, with a load that needs none, and keeps the table in the docs.
func TestWhatEachLevelGives(t *testing.T) {
	t.Parallel()
	story, _, _ := strings.Cut(readScenario(t, "ladder-1.5x"), "caller ")
	head, pools, _ := strings.Cut(story, "model large-int8")
	var b strings.Builder
	b.WriteString("| level | answer after | slot time | of level 0 | tokens saved | cost | what is lost |\n|---|---:|---:|---:|---:|---:|---|\n")
	var first float64
	for level := range len(lost) {
		s, err := ParseScenario("levels", strings.NewReader(fmt.Sprintf("%sladder level=%d\nmodel large-int8%s"+
			"caller people model=large rate=1.5 deadline=60s input=3000 output=200 spread=0.7 consent=any\nfor 1800s\n", head, level, pools)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Play(ours, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := r.Ladders[0]
		answers, took, latency, saved := int64(0), 0.0, 0.0, int64(0)
		for _, x := range f.Rungs {
			n := float64(x.Answers)
			answers, took, latency, saved = answers+x.Answers, took+n*x.SlotMean, latency+n*x.Latency, saved+x.TokensSaved
		}
		n := float64(answers)
		if level == 0 {
			first = took / n
		}
		if held := f.Levels[0].Held[level]; held < 0.99 {
			t.Errorf("level %d was held for %.1f %% of the time", level, percent(held))
		}
		fmt.Fprintf(&b, "| %d | %.1f s | %.1f s | %.0f %% | %.0f | %.2f ¢ | %s |\n", level, latency/n, took/n, 100*took/n/first, float64(saved)/n, 100*costOf(r.sites)/n, lost[level])
	}
	const file, begin, end = "../../docs/degradation.md", "<!-- levels -->\n", "<!-- /levels -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", file)
	}
	if table == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is another (run with -update):\n%s", file, b.String())
	}
	if err := os.WriteFile(file, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
