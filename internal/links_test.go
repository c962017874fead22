package internal_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Every link of every page to something of this repository leads there, to the
// heading too, and whoever begins at README comes to every page of docs.
func TestLinks(t *testing.T) {
	pages := pages(t)
	reached := map[string]bool{}
	next := []string{"../README.md"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if reached[name] {
			continue
		}
		reached[name] = true
		for _, l := range pages[name].links {
			if file, _, _ := strings.Cut(l, "#"); strings.HasSuffix(file, ".md") {
				next = append(next, filepath.Join(filepath.Dir(name), file))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if strings.HasPrefix(name, "../docs/") && !reached[name] {
			t.Errorf("no way from README leads to %s", name)
		}
		for _, l := range pages[name].links {
			if fault := pages.fault(name, l); fault != "" {
				t.Errorf("%s: (%s): %s", name, l, fault)
			}
		}
	}
	if len(pages) < 20 {
		t.Errorf("only %d pages found", len(pages))
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	pages := pages(t)
	for link, want := range map[string]string{
		"docs/admin.md":                              "",
		"docs/admin.md#let-somebody-in":              "",
		"docs/admin.md#let-everybody-in":             "no such heading",
		"docs/admins.md":                             "no such file",
		"deploy/":                                    "",
		"https://example.com/docs/admin.md":          "",
		repository + "docs/admin.md":                 "",
		repository + "docs/admin.md#nobody":          "no such heading",
		"docs/admin.md#why-was-this-request-refused": "",
	} {
		if got := pages.fault("../README.md", link); got != want {
			t.Errorf("%s: %q, want %q", link, got, want)
		}
	}
}

// repository is where pages are read by those who have no clone.
const repository = "https://github.com/spillway-llm/spillway/blob/main/"

// page is what a page of Markdown has of links and targets of links.
type page struct {
	links   []string
	anchors map[string]bool
}

type book map[string]page

// fault says what is wrong with a link, "" if nothing is.
func (b book) fault(from, link string) string {
	dir := filepath.Dir(from)
	if path, ok := strings.CutPrefix(link, repository); ok {
		link, dir = path, ".."
	} else if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(link, "#")
	to := filepath.Join(dir, file)
	if file == "" {
		to = from
	}
	if _, err := os.Stat(to); err != nil {
		return "no such file"
	}
	if anchor != "" && !b[to].anchors[anchor] {
		return "no such heading"
	}
	return ""
}

// pages are all of this repository, but those of tests and of other people.
func pages(t *testing.T) book {
	t.Helper()
	b := book{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".md") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err == nil {
			b[name] = parse(string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	heading    = regexp.MustCompile(`^#+ +(.+)$`)
)

func parse(text string) page {
	p := page{anchors: map[string]bool{}}
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		}
		if inside {
			continue
		}
		for _, m := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
			p.links = append(p.links, m[1])
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			anchor := anchorOf(m[1])
			for n := 1; p.anchors[anchor]; n++ {
				anchor = fmt.Sprintf("%s-%d", anchorOf(m[1]), n)
			}
			p.anchors[anchor] = true
		}
	}
	return p
}

// anchorOf is the name that GitHub gives a heading.
func anchorOf(heading string) string {
	heading = linkTarget.ReplaceAllString(heading, "]")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
