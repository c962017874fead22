package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a file.
type Problem struct {
	File   string
	Line   int    // from 1; 0 when the fault has no place
	Column int    // from 1, in characters
	Path   string // the setting, such as models.chat.queue.low; "" for the file as a whole
	What   string // never holds the value of a secret or of a variable
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.What)
	return b.String()
}

// Problems are all the faults found in a file, in the order of their places.
type Problems []Problem

// Error gives one line a problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// place is where something stands in the file.
type place struct{ line, column int }

// document is a file while it is read: where each setting stands, and what is
// wrong so far.
type document struct {
	file     string
	env      func(string) (string, bool)
	places   map[string]place  // by path, of everything that was written
	written  map[string]string // by path, texts as they stood before variables were filled in
	grafting *grafting         // what stands in place of parts of the file; nil for nothing
	problems Problems
}

func newDocument(file string, env func(string) (string, bool)) *document {
	return &document{file: file, env: env, places: map[string]place{}, written: map[string]string{}}
}

// fail notes a fault at a path. A path that was not written is placed at the
// start of the file.
func (d *document) fail(path, format string, args ...any) {
	at, ok := d.places[path]
	if !ok {
		at = place{1, 1}
	}
	d.failAt(at, path, format, args...)
}

func (d *document) failAt(at place, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{d.file, at.line, at.column, path, fmt.Sprintf(format, args...)})
}

// sorted puts the faults of other files, such as that of prices, last.
func (d *document) sorted() Problems {
	rank := func(p Problem) int {
		if p.File == d.file {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	return d.problems
}

// wrote reports whether the file says something at path.
func (d *document) wrote(path string) bool {
	_, ok := d.places[path]
	return ok
}

// line names the line of a path in a sentence.
func (d *document) line(path string) string {
	if at := d.places[path]; at.line > 0 {
		return fmt.Sprintf("line %d", at.line)
	}
	return "a change"
}

// quote gives a text as the file has it, with variables not filled in.
func (d *document) quote(path, value string) string {
	if w, ok := d.written[path]; ok {
		value = w
	}
	return fmt.Sprintf("%q", shorten(value))
}

func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// join and index make the path of a setting below another.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]\" ") || key == "":
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// nearest ends a message about an unknown word: with the known word that it
// was most likely meant to be, or with all of them if none is near and they are few.
func nearest(word string, known []string) string {
	const most = 12
	if near := near(word, known); near != "" || len(known) == 0 {
		return near
	}
	if len(known) > most {
		return fmt.Sprintf("; there are %d others", len(known))
	}
	return "; known are " + strings.Join(known, ", ")
}

// near is the first half of nearest: the known word, if one is near.
func near(word string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	best := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(word, a), distance(word, b)) })
	if distance(word, best) > max(2, len([]rune(best))/2) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the Levenshtein distance of the lower-cased words, where
// swapping neighbours counts as two edits.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(shorten(a))), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			substitute := diagonal
			if x[i] != y[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
