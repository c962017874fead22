package sim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// ServeGen draws arrivals from the windows that a ServeGen workload was
// measured in: rates has columns client,t_s,rate_rps,iat_cv,iat_dist,p1,p2 with
// windows of 600 s, lengths has client,t_s,field,mean,p50,...,max,... with
// windows of six hours. Either may be compressed with gzip.
//
// A client is a tenant. In each of its windows the arrivals are a stationary
// renewal process of the window's rate, whose gaps follow the window's law:
// Gamma or Weibull of the shape p1, or exponential. Lengths are log-normal, as
// wide as the measured mean and median say, cut off at the measured maximum,
// and of the measured mean after that. Clients
// without lengths take those of others in turn.
//
// A window's arrivals depend on the seed, the client and the window alone, so
// that a section of the trace has the same ones as the whole. The windows are
// held in memory, the arrivals are not.
func ServeGen(name string, rates, lengths io.Reader, o TraceOptions) (Source, error) {
	if err := o.fill(name); err != nil {
		return nil, err
	}
	clients, err := readRates(name, rates, &o)
	if err != nil {
		return nil, err
	}
	all, err := readLengths(name+" lengths", lengths)
	if err != nil {
		return nil, err
	}
	if len(all.order) == 0 {
		return nil, fmt.Errorf("%s lengths: no client", name)
	}
	lent := 0
	for _, c := range clients {
		if c.lengths = all.by[c.name]; c.lengths == nil {
			c.lengths = all.by[all.order[lent%len(all.order)]]
			lent++
		}
	}
	s := Source(newServeGen(biggest(clients, o.MaxTenants), &o))
	if o.Speed != 1 {
		s = Stretch(s, 1/o.Speed)
	}
	return s, nil
}

// The windows of the two files.
const (
	rateSpan   = 600 * time.Second
	lengthSpan = 6 * time.Hour
)

// Bounds of what the files may say.
const (
	maxClients = 1 << 16
	maxWindows = 1 << 22
	maxRate    = 1e6 // requests a second, of one client
)

// rateWindow is a client's arrivals for a rateSpan.
type rateWindow struct {
	at   time.Duration // in the file's time
	rate float64       // requests a second
	law  gapLaw
}

var rateColumns = []string{"client", "t_s", "rate_rps", "iat_dist", "p1"}

// readRates keeps the windows with arrivals that touch the part asked for. The
// clients come in the order of the file.
func readRates(name string, r io.Reader, o *TraceOptions) ([]*genClient, error) {
	var clients []*genClient
	by := map[string]*genClient{}
	windows := 0
	err := readTable(name, r, rateColumns, func(t *genTable) error {
		at, rate := t.seconds(1), t.number(2)
		if t.err != nil {
			return nil
		}
		c := by[string(t.cell(0))]
		if c == nil {
			if len(clients) >= maxClients {
				return fmt.Errorf("more than %d clients", maxClients)
			}
			c = &genClient{name: string(t.cell(0)), last: -rateSpan}
			by[c.name] = c
			clients = append(clients, c)
		}
		if at < c.last+rateSpan {
			return fmt.Errorf("the window at %v of client %s is less than %v after the one at %v", at, c.name, rateSpan, c.last)
		}
		c.last = at
		if rate == 0 || at+rateSpan <= o.From || o.Duration > 0 && at >= o.From+o.Duration {
			return nil
		}
		if windows++; windows > maxWindows {
			return fmt.Errorf("more than %d windows", maxWindows)
		}
		if rate > maxRate {
			return fmt.Errorf("%v requests a second: at most %v", rate, maxRate)
		}
		law, err := parseLaw(string(t.cell(3)), t.number(4))
		c.windows = append(c.windows, rateWindow{at, rate, law})
		c.total += rate
		return err
	})
	return clients, err
}

