// Package table writes what a benchmark found as a table for a page.
package table

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Write writes rows under the first, in columns of equal width.
func Write(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for i, row := range rows {
		fmt.Fprintf(t, "| %s\t|\n", strings.Join(row, "\t| "))
		if i == 0 {
			fmt.Fprintf(t, "|%s\n", strings.Repeat("---\t|", len(row)))
		}
	}
	t.Flush()
}
