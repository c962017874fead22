package load

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Traces are CSV files with a header line. The columns are found by name, in any order and case; others are skipped.
//
//	TIMESTAMP, ContextTokens, GeneratedTokens                  Azure's LLM inference traces; date and time
//	t_s, input_tokens, output_tokens[, client]                 seconds from the start, and who asked
//
// The generated tokens become max_tokens.

// row is one line of a trace.
type row struct {
	at            time.Duration // from the first row of all traces
	client        string        // empty if the trace does not say
	input, output int           // tokens
}

// timestamps are the forms of Azure's TIMESTAMP; a fraction of a second is read with either.
var timestamps = [...]string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339}

// readTraces merges the files by their times. Dated traces keep their distance; a dated and an undated one have none,
// and are an error.
func readTraces(files []string) ([]row, error) {
	var all []row
	var dated bool
	for i, name := range files {
		rows, d, err := readTraceFile(name)
		if err != nil {
			return nil, err
		}
		if i > 0 && d != dated {
			return nil, fmt.Errorf("trace %s: one trace has dates and another counts seconds; they cannot be merged", name)
		}
		dated = d
		all = append(all, rows...)
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	first := all[0].at
	for i := range all {
		all[i].at -= first
	}
	return all, nil
}

func readTraceFile(name string) (rows []row, dated bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	return readTrace(name, f)
}

// readTrace reads one trace. dated says that the times of the rows count from 1970, else from the trace's own zero.
func readTrace(name string, from io.Reader) (rows []row, dated bool, err error) {
	in := csv.NewReader(from)
	header, err := in.Read()
	if err != nil {
		return nil, false, fmt.Errorf("read trace %s: header line: %w", name, err)
	}
	in.ReuseRecord = true // from here on: the header is needed for messages
	timeAt, inputAt, outputAt, clientAt := -1, -1, -1, -1
	for i, h := range header {
		switch strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff"))) {
		case "timestamp":
			timeAt, dated = i, true
		case "t_s":
			timeAt = i
		case "contexttokens", "input_tokens":
			inputAt = i
		case "generatedtokens", "output_tokens":
			outputAt = i
		case "client":
			clientAt = i
		}
	}
	if timeAt < 0 || inputAt < 0 || outputAt < 0 {
		return nil, false, fmt.Errorf("read trace %s: line 1: the columns must be TIMESTAMP, ContextTokens, GeneratedTokens or t_s, input_tokens, output_tokens (and client), not %s", name, strings.Join(header, ", "))
	}
	for {
		record, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil { // csv.ParseError says line and column
			return nil, false, fmt.Errorf("read trace %s: %w", name, err)
		}
		var r row
		at := func(field int, err error) error {
			line, column := in.FieldPos(field)
			return fmt.Errorf("read trace %s: line %d, column %d: %s: %w", name, line, column, header[field], err)
		}
		if r.at, err = parseTime(record[timeAt], dated); err != nil {
			return nil, false, at(timeAt, err)
		}
		if r.input, err = parseTokens(record[inputAt]); err != nil {
			return nil, false, at(inputAt, err)
		}
		if r.output, err = parseTokens(record[outputAt]); err != nil {
			return nil, false, at(outputAt, err)
		}
		if clientAt >= 0 {
			r.client = strings.Clone(record[clientAt])
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, false, fmt.Errorf("read trace %s: no rows", name)
	}
	return rows, dated, nil
}

func parseTime(s string, dated bool) (time.Duration, error) {
	if !dated {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= 0 && v < 1e9) {
			return 0, fmt.Errorf("%q is no number of seconds", s)
		}
		return time.Duration(v * float64(time.Second)), nil
	}
	for _, layout := range timestamps {
		if t, err := time.Parse(layout, s); err == nil {
			if t.Year() < 1970 || t.Year() > 2200 {
				return 0, fmt.Errorf("%q is not a year between 1970 and 2200", s)
			}
			return time.Duration(t.UnixNano()), nil
		}
	}
	return 0, fmt.Errorf("%q is no time such as 2023-11-16 18:17:03.9799600", s)
}

func parseTokens(s string) (int, error) {
	v, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no number of tokens", s)
	case v < 0 || v > maxTokens:
		return 0, fmt.Errorf("%d is not between 0 and %d tokens", v, maxTokens)
	}
	return v, nil
}

// clientsOf makes a tenant of each client of the traces, in the order of their first request.
func clientsOf(rows []row) []Tenant {
	var tenants []Tenant
	seen := map[string]bool{"": true}
	for _, r := range rows {
		if !seen[r.client] {
			seen[r.client] = true
			tenants = append(tenants, Tenant{Name: r.client})
		}
	}
	return tenants
}
