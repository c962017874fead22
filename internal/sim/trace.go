package sim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// TraceOptions say what a trace does not say itself, and which part of it to
// take. The zero value takes all of it as it is.
type TraceOptions struct {
	Tenant   string        // of rows without one; in front of the number where clients are numbered. Default: conv or code from the file's name, else "trace"
	Model    string        // of rows without one
	Class    admit.Class   // of rows without one
	From     time.Duration // skips what comes before it, in the trace's own time
	Duration time.Duration // of the trace's own time; 0 goes on to its end
	Speed    float64       // all gaps are divided by it: 2 is twice the load. Default 1
	Seed     uint64        // of everything drawn
	Tenants  int           // spreads rows without a tenant over as many at random: NAME-0, NAME-1, ... Default 1

	Compress   float64 // ServeGen: windows pass so many times faster, at their own rates. Default 1
	MaxTenants int     // ServeGen: only the clients with the most requests in the part taken; 0 takes all
}

// Trace reads recorded traffic. The format shows in the first line:
//
//   - Azure CSV: TIMESTAMP,ContextTokens,GeneratedTokens
//   - VTC/LMSYS CSV: req_id,client,t_s,input_tokens,output_tokens
//   - CSV with a header, or JSON lines, of t,tenant,model,class,input,output,
//     deadline,stream,max_output, of which t, input and output are needed
//   - the gateway's request log
//   - a dump of its flight recorder
//
// Each may be compressed with gzip. name stands in errors, which read
// "name:line:column: what is wrong".
//
// Times of day become times from the first arrival; Merge keeps the distance
// of such traces. Rows may be out of order by as much as the window of their
// format (1,000 rows; of the log 262,144, for its lines are in order of the
// end), else the trace is in error. It is read as it is used, in memory that
// does not grow with it.
func Trace(name string, r io.Reader, o TraceOptions) (Source, error) {
	if err := o.fill(name); err != nil {
		return nil, err
	}
	l, err := newLines(name, r)
	if err != nil {
		return nil, err
	}
	rows, window, err := detect(l, &o)
	if err != nil {
		return nil, err
	}
	t, err := newTrace(rows, window, l, &o)
	if err != nil {
		return nil, err
	}
	return o.part(t), nil
}

// part applies From, Duration and Speed.
func (o *TraceOptions) part(s Source) Source {
	if o.From > 0 || o.Duration > 0 {
		s = Section(s, o.From, o.Duration)
	}
	if o.Speed != 1 {
		s = Stretch(s, 1/o.Speed)
	}
	return s
}

const maxSpread = 100_000 // tenants

// fill sets the defaults and checks the rest.
func (o *TraceOptions) fill(name string) error {
	orOne := func(v *float64) bool {
		if *v == 0 {
			*v = 1
		}
		return *v > 0 && !math.IsInf(*v, 0) && !math.IsInf(1 / *v, 0)
	}
	switch {
	case o.From < 0:
		return fmt.Errorf("%s: from %v is before the start", name, o.From)
	case o.Duration < 0:
		return fmt.Errorf("%s: duration %v is negative", name, o.Duration)
	case !orOne(&o.Speed):
		return fmt.Errorf("%s: speed %v is not above zero", name, o.Speed)
	case !orOne(&o.Compress):
		return fmt.Errorf("%s: compress %v is not above zero", name, o.Compress)
	case o.Tenants < 0 || o.Tenants > maxSpread:
		return fmt.Errorf("%s: %d tenants is not from 1 to %d", name, o.Tenants, maxSpread)
	case o.MaxTenants < 0:
		return fmt.Errorf("%s: at most %d tenants is negative", name, o.MaxTenants)
	}
	return nil
}

// spread is the tenants of rows without one.
func (o *TraceOptions) spread(name string) []string {
	tenant := o.Tenant
	if tenant == "" {
		base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
		switch {
		case strings.Contains(base, "conv"):
			tenant = "conv"
		case strings.Contains(base, "code"):
			tenant = "code"
		default:
			tenant = "trace"
		}
	}
	if o.Tenants <= 1 {
		return []string{tenant}
	}
	names := make([]string, o.Tenants)
	for i := range names {
		names[i] = tenant + "-" + strconv.Itoa(i)
	}
	return names
}

// rowReader gives the rows of one format as they stand in the file, with At in
// the file's own time. It ends with io.EOF.
type rowReader interface {
	next(a *Arrival) error
}

// The windows within which rows may be out of order, in rows.
const (
	rowWindow = 1_000
	logWindow = 1 << 18
)

// detect looks at the first line.
func detect(l *lines, o *TraceOptions) (rowReader, int, error) {
	first, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("%s: the trace is empty", l.name)
	}
	if err != nil {
		return nil, 0, err
	}
	if first[0] != '{' {
		rows, err := newCSVRows(l, first, o)
		return rows, rowWindow, err
	}
	l.again = true
	j := newFlat(l)
	switch {
	case j.has(first, "@timestamp"):
		return newLogRows(j, o), logWindow, nil
	case j.has(first, "kind"):
		return newDumpRows(l, o), rowWindow, nil
	default:
		return &jsonRows{flat: j, cells: newCells(plainFormat, o)}, rowWindow, nil
	}
}
