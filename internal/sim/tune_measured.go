package sim

import (
	"errors"
	"io"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Measured is how long the good calls of each deployment took on average, if
// the trace is a recording of a gateway; of any other it is empty. What
// Trace refuses is not looked for here: the end of what can be read is the end.
func Measured(name string, r io.Reader) (map[string]time.Duration, error) {
	l, err := newLines(name, r)
	if err != nil {
		return nil, err
	}
	type sum struct {
		total time.Duration
		n     time.Duration
	}
	type begun struct {
		deployment string
		at         time.Time
	}
	sums, running := map[string]sum{}, map[admit.ID]begun{}
	recording := newFlat(l)
	for first := true; ; first = false {
		text, err := l.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil || first && (text[0] != '{' || !recording.has(text, "kind")) {
			break
		}
		var x struct {
			At       time.Time `json:"at"`
			Kind     string    `json:"kind"`
			ID       admit.ID  `json:"id"`
			Decision *struct {
				ID         admit.ID
				Verdict    string
				Deployment string
			} `json:"decision"`
			Outcome *struct{ OK bool } `json:"outcome"`
		}
		if json.Unmarshal(text, &x) != nil {
			break // its writer did not finish it
		}
		switch d := x.Decision; {
		case d != nil && d.Verdict == admit.Run.String():
			running[d.ID] = begun{d.Deployment, x.At}
		case x.Kind == "finish" && x.Outcome != nil:
			b, known := running[x.ID]
			delete(running, x.ID)
			if known && x.Outcome.OK {
				s := sums[b.deployment]
				sums[b.deployment] = sum{s.total + x.At.Sub(b.at), s.n + 1}
			}
		}
	}
	means := map[string]time.Duration{}
	for d, s := range sums {
		means[d] = s.total / s.n
	}
	return means, nil
}
