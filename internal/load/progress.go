package load

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is where a run stands. Counts are since its start.
type Progress struct {
	Elapsed, Duration                            time.Duration // Elapsed goes beyond Duration while the last callers are served
	Offered, OnTime, Late, Refused, Errors, Left int64
	InFlight                                     int64
}

// Bar returns a progress function for Run that draws a bar on w if w is a terminal, and else does nothing.
func Bar(w io.Writer) func(Progress) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(Progress) {}
	}
	var bar *progressbar.ProgressBar
	return func(p Progress) {
		if bar == nil {
			bar = progressbar.NewOptions64(p.Duration.Milliseconds(), progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(20),
				progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false))
		}
		bar.Describe(fmt.Sprintf("%d offered, %d on time, %d late, %d refused, %d errors, %d in flight", p.Offered, p.OnTime, p.Late, p.Refused, p.Errors, p.InFlight))
		bar.Set64(min(p.Elapsed, p.Duration).Milliseconds()) // a terminal that cannot be drawn on is no reason to stop
		if p.InFlight == 0 && p.Elapsed >= p.Duration {
			bar.Finish()
		}
	}
}

func (t *tally) progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &t.total.ended
	return Progress{Duration: t.window, Offered: t.total.offered, OnTime: e[onTime], Late: e[late], Refused: e[refused], Errors: e[failed], Left: e[left]}
}

// sampler writes what happened between two samples as lines of CSV.
type sampler struct {
	out *csv.Writer
	err error // the first
}

var sampleColumns = []string{"t", "offered", "on_time", "late", "refused", "errors", "left", "inflight", "latency_p50_s", "latency_p99_s"}

func newSampler(w io.Writer) *sampler {
	s := &sampler{out: csv.NewWriter(w)}
	s.write(sampleColumns)
	return s
}

// sample takes the counts since the last sample out of the tally and writes them. The latencies are empty if no answer
// came.
func (s *sampler) sample(t *tally, elapsed time.Duration, inFlight int64) {
	t.mu.Lock()
	g := t.sample
	t.sample = group{}
	t.mu.Unlock()
	line := []string{strconv.FormatFloat(elapsed.Seconds(), 'f', 1, 64)}
	for _, n := range []int64{g.offered, g.ended[onTime], g.ended[late], g.ended[refused], g.ended[failed], g.ended[left], inFlight} {
		line = append(line, strconv.FormatInt(n, 10))
	}
	for _, q := range []float64{50, 99} {
		text := ""
		if v := g.latency.quantile(q); v != nil {
			text = strconv.FormatFloat(*v, 'f', 6, 64)
		}
		line = append(line, text)
	}
	s.write(line)
}

func (s *sampler) write(line []string) {
	if s.err != nil {
		return
	}
	s.out.Write(line)
	s.out.Flush() // a long run is looked at while it goes on
	s.err = s.out.Error()
}
