package top

import (
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/ops"
)

// section is one part of the screen that can be looked at closely.
type section uint8

const (
	models section = iota
	tenants
	upstreams
	budgets
	refusals
	numSections = iota
)

// order is what tenants are sorted by, the highest first.
type order uint8

const (
	byRefused order = iota
	byWaiting
	byRunning
	byOffered
	byName
	numOrders = iota
)

var orderNames = [numOrders]string{"refused", "waiting", "running", "offered", "name"}

func (o order) String() string { return orderNames[o] }

// maxSeconds are kept for the curves: as many as a wide screen has columns.
const maxSeconds = 300

// state is all that a screen is made of. Only its methods change it; drawing
// does not.
type state struct {
	address  string
	now      time.Time
	picture  *gateway.Picture // never nil
	seconds  []gateway.Second // that are over, oldest first
	refusals []ops.Refused    // newest first
	unheard  string           // why refusals could not be asked for

	lost  error     // why no pictures come; nil while they do
	since time.Time // when the last one came
	again time.Time // when the gateway is asked again

	focus  section
	order  order
	picks  [numSections]pick
	filter string
	typing bool // the filter is being typed
	held   bool // pictures are not shown until it is let go
	help   bool
	page   *page // over everything else; nil: none
}

// pick is the row that somebody chose, by key, and where it was.
type pick struct {
	key string
	at  int
}

// page is a text to scroll in.
type page struct {
	title string
	lines []string
	from  int
}

func newState(address string, now time.Time, p *gateway.Picture) *state {
	return &state{address: address, now: now, since: now, picture: p, focus: tenants}
}

// show takes a new picture, and its second, which may have been seen already.
func (s *state) show(now time.Time, p *gateway.Picture) {
	s.now, s.since, s.lost = now, now, nil
	if n := len(s.seconds); p.Second.At > 0 && (n == 0 || s.seconds[n-1].At < p.Second.At) {
		s.seconds = append(s.seconds, p.Second)
	}
	if extra := len(s.seconds) - maxSeconds; extra > 0 {
		s.seconds = append(s.seconds[:0], s.seconds[extra:]...)
	}
	if !s.held {
		s.picture = p
	}
}

// patience is how long a picture is taken for the present.
const patience = 5 * time.Second

func (s *state) stale() bool { return s.lost != nil || s.now.Sub(s.since) > patience }

func (s *state) lose(now time.Time, why error, again time.Duration) {
	s.now, s.lost, s.again = now, why, now.Add(again)
}

// hear takes the last refusals, or why they are not known.
func (s *state) hear(list []ops.Refused, err error) {
	s.unheard = ""
	switch {
	case err != nil:
		s.unheard = err.Error()
	case !s.held:
		s.refusals = list
	}
}

// move goes up or down in the section that is looked at.
func (s *state) move(by int) {
	t := s.table(s.focus)
	at := max(0, min(t.at(s.picks[s.focus])+by, len(t.rows)-1))
	s.picks[s.focus] = pick{at: at}
	if at < len(t.rows) {
		s.picks[s.focus].key = t.rows[at].key
	}
}

// chosen is the key of the row that Enter is about; "" if there is none.
func (s *state) chosen() string {
	t := s.table(s.focus)
	if len(t.rows) == 0 {
		return ""
	}
	return t.rows[t.at(s.picks[s.focus])].key
}

func (s *state) turn(by int) {
	s.focus = section((int(s.focus) + by + numSections) % numSections)
}

// scroll goes up or down by so many lines, where a screen has room for some.
func (p *page) scroll(by, width, room int) {
	p.from = max(0, min(p.from+by, len(p.wrapped(width))-room))
}
