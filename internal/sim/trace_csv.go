package sim

import (
	"bytes"
	"fmt"
)

// csvRows reads a CSV whose columns the header names, in any order.
type csvRows struct {
	*cells
	lines   *lines
	columns []int // the place in the format of each column
	row     csvLine
}

// csvLine is the cells of a line.
type csvLine struct {
	cells [][]byte
	start []int // of each cell, from 0
}

// newCSVRows takes the format from the header.
func newCSVRows(l *lines, header []byte, o *TraceOptions) (*csvRows, error) {
	r := &csvRows{lines: l}
	if err := r.row.split(l, header); err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, c := range r.row.cells {
		is[string(bytes.TrimSpace(c))] = true
	}
	f := plainFormat
	switch {
	case is["TIMESTAMP"] || is["ContextTokens"]:
		f = azureFormat
	case is["rate_rps"] || is["iat_dist"] || is["field"] && is["mean"]:
		return nil, fmt.Errorf("%s:%d:1: ServeGen windows are two files, rates and lengths, and are read together", l.name, l.n)
	case is["t_s"] || is["req_id"]:
		f = vtcFormat
	case header[0] >= '0' && header[0] <= '9':
		return nil, fmt.Errorf("%s:%d:1: the first line must name the columns, as in t,tenant,input,output", l.name, l.n)
	}
	r.cells = newCells(f, o)
	var err error
	r.columns, err = r.row.header(l, f)
	return r, err
}

// header finds the columns of the format: their place in it, in the order of the line.
func (c *csvLine) header(l *lines, f traceFormat) ([]int, error) {
	columns := make([]int, len(c.cells))
	seen := uint32(0)
	for i, name := range c.cells {
		name = bytes.TrimSpace(name)
		at := f.find(name)
		if at < 0 {
			return nil, l.fail(c.start[i], "%w", f.unknown(name))
		}
		if seen&(1<<at) != 0 {
			return nil, l.fail(c.start[i], "column %q stands twice", name)
		}
		seen |= 1 << at
		columns[i] = at
	}
	if name := f.missing(seen); name != "" {
		return nil, l.fail(0, "column %q is missing", name)
	}
	return columns, nil
}

func (r *csvRows) next(a *Arrival) error {
	line, err := r.lines.next()
	if err != nil {
		return err
	}
	if err := r.row.split(r.lines, line); err != nil {
		return err
	}
	if err := r.row.check(r.lines, len(r.columns)); err != nil {
		return err
	}
	r.begin(a)
	for i, text := range r.row.cells {
		c := &r.format[r.columns[i]]
		if len(text) == 0 {
			if c.needed {
				return r.lines.fail(r.row.start[i], "%s is empty", c.name)
			}
			continue
		}
		if err := r.set(a, c.field, text); err != nil {
			return r.lines.fail(r.row.start[i], "%s: %w", c.name, err)
		}
	}
	r.end(a)
	return nil
}

// check that the line has as many cells as the header.
func (c *csvLine) check(l *lines, columns int) error {
	switch n := len(c.cells); {
	case n < columns:
		return l.fail(len(l.line), "%d cells where the header has %d", n, columns)
	case n > columns:
		return l.fail(c.start[columns], "%d cells where the header has %d", n, columns)
	}
	return nil
}

// split cuts a line at its commas. A cell may stand in quotes, with quotes in
// it doubled, but must end on its line.
func (c *csvLine) split(l *lines, line []byte) error {
	c.cells, c.start = c.cells[:0], c.start[:0]
	for at := 0; ; {
		c.start = append(c.start, at)
		end := bytes.IndexByte(line[at:], ',') + at
		if end < at {
			end = len(line)
		}
		cell := line[at:end]
		if len(cell) > 0 && cell[0] == '"' {
			var err error
			if cell, end, err = unquote(l, line, at); err != nil {
				return err
			}
		}
		c.cells = append(c.cells, cell)
		if end == len(line) {
			return nil
		}
		at = end + 1
	}
}

// unquote reads the cell in quotes at a place of the line, and where it ends.
func unquote(l *lines, line []byte, at int) (cell []byte, end int, err error) {
	for i := at + 1; i < len(line); i++ {
		if line[i] != '"' {
			cell = append(cell, line[i])
			continue
		}
		if i+1 < len(line) && line[i+1] == '"' {
			cell = append(cell, '"')
			i++
			continue
		}
		if i+1 < len(line) && line[i+1] != ',' {
			return nil, 0, l.fail(i+1, "text after the closing quote")
		}
		return cell, i + 1, nil
	}
	return nil, 0, l.fail(at, "the quote does not end on its line")
}
