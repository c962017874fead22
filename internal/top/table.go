package top

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/spillway-llm/spillway/internal/operator"
)

// column is one of a table. Columns stand in order of importance: those that do
// not fit are left out from the right.
type column struct {
	name  string
	least int // columns of the terminal that it has at any rate, so that tables do not jump
	right bool
}

// row is one line of a table.
type row struct {
	key   string // what it is about, over all pictures
	cells []span
}

// table is one part of the screen. The first column has the names.
type table struct {
	title   string
	columns []column
	rows    []row
	none    string // said instead of rows
}

// matching keeps the rows with a text in any cell.
func (t *table) matching(text string) {
	if text = strings.ToLower(text); text == "" {
		return
	}
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
		return !slices.ContainsFunc(append(r.cells, span{text: r.key}), func(s span) bool { return strings.Contains(strings.ToLower(s.text), text) })
	})
	t.none = "nothing matches"
}

// at finds the row of a key, or the one that took the place of it.
func (t *table) at(p pick) int {
	if i := slices.IndexFunc(t.rows, func(r row) bool { return r.key == p.key }); i >= 0 {
		return i
	}
	return max(0, min(p.at, len(t.rows)-1))
}

const (
	gap       = 2 // between two columns
	leastName = 8 // columns of the terminal for a name
)

// natural are the widths that columns ask for.
func (t *table) natural(rows []row) []int {
	w := make([]int, len(t.columns))
	for i, c := range t.columns {
		w[i] = max(c.least, ansi.StringWidth(c.name))
		for _, r := range rows {
			w[i] = max(w[i], ansi.StringWidth(operator.Printable(r.cells[i].text)))
		}
	}
	w[0] = max(w[0], ansi.StringWidth(t.title))
	return w
}

// widths of the columns within a width; 0 for those that have no room. The
// first gets what is left over, or gives up what is missing. Words at the end
// of a row get what is left.
func (t *table) widths(rows []row, width int) []int {
	w := t.natural(rows)
	last := len(w) - 1
	if !t.columns[last].right {
		w[last] = max(t.columns[last].least, ansi.StringWidth(t.columns[last].name))
	}
	sum := func() (n int) {
		for _, x := range w {
			if x > 0 {
				n += x + gap
			}
		}
		return n - gap
	}
	if over := sum() - width; over > 0 {
		w[0] = max(leastName, w[0]-over)
	}
	for i := last; i > 0 && sum() > width; i-- {
		w[i] = 0
	}
	grow := 0
	if !t.columns[last].right && w[last] > 0 {
		grow = last
	}
	w[grow] += max(0, width-sum())
	return w
}

// lines draws a table in a height: its head, and the rows around the picked
// one.
func (t *table) lines(width, height int, p *pick) []string {
	if height < 1 {
		return nil
	}
	from, room, chosen := 0, height-1, -1
	if p != nil {
		chosen = t.at(*p)
		from = max(0, min(chosen-room/2, len(t.rows)-room))
	}
	rows := t.rows[from:min(from+room, len(t.rows))]
	w := t.widths(rows, width)
	head := strong
	if p != nil {
		head = picked
	}
	out := []string{line{{t.head(w), head}}.fit(width)}
	for i, r := range rows {
		var l line
		for j, c := range r.cells {
			if w[j] == 0 {
				continue
			}
			if len(l) > 0 {
				l = append(l, span{"  ", plain})
			}
			l = append(l, span{pad(c.text, w[j], t.columns[j].right), c.ink})
		}
		if from+i == chosen {
			l = line{{l.text(), picked}}
		}
		out = append(out, l.fit(width))
	}
	if len(t.rows) == 0 && height > 1 {
		out = append(out, words("  "+t.none).fit(width))
	}
	return out
}

func (t *table) head(w []int) string {
	var cells []string
	for i, c := range t.columns {
		name := c.name
		if i == 0 {
			name = t.title
		}
		if w[i] > 0 {
			cells = append(cells, pad(name, w[i], c.right))
		}
	}
	return strings.Join(cells, "  ")
}

// text is all of a table, for scripts.
func (t *table) text() []string {
	w := t.natural(t.rows)
	out := []string{strings.TrimRight(t.head(w), " ")}
	for _, r := range t.rows {
		var cells []string
		for j, c := range r.cells {
			cells = append(cells, pad(c.text, w[j], t.columns[j].right))
		}
		out = append(out, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
	if len(t.rows) == 0 {
		out = append(out, "  "+t.none)
	}
	return out
}
