package top

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/spillway-llm/spillway/internal/operator"
)

// ink is how a piece of text looks. The colours are the terminal's own sixteen,
// so they fit a light and a dark one, and nothing is said by colour alone.
type ink uint8

const (
	plain ink = iota
	strong
	good
	warn
	alarm
	picked // the row that Enter is about
)

var inks = [...]string{plain: "", strong: "\x1b[1m", good: "\x1b[32m", warn: "\x1b[33m", alarm: "\x1b[1;31m", picked: "\x1b[7m"}

// span is text in one ink.
type span struct {
	text string
	ink  ink
}

// line is one line of the screen.
type line []span

func words(text string) line { return line{{text, plain}} }

// fit writes a line for a terminal, cut or filled to a width. What callers,
// providers or files chose the words of cannot do anything there but be seen.
func (l line) fit(width int) string {
	var b strings.Builder
	left := width
	for _, s := range l {
		text := cut(s.text, left)
		left -= ansi.StringWidth(text)
		b.WriteString(inks[s.ink])
		b.WriteString(text)
		if s.ink != plain {
			b.WriteString("\x1b[m")
		}
		if left <= 0 {
			break
		}
	}
	return b.String() + strings.Repeat(" ", max(left, 0))
}

// text is a line without ink.
func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(operator.Printable(s.text))
	}
	return b.String()
}

// cut makes a text printable and no wider than so many columns.
func cut(text string, width int) string {
	text = operator.Printable(text)
	if ansi.StringWidth(text) > width {
		text = ansi.Truncate(text, width, "…")
	}
	return text
}

// pad brings a cell to a width of columns.
func pad(text string, width int, right bool) string {
	text = cut(text, width)
	space := strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
	if right {
		return space + text
	}
	return text + space
}
