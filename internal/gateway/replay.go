package gateway

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// Replayed is what a replay went through.
type Replayed struct {
	Events    int // told to the core
	Requests  int
	Decisions int
	From, To  time.Time
	Cut       bool // the last line was not written to its end, and was left out
}

// ErrNotWhole is in the error of a recording that cannot be replayed because
// events are missing: what the core knew from them nobody can tell.
var ErrNotWhole = errors.New("the recording is not whole")

// Difference is where a replay parts from its recording.
type Difference struct {
	Event    int // number among the events told to the core, from 1
	At       time.Time
	Kind     telemetry.EventKind // of the event
	ID       admit.ID            // of the request it is about; 0 for none
	Fields   []string            // of the decision that differ; empty if one of them is missing
	Recorded *admit.Decision     // nil: the recording has none here
	Replayed *admit.Decision     // nil: the core gave none
	AtEnd    bool                // of the recording, which may only end too early
}

func (d *Difference) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "event %d (%s at %s", d.Event, d.Kind, d.At.Format(time.RFC3339Nano))
	if d.ID != 0 {
		fmt.Fprintf(&b, ", request %d", d.ID)
	}
	b.WriteString("): ")
	switch {
	case d.AtEnd:
		b.WriteString("the recording ends before a decision that the core gives")
	case d.Recorded == nil:
		b.WriteString("a decision that was not recorded")
	case d.Replayed == nil:
		b.WriteString("a decision was recorded that the core does not give")
	default:
		fmt.Fprintf(&b, "the decision differs in %s", strings.Join(d.Fields, ", "))
	}
	if d.Recorded != nil {
		fmt.Fprintf(&b, "\n  recorded: %s", words(d.Recorded))
	}
	if d.Replayed != nil {
		fmt.Fprintf(&b, "\n  replayed: %s", words(d.Replayed))
	}
	return b.String()
}

// Replay tells a fresh core the events of a recording and compares its
// decisions with those recorded, in every field. An error is a *Difference,
// wraps ErrNotWhole, or says what is wrong with the lines; what was replayed
// before it is told in any case.
func Replay(r io.Reader) (Replayed, error) {
	p := replay{in: telemetry.NewDumpReader(r)}
	for {
		e, err := p.in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return p.done, p.answered(true)
		case errors.Is(err, telemetry.ErrCut):
			p.done.Cut = true
			return p.done, nil // the last event may lack decisions
		case err != nil:
			return p.done, err
		}
		if err := p.take(&e); err != nil {
			return p.done, err
		}
	}
}

type replay struct {
	in    *telemetry.DumpReader
	core  *admit.Controller
	seed  *telemetry.Seed
	event telemetry.Event  // the last that was told
	given []admit.Decision // in answer to it, not yet met in the recording
	done  Replayed
}

func (p *replay) take(e *telemetry.Event) error {
	switch {
	case e.Kind == telemetry.EventLost:
		return p.lost(e)
	case e.Kind == telemetry.EventStart:
		if p.seed != nil {
			return fmt.Errorf("event %d: a second start; replay the recordings of two processes one by one", p.done.Events+1)
		}
		p.seed = &e.Seed
		return nil
	case p.seed == nil:
		return fmt.Errorf("%w: it does not begin with the start of the gateway", ErrNotWhole)
	case e.Kind == telemetry.EventDecision:
		return p.compare(&e.Decision)
	}
	if err := p.answered(false); err != nil {
		return err
	}
	return p.tell(e)
}

func (p *replay) lost(e *telemetry.Event) error {
	where := fmt.Sprintf("after event %d", p.done.Events)
	if p.done.Events == 0 {
		where = "at the beginning"
	}
	return fmt.Errorf("%w: %d events are missing %s", ErrNotWhole, e.Lost, where)
}

