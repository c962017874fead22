package config

import (
	"regexp"
	"strings"
)

var longWord = regexp.MustCompile(`[A-Za-z0-9_+/=.~-]{16,}`)

// longestName is of a key of the file, or of a value that is one of a few words.
const longestName = 32

// veil hides what may be a key or a password in a text that stands where it does
// not belong: whoever forgets a colon, or writes a key a line too low, should not
// find it in the log. Words of this length that have no digit, or nothing else, are
// more likely meant to be names and numbers, and shown.
func veil(s string) string {
	return longWord.ReplaceAllStringFunc(s, func(word string) string {
		digits := strings.ContainsAny(word, "0123456789")
		if letters := strings.Trim(word, "0123456789") != ""; len(word) < longestName && !(digits && letters) {
			return word
		}
		return hidden
	})
}