// biggest keeps the n clients with the most requests, in the order of the file.
func biggest(clients []*genClient, n int) []*genClient {
	clients = slices.DeleteFunc(clients, func(c *genClient) bool { return len(c.windows) == 0 })
	if n == 0 || len(clients) <= n {
		return clients
	}
	order := slices.Clone(clients)
	slices.SortStableFunc(order, func(a, b *genClient) int { return cmp.Compare(b.total, a.total) })
	least := map[*genClient]bool{}
	for _, c := range order[n:] {
		least[c] = true
	}
	return slices.DeleteFunc(clients, func(c *genClient) bool { return least[c] })
}

// lengthWindow is a client's lengths for a lengthSpan.
type lengthWindow struct {
	at     time.Duration
	input  []lengthLaw // they add up: text, images, sound
	output lengthLaw
}

// lengthTable is the windows by client, and the clients in the order of the file.
type lengthTable struct {
	by    map[string][]lengthWindow
	order []string
}

var lengthColumns = []string{"client", "t_s", "field", "mean", "p50", "p95", "max"}

func readLengths(name string, r io.Reader) (lengthTable, error) {
	l := lengthTable{by: map[string][]lengthWindow{}}
	windows := 0
	err := readTable(name, r, lengthColumns, func(t *genTable) error {
		at, law := t.seconds(1), newLengthLaw(t.number(3), t.number(4), t.number(5), t.number(6))
		if t.err != nil {
			return nil
		}
		client := string(t.cell(0))
		ws, known := l.by[client]
		if !known {
			l.order = append(l.order, client)
		}
		if n := len(ws); n == 0 || ws[n-1].at < at {
			if windows++; windows > maxWindows {
				return fmt.Errorf("more than %d windows", maxWindows)
			}
			ws = append(ws, lengthWindow{at: at})
		}
		w := &ws[len(ws)-1]
		if w.at != at {
			return fmt.Errorf("the window at %v of client %s comes after the one at %v", at, client, w.at)
		}
		switch string(t.cell(2)) {
		case "input_tokens", "text_tokens", "image_tokens", "audio_tokens", "video_tokens":
			w.input = append(w.input, law)
		case "output_tokens":
			w.output = law
		}
		l.by[client] = ws
		return nil
	})
	return l, err
}

// genTable is the present row of a CSV of which some columns count.
type genTable struct {
	lines   *lines
	row     csvLine
	columns []int // of the cells that count
	names   []string
	err     error // of the first bad cell of the row
}

// readTable gives every row to f.
func readTable(name string, r io.Reader, columns []string, f func(*genTable) error) error {
	l, err := newLines(name, r)
	if err != nil {
		return err
	}
	header, err := l.next()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the trace is empty", name)
	}
	if err != nil {
		return err
	}
	t := &genTable{lines: l, names: columns}
	if err := t.row.split(l, header); err != nil {
		return err
	}
	width := len(t.row.cells)
	for _, c := range columns {
		i := slices.IndexFunc(t.row.cells, func(b []byte) bool { return string(b) == c })
		if i < 0 {
			return l.fail(0, "column %q is missing", c)
		}
		t.columns = append(t.columns, i)
	}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.row.split(l, line); err != nil {
			return err
		}
		if err := t.row.check(l, width); err != nil {
			return err
		}
		t.err = nil
		err = f(t)
		if t.err != nil {
			return t.err
		}
		if err != nil {
			return l.fail(0, "%w", err)
		}
	}
}

func (t *genTable) cell(i int) []byte { return t.row.cells[t.columns[i]] }

func (t *genTable) seconds(i int) time.Duration {
	d, err := seconds(t.cell(i))
	if err == nil && d >= dated {
		err = fmt.Errorf("%v is not a time from the start", d)
	}
	t.note(i, err)
	return d
}

// number is a number from 0 to maxTokens.
func (t *genTable) number(i int) float64 {
	v, err := decimal(t.cell(i))
	if err == nil && v > maxTokens {
		err = fmt.Errorf("%.80s: at most %d", t.cell(i), maxTokens)
	}
	t.note(i, err)
	return v
}

func (t *genTable) note(i int, err error) {
	if err != nil && t.err == nil {
		t.err = t.lines.fail(t.row.start[t.columns[i]], "%s: %w", t.names[i], err)
	}
}