// tell gives the core one event. The core keeps its answer until the next.
func (p *replay) tell(e *telemetry.Event) (err error) {
	p.done.Events++
	p.event = *e
	if p.done.Events == 1 {
		p.done.From = e.At
	}
	p.done.To = e.At
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("event %d (%s at %s): the core panics: %v", p.done.Events, e.Kind, e.At.Format(time.RFC3339Nano), r)
		}
	}()
	if p.core == nil {
		if e.Kind != telemetry.EventConfigure {
			return fmt.Errorf("event %d: %s before the first policy", p.done.Events, e.Kind)
		}
		p.core = newCore(e.At, e.Policy, *p.seed)
		return nil
	}
	switch e.Kind {
	case telemetry.EventOffer:
		p.done.Requests++
		p.given = p.core.Offer(e.At, e.Request)
	case telemetry.EventFirstByte:
		p.core.FirstByte(e.At, e.ID)
	case telemetry.EventFinish:
		p.given = p.core.Finish(e.At, e.ID, e.Outcome)
	case telemetry.EventCancel:
		p.given = p.core.Cancel(e.At, e.ID)
	case telemetry.EventObserve:
		p.given = p.core.Observe(e.At, e.Deployment, e.Key, e.Sample)
	case telemetry.EventRestore:
		p.core.Restore(e.At, e.Deposits)
	case telemetry.EventTick:
		p.given = p.core.Tick(e.At)
	case telemetry.EventConfigure:
		p.given = p.core.Configure(e.At, e.Policy)
	}
	return nil
}

func (p *replay) compare(recorded *admit.Decision) error {
	if len(p.given) == 0 {
		return p.difference(recorded, nil)
	}
	replayed := &p.given[0]
	if *recorded != *replayed {
		return p.difference(recorded, replayed)
	}
	p.done.Decisions++
	p.given = p.given[1:]
	return nil
}

// answered checks that the recording has all decisions on the last event.
func (p *replay) answered(atEnd bool) error {
	if len(p.given) == 0 {
		return nil
	}
	d := p.difference(nil, &p.given[0])
	d.AtEnd = atEnd
	return d
}

func (p *replay) difference(recorded, replayed *admit.Decision) *Difference {
	d := &Difference{Event: p.done.Events, At: p.event.At, Kind: p.event.Kind, ID: max(p.event.ID, p.event.Request.ID), Recorded: recorded, Replayed: replayed}
	for _, x := range []*admit.Decision{recorded, replayed} {
		if d.ID == 0 && x != nil {
			d.ID = x.ID
		}
	}
	if recorded != nil && replayed != nil {
		d.Fields = differing(recorded, replayed)
	}
	return d
}

func differing(a, b *admit.Decision) (names []string) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"request", a.ID == b.ID}, {"verdict", a.Verdict == b.Verdict}, {"stage", a.Stage == b.Stage}, {"deployment", a.Deployment == b.Deployment},
		{"key", a.Key == b.Key}, {"model", a.Model == b.Model},
		{"wait", a.Wait == b.Wait}, {"need", a.Need == b.Need}, {"retry after", a.RetryAfter == b.RetryAfter}, {"no retry", a.NoRetry == b.NoRetry},
		{"observed", a.Observed == b.Observed}, {"limit", a.Limit == b.Limit}, {"figure", a.Figure == b.Figure}, {"bound", a.Bound == b.Bound},
		{"rungs", a.Rungs == b.Rungs},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

// words are a decision in one line, without what is zero.
func words(d *admit.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "request %d: %s by %s", d.ID, d.Verdict, d.Stage)
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"wait", d.Wait}, {"need", d.Need}, {"retry after", d.RetryAfter}} {
		if f.d != 0 {
			fmt.Fprintf(&b, ", %s %s", f.name, f.d)
		}
	}
	if d.Deployment != "" {
		fmt.Fprintf(&b, ", to %s", d.Deployment)
	}
	if d.Limit != "" {
		fmt.Fprintf(&b, ", %s: %d of %d", d.Limit, d.Figure, d.Bound)
	}
	if d.NoRetry {
		b.WriteString(", no retry")
	}
	if d.Observed {
		b.WriteString(", observed")
	}
	return b.String()
}
