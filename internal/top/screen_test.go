package top

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/spillway-llm/spillway/internal/operator"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

// golden compares a screen with a file, without inks.
func golden(t *testing.T, name, got string) {
	t.Helper()
	var lines []string
	for l := range strings.Lines(ansi.Strip(got)) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	got = strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not\n%s\nbut\n%s\n-update rewrites it", name, want, got)
	}
}

func TestScreens(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() *state
	}{
		{"busy", busy},
		{"idle", idle},
		{"refusals", func() *state {
			s := busy()
			s.focus = refusals
			s.move(1)
			return s
		}},
		{"stale", func() *state {
			s := busy()
			s.lose(t0.Add(9*time.Second), errors.New("ask the gateway: connection refused; is it running, and is --ops its address for operators?"), 4*time.Second)
			return s
		}},
		{"filter", func() *state {
			s := busy()
			for _, k := range []string{"/", "0", "0", "7"} {
				s.press(k, k, 80, 24)
			}
			return s
		}},
		{"help", func() *state {
			s := busy()
			s.press("?", "?", 80, 24)
			return s
		}},
		{"health", func() *state {
			s := busy()
			s.press("h", "h", 80, 24)
			return s
		}},
	} {
		for _, size := range [][2]int{{80, 24}, {160, 50}} {
			name := fmt.Sprintf("%s-%dx%d.txt", tt.name, size[0], size[1])
			t.Run(name, func(t *testing.T) { golden(t, name, draw(tt.make(), size[0], size[1])) })
		}
	}
}

// The sample in the guide is what the program shows.
func TestSampleInTheGuide(t *testing.T) {
	screen, err := os.ReadFile("testdata/busy-80x24.txt")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), "```\n"+string(screen)+"```\n") {
		t.Error("docs/operating.md shows another screen than testdata/busy-80x24.txt: copy it there")
	}
}

// A screen of any size has exactly so many lines of so many columns, whatever
// is on it, with letters of two columns in the names.
func TestSizes(t *testing.T) {
	s := busy()
	s.picture.Tenants[0].Tenant, s.picture.Tenants[0].Refused = "東京の本店と大阪の支店と京都の工場", 99
	for _, page := range []string{"", "?", "h"} {
		for width := 1; width < 200; width += 3 {
			for height := 1; height < 60; height += 7 {
				s.help, s.page = false, nil
				s.press(page, page, width, height)
				lines := strings.Split(draw(s, width, height), "\n")
				if len(lines) != height {
					t.Fatalf("%dx%d: %d lines", width, height, len(lines))
				}
				for i, l := range lines {
					if n := ansi.StringWidth(l); n != width {
						t.Fatalf("%dx%d: line %d has %d columns: %q", width, height, i, n, l)
					}
				}
			}
		}
	}
}

// What somebody else chose the words of is seen, and does nothing.
func TestNamesAreOnlySeen(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\n\b\u202eevil"
	s := busy()
	p := s.picture
	p.Tenants[7].Tenant, p.Models[0].Model, p.Models[0].Classes[0].Class = evil, evil, evil
	p.Upstream[0].Name, p.Upstream[1].Breaker.State, p.Upstream[1].Breaker.Reason = evil, "recovering", evil
	p.Budgets[0].Name, p.Budgets[0].Alarm = evil, evil
	p.Second.Refused = map[string]int64{evil: 3}
	s.refusals[0].Tenant, s.refusals[0].Was.Words, s.refusals[0].Was.Stage, s.refusals[0].Class = evil, evil, evil, evil
	s.unheard = evil
	s.address = evil
	screens := map[string]func(){
		"picture":  func() {},
		"health":   func() { s.press("h", "h", 80, 24) },
		"a page":   func() { s.page = &page{title: evil, lines: []string{evil}} },
		"lost":     func() { s.lose(t0, errors.New(evil), time.Second) },
		"a filter": func() { s.press("/", "/", 80, 24); s.press("x", evil, 80, 24) },
	}
	for name, press := range screens {
		s.page, s.lost, s.typing, s.filter = nil, nil, false, ""
		press()
		for _, width := range []int{80, 160} {
			text := draw(s, width, 50)
			if !strings.Contains(text, "owned") {
				t.Errorf("%s: the name is not seen at all", name)
			}
			for _, known := range inks {
				text = strings.ReplaceAll(text, known, "")
			}
			text = strings.ReplaceAll(strings.ReplaceAll(text, "\x1b[m", ""), "\n", "")
			if operator.Printable(text) != text {
				t.Errorf("%s: something does more than being seen: %q", name, text)
			}
		}
	}
	var once strings.Builder
	if err := Once(&once, evil, t0, p, s.refusals); err != nil || operator.Printable(strings.ReplaceAll(once.String(), "\n", "")) != strings.ReplaceAll(once.String(), "\n", "") {
		t.Errorf("once: %v %q", err, once.String())
	}
}

// What wants to be looked at stands out, in the terminal's own colours.
func TestInks(t *testing.T) {
	text := draw(busy(), 80, 24)
	for _, want := range []string{inks[alarm] + "model chat, held back: batch", inks[warn] + "  16/16", inks[picked] + "TENANTS 200", inks[picked] + "tenant-007"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
}

func TestOnce(t *testing.T) {
	s := busy()
	var text strings.Builder
	if err := Once(&text, s.address, t0, s.picture, s.refusals); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Error("there are colours in a text for scripts")
	}
	golden(t, "once.txt", text.String())
}
