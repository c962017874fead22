package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// ladderMeasures are the words about ladders. WHO is a model, a class, or a
// rung, and without it all are meant.
var ladderMeasures = map[string]func(r *Result, who string, after time.Duration) (float64, error){
	"level changes":     (*Result).levelChanges,
	"level most":        (*Result).levelMost,
	"rung":              (*Result).rungShare,
	"sessions moved":    sessions(func(b *ladderBook) int64 { return b.moved }),
	"sessions returned": sessions(func(b *ladderBook) int64 { return b.returned }),
	"sessions torn":     sessions(func(b *ladderBook) int64 { return b.torn }),
}

func sessions(of func(*ladderBook) int64) func(*Result, string, time.Duration) (float64, error) {
	return func(r *Result, who string, _ time.Duration) (n float64, err error) {
		list, _, err := r.laddersOf(who)
		for _, b := range list {
			n += float64(of(b))
		}
		return n, err
	}
}

// laddersOf are the ladders of a model, or all of them with the classes meant.
func (r *Result) laddersOf(who string) (list []*ladderBook, classes []admit.Class, err error) {
	for class := range admit.Class(admit.NumClasses) {
		classes = append(classes, class)
	}
	if class, ok := admit.ParseClass(who); ok {
		who, classes = "", []admit.Class{class}
	}
	for _, b := range r.ladders {
		if who == "" || b.model == who {
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("no model %q has a ladder: add lines like \"rung trim kind=compute input=0.4x\"", who)
	}
	return list, classes, nil
}

// levelChanges is how often a level changed.
func (r *Result) levelChanges(who string, after time.Duration) (n float64, err error) {
	list, classes, err := r.laddersOf(who)
	for _, b := range list {
		for _, class := range classes {
			for _, s := range b.steps[class] {
				if !s.at.Before(epoch.Add(after)) {
					n++
				}
			}
		}
	}
	return n, err
}

// levelMost is the lowest place on the ladder, which is the highest level, from
// a time to the end of the arrivals.
func (r *Result) levelMost(who string, after time.Duration) (most float64, err error) {
	list, classes, err := r.laddersOf(who)
	end := epoch.Add(time.Duration(r.Duration * float64(time.Second)))
	for _, b := range list {
		for _, class := range classes {
			most = max(most, float64(b.level(class, epoch.Add(after))))
			for _, s := range b.steps[class] {
				if !s.at.Before(epoch.Add(after)) && !s.at.After(end) {
					most = max(most, float64(s.to))
				}
			}
		}
	}
	return most, err
}

// rungShare is the share of answers whose lowest rung was a given one, in per cent.
func (r *Result) rungShare(who string, after time.Duration) (float64, error) {
	count := func(x *rungBook) (n int64) {
		for _, c := range x.course[min(int(after/time.Second), len(x.course)):] {
			n += int64(c)
		}
		return n
	}
	var of, all int64
	var names []string
	for _, b := range r.ladders {
		all += count(&b.asked)
		for i := range b.books {
			n := count(&b.books[i])
			all += n
			ok, err := path.Match(who, b.rungs[i].Name)
			if err != nil {
				return 0, fmt.Errorf("%q: %w", who, err)
			}
			if ok || who == "" {
				of += n
			}
			names = append(names, b.rungs[i].Name)
		}
	}
	if who != "" && !slices.Contains(names, who) && !strings.ContainsAny(who, "*?[") {
		return 0, unknownWord("rung", who, names)
	}
	return percent(float64(of) / float64(max(all, 1))), nil
}

// used says that the ladder made a difference to anybody.
func (f *LadderFigures) used() bool {
	return slices.ContainsFunc(f.Rungs[1:], func(x RungFigures) bool { return x.Answers > 0 }) ||
		slices.ContainsFunc(f.Levels, func(x LevelFigures) bool { return x.Changes > 0 })
}

// rows are lines for the rungs of a ladder, and for the levels of its classes.
func (f *LadderFigures) rows() [][]string {
	rows := [][]string{{"rung", "level", "answers", "on time", "stood for", "slot time", "latency", "tokens saved"}}
	for i := range f.Rungs {
		x := &f.Rungs[i]
		rows = append(rows, []string{
			x.Name, fmt.Sprint(x.Level), fmt.Sprint(x.Answers), inPercent(float64(x.OnTime) / float64(max(x.Answers, 1))), fmt.Sprintf("%.0fs", x.StoodFor),
			fmt.Sprintf("%.2fs", x.SlotMean), fmt.Sprintf("%.2fs", x.Latency), fmt.Sprint(x.TokensSaved),
		})
	}
	return rows
}

func (f *LadderFigures) levelRows() [][]string {
	rows := [][]string{{"time at level", "0", "1", "2", "3", "changes"}}
	for _, x := range f.Levels {
		row := []string{x.Class}
		for _, h := range x.Held {
			row = append(row, inPercent(h))
		}
		rows = append(rows, append(row, fmt.Sprint(x.Changes)))
	}
	return rows
}

// ladderText is what the table says of ladders; nothing without one.
func (r *Result) ladderText() string {
	var b strings.Builder
	for i := range r.Ladders {
		f := &r.Ladders[i]
		if !f.used() {
			fmt.Fprintf(&b, "%s was asked for %.2f times what its slots can do\n", f.Model, f.Load)
			continue
		}
		fmt.Fprintf(&b, "ladder of %s, which was asked for %.2f times what its slots can do\n", f.Model, f.Load)
		writeRows(&b, f.rows())
		writeRows(&b, f.levelRows())
		if f.Moved > 0 {
			fmt.Fprintf(&b, "%d sessions moved to another model, %d returned, %d of them in the midst of a turn\n", f.Moved, f.Returned, f.Torn)
		}
	}
	return b.String()
}

// levelPlots are the levels over time, of the classes whose level changed.
func (r *Result) levelPlots() string {
	var b strings.Builder
	for _, l := range r.ladders {
		for class := range admit.Class(admit.NumClasses) {
			if len(l.steps[class]) == 0 {
				continue
			}
			b.WriteByte('\n')
			b.WriteString(drawn(fmt.Sprintf("level of %s %s", l.model, class), r.Course, admit.NumLevels-1, func(second int) float64 {
				return float64(l.level(class, epoch.Add(time.Duration(second+1)*time.Second)))
			}))
		}
	}
	return b.String()
}
