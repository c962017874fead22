package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/operator"
)

const (
	leastWidth, leastHeight = 40, 8
	wide                    = 140 // columns from which two halves stand side by side
	between                 = 2   // columns between them
)

// draw makes the screen of a state, in exactly so many lines of so many
// columns. It changes nothing.
func draw(s *state, width, height int) string {
	var lines []string
	switch {
	case width < leastWidth || height < leastHeight:
		lines = []string{words(fmt.Sprintf("%d by %d is too small; at least %d by %d", width, height, leastWidth, leastHeight)).fit(width)}
	case s.help:
		lines = drawPage(&page{title: "Keys and words", lines: strings.Split(helpText, "\n")}, width, height)
	case s.page != nil:
		lines = drawPage(s.page, width, height)
	default:
		lines = drawPicture(s, width, height)
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", max(width, 0)))
	}
	return strings.Join(lines[:max(height, 0)], "\n")
}

func drawPicture(s *state, width, height int) []string {
	var lines []string
	for _, l := range headline(s, width, height) {
		lines = append(lines, l.fit(width))
	}
	room := height - len(lines) - 1
	if width >= wide {
		half := (width - between) / 2
		left, right := s.column(half, room, models, upstreams, budgets), s.column(width-between-half, room, tenants, refusals)
		for i := range room {
			lines = append(lines, left[i]+strings.Repeat(" ", between)+right[i])
		}
	} else {
		lines = append(lines, s.column(width, room, models, tenants, upstreams, budgets, refusals)...)
	}
	return append(lines, s.foot().fit(width))
}

// headline is the gateway in a few lines: figures, health in words, the last
// minutes as curves.
func headline(s *state, width, height int) []line {
	p, t := s.picture, totals(s.picture)
	n, _ := refused(&p.Second)
	refusing := plain
	if n > 0 {
		refusing = alarm
	}
	out := []line{
		s.title(),
		{{"slots ", plain}, {fmt.Sprintf("%d/%d", t.running, t.slots), strong}, {"  waiting ", plain}, {fmt.Sprint(t.waiting), strong}, {"  refused/s ", plain}, {fmt.Sprint(n), refusing},
			{"  in time/s ", plain}, {fmt.Sprint(p.Second.Good), strong}, {"  worst wait ", plain}, {t.longest(), strong}},
	}
	all := health(p, s.now)
	name, shown := "health ", 1
	if s.stale() {
		name = "health was: "
	}
	if height >= 40 {
		shown = min(len(all), 4)
	}
	for i, r := range all[:shown] {
		tail := ""
		if more := len(all) - shown; i == shown-1 && more > 0 {
			tail = fmt.Sprintf("  +%d: h", more)
		}
		out = append(out, line{{name, plain}, {cut(r.text, width-len(name)-len(tail)), r.ink}, {tail, plain}})
	}
	if height >= 20 {
		out = append(out, curves(s.seconds, width)...)
	}
	return out
}

func (s *state) title() line {
	_, place, _ := strings.Cut(s.address, "://")
	l := line{{"spillway ", strong}, {place + "  ", plain}}
	at := s.picture.At.In(s.now.Location()).Format(time.TimeOnly)
	switch {
	case s.lost != nil:
		again := "asked again now"
		if left := s.again.Sub(s.now); left > 0 {
			again = "asked again in " + seconds(left.Seconds())
		}
		return append(l, span{"STALE since " + s.since.Format(time.TimeOnly) + ", " + again, alarm})
	case s.stale():
		return append(l, span{"STALE since " + s.since.Format(time.TimeOnly) + ", still connected", alarm})
	case s.held:
		return append(l, span{"HELD at " + at + ", space lets it go on", warn})
	}
	return append(l, span{"up " + seconds(s.picture.Uptime) + "  " + at, plain})
}

// curves are of decisions: what came in, what was turned away.
func curves(list []gateway.Second, width int) []line {
	var offered, turned []float64
	top, most := int64(0), int64(0)
	const name = len("refused 9999 ")
	list = list[max(0, len(list)-(width-name)):]
	for i := range list {
		n, _ := refused(&list[i])
		offered, turned = append(offered, float64(list[i].Offered)), append(turned, float64(n))
		top, most = max(top, list[i].Offered), max(most, n)
	}
	return []line{
		{{pad(fmt.Sprintf("offered %d", top), name, false), plain}, {curve(offered, width-name), good}},
		{{pad(fmt.Sprintf("refused %d", most), name, false), plain}, {curve(turned, width-name), alarm}},
	}
}

// foot says which keys there are, or what is being typed, or why nothing comes.
func (s *state) foot() line {
	switch {
	case s.typing:
		return line{{"filter: ", strong}, {s.filter, plain}, {"_", strong}, {"   Enter keeps it, Esc clears it", plain}}
	case s.lost != nil:
		return line{{s.lost.Error(), alarm}}
	}
	l := words("q quit  ? help  Tab section  s sort  / filter  h health  space hold")
	if s.filter != "" {
		return append(line{{"filter: " + s.filter, warn}, {" (Esc clears)  ", plain}}, l...)
	}
	if s.focus == refusals {
		return append(line{{"Enter explain  ", strong}}, l...)
	}
	return l
}

// column stacks sections in a height. Each has its head and, if it goes, a row;
// what is left is given to the section that is looked at first, up to half, and
// then to all in turn.
func (s *state) column(width, height int, which ...section) []string {
	tables := make([]*table, len(which))
	for i, x := range which {
		tables[i] = s.table(x)
	}
	share := shares(tables, which, s.focus, height)
	var lines []string
	for i, t := range tables {
		var p *pick
		if which[i] == s.focus {
			p = &s.picks[s.focus]
		}
		lines = append(lines, t.lines(width, share[i], p)...)
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines[:height]
}

// shares says how many lines each of some tables gets.
func shares(tables []*table, which []section, focus section, height int) []int {
	share, want := make([]int, len(tables)), make([]int, len(tables))
	give := func(i, n int) {
		n = max(0, min(n, want[i]-share[i], height))
		share[i], height = share[i]+n, height-n
	}
	for i, t := range tables {
		want[i] = 1 + max(1, len(t.rows))
	}
	for i := range tables {
		if which[i] == focus {
			give(i, 2)
		}
	}
	for i := range tables {
		give(i, 2-share[i])
	}
	for i := range tables {
		if which[i] == focus {
			give(i, height/2)
		}
	}
	for before := -1; before != height; {
		before = height
		for i := range tables {
			give(i, 1)
		}
	}
	return share
}

func drawPage(p *page, width, height int) []string {
	lines := []string{line{{pad(p.title, width, false), picked}}.fit(width)}
	room := height - 2
	all := p.wrapped(width)
	from := max(0, min(p.from, len(all)-room))
	for _, text := range all[from:min(from+room, len(all))] {
		lines = append(lines, words(text).fit(width))
	}
	for len(lines) < height-1 {
		lines = append(lines, strings.Repeat(" ", width))
	}
	foot := "Esc back  q quit"
	if len(all) > room {
		foot = fmt.Sprintf("lines %d to %d of %d  ↑↓ PgUp PgDn more  Esc back  q quit", from+1, min(from+room, len(all)), len(all))
	}
	return append(lines, words(foot).fit(width))
}

// wrapped are the lines of a page, none wider than the screen.
func (p *page) wrapped(width int) (out []string) {
	for _, text := range p.lines {
		out = append(out, strings.Split(ansi.Wrap(operator.Printable(text), width, ""), "\n")...)
	}
	return out
}
