package internal_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// README is kept in two languages. Both have the same sections, blocks, links
// and figures, in the same order, so that whoever changes one changes the other.
func TestReadmeInTwoLanguages(t *testing.T) {
	en, zh := outline(t, "../README.md"), outline(t, "../README.zh-CN.md")
	if len(en) < 60 {
		t.Fatalf("only %d things found in README.md", len(en))
	}
	for i := range max(len(en), len(zh)) {
		switch {
		case i >= len(en):
			t.Fatalf("README.zh-CN.md has more: %s", zh[i])
		case i >= len(zh):
			t.Fatalf("README.md has more: %s", en[i])
		case en[i] != zh[i]:
			t.Fatalf("README.md has\n%s\nwhere README.zh-CN.md has\n%s", en[i], zh[i])
		}
	}
}

var (
	headingLevel = regexp.MustCompile(`^#+ `)
	number       = regexp.MustCompile(`[0-9][0-9.,]*[0-9]|[0-9]`)
	span         = regexp.MustCompile("`[^`]+`")
)

// outline is what must be the same in every language: levels of headings,
// blocks to the letter, links but those to the other languages, items of lists,
// and the figures of each line of a table and its code.
func outline(t *testing.T, name string) (parts []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		fenced := strings.HasPrefix(line, "```")
		if fenced || inside {
			inside = inside != fenced
			parts = append(parts, "block: "+line)
			continue
		}
		if level := headingLevel.FindString(line); level != "" {
			parts = append(parts, "heading: "+level)
		}
		if strings.HasPrefix(line, "- ") {
			parts = append(parts, "an item of a list")
		}
		for _, s := range span.FindAllString(line, -1) {
			parts = append(parts, "code: "+s)
		}
		for _, m := range linkTarget.FindAllStringSubmatch(line, -1) {
			if !strings.HasPrefix(m[1], "README") {
				parts = append(parts, "link: "+m[1])
			}
		}
		if strings.HasPrefix(line, "|") {
			figures := number.FindAllString(line, -1)
			slices.Sort(figures) // languages order words differently
			parts = append(parts, "row: "+strings.Join(figures, " "))
		}
	}
	return parts
}
