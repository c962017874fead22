package operator

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable takes out of what a gateway says whatever would move the cursor, change
// colours, turn the direction of writing or begin a new line: callers, providers or
// files chose some of its words.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}
