package top

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
)

// pressAll presses keys one after another; those of one letter type it, too.
func pressAll(s *state, keys ...string) (last deed) {
	for _, k := range keys {
		typed := ""
		if len([]rune(k)) == 1 {
			typed = k
		}
		last = s.press(k, typed, 80, 24)
	}
	return last
}

// first are the keys of the first rows of a section.
func first(s *state, x section, n int) string {
	var keys []string
	for _, r := range s.table(x).rows {
		if len(keys) < n {
			keys = append(keys, r.key)
		}
	}
	return strings.Join(keys, " ")
}

func TestSort(t *testing.T) {
	s := busy()
	s.picture.Tenants[9].Waiting, s.picture.Tenants[9].Running, s.picture.Tenants[8].Offered = 50, 1, 90
	for _, want := range []string{
		"tenant-007 tenant-042", // by refused
		"tenant-009 tenant-007", // waiting
		"tenant-007 tenant-042", // running: 6, then 2 of many, of whom 042 was refused
		"tenant-008 tenant-007", // offered
		"tenant-000 tenant-001", // name
		"tenant-007 tenant-042", // and again from the start
	} {
		if got := first(s, tenants, 2); got != want {
			t.Errorf("by %s: %s, want %s", s.order, got, want)
		}
		pressAll(s, "s")
	}
}

func TestFilter(t *testing.T) {
	s := busy()
	pressAll(s, "/", "T", "-", "0", "q", "backspace", "0", "7", "enter") // q is typed here, and the case does not matter
	if s.filter != "T-007" || s.typing || first(s, tenants, 9) != "tenant-007" {
		t.Errorf("filter %q, typing %v: %s", s.filter, s.typing, first(s, tenants, 9))
	}
	pressAll(s, "esc")
	if s.filter != "" || len(s.table(tenants).rows) != 200 {
		t.Errorf("Esc leaves %q", s.filter)
	}
	pressAll(s, "/", "backspace", "東", "backspace")
	if s.filter != "" {
		t.Errorf("backspace leaves %q of a wide letter", s.filter)
	}
	pressAll(s, "esc", "/")
	for range 100 {
		pressAll(s, "x")
	}
	if len(s.filter) != maxFilter || s.chosen() != "" {
		t.Errorf("%d letters, %q is chosen of nothing", len(s.filter), s.chosen())
	}
	if pressAll(s, "ctrl+c") != leave {
		t.Error("Ctrl-C does not quit while a filter is typed")
	}
}

// A row stays picked when others come before it. When it goes, the one in its
// place is.
func TestPick(t *testing.T) {
	s := busy()
	s.focus = refusals
	pressAll(s, "down", "down")
	if s.chosen() != "req_02" {
		t.Fatalf("%s is chosen", s.chosen())
	}
	later := busy().refusals
	for i := range later {
		later[i].RequestID = "later_" + later[i].RequestID
	}
	s.hear(append(later[:3:3], s.refusals...), nil)
	if s.chosen() != "req_02" || pressAll(s, "enter") != explain {
		t.Errorf("%s is chosen after three new ones", s.chosen())
	}
	s.hear(later, nil)
	if s.chosen() != "later_req_02" {
		t.Errorf("%s is chosen when it is gone", s.chosen())
	}
	pressAll(s, "end", "down")
	if s.chosen() != "later_req_11" {
		t.Errorf("%s is the last", s.chosen())
	}
	if pressAll(s, "tab", "enter") != nothing { // models have nothing to explain
		t.Error("Enter on a model does something")
	}
	if pressAll(s, "shift+tab"); s.focus != refusals {
		t.Errorf("back at %d", s.focus)
	}
}

// A held picture stays, and the curves go on behind it.
func TestHold(t *testing.T) {
	s := busy()
	held, seconds := s.picture, len(s.seconds)
	later := func(n int) *gateway.Picture {
		return &gateway.Picture{At: t0.Add(time.Duration(n) * time.Second), Second: gateway.Second{At: t0.Unix() + int64(n)}}
	}
	pressAll(s, "space")
	s.show(t0.Add(time.Second), later(1))
	if s.picture != held || s.seconds[len(s.seconds)-1].At != t0.Unix()+1 {
		t.Error("a held picture goes on, or its curves do not")
	}
	pressAll(s, "space")
	s.show(t0.Add(2*time.Second), later(2))
	s.show(t0.Add(2*time.Second), later(2)) // the first event of a new stream tells the same second again
	if s.picture == held || len(s.seconds) != seconds || s.seconds[len(s.seconds)-2].At != t0.Unix()+1 {
		t.Errorf("%d seconds, want the last %d, each once", len(s.seconds), seconds)
	}
}

// A gateway that is away is said to be, with the remedy in full under h; with
// the next picture it is over.
func TestStale(t *testing.T) {
	s := busy()
	s.lose(t0.Add(time.Second), errors.New("away; "+strings.Repeat("look ", 30)+"there"), 3*time.Second)
	if text := draw(s, 80, 24); !strings.Contains(text, "STALE since 14:03:22, asked again in 3.0s") {
		t.Errorf("nothing is said in %s", text)
	}
	pressAll(s, "h")
	if text := draw(s, 80, 24); !strings.Contains(text, "there") {
		t.Errorf("the remedy is cut in %s", text)
	}
	pressAll(s, "esc")
	s.show(t0.Add(4*time.Second), busy().picture)
	if text := draw(s, 80, 24); strings.Contains(text, "STALE") || strings.Contains(text, "away") {
		t.Errorf("it is not over in %s", text)
	}
	s.now = t0.Add(10 * time.Second) // no picture for six seconds, but nobody has said why
	if text := draw(s, 80, 24); !strings.Contains(text, "STALE since 14:03:26, still connected") || !strings.Contains(text, "health was") {
		t.Errorf("nothing is said of the silence in %s", text)
	}
}

func TestPageScrolls(t *testing.T) {
	s := busy()
	s.page = &page{title: "long", lines: strings.Split(strings.Repeat("x\n", 49)+"end", "\n")}
	if pressAll(s, "up"); s.page.from != 0 {
		t.Errorf("above the first line: %d", s.page.from)
	}
	pressAll(s, "pgdown", "pgdown", "pgdown", "down")
	if text := draw(s, 80, 24); s.page.from != 28 || !strings.Contains(text, "end") || !strings.Contains(text, "lines 29 to 50 of 50") {
		t.Errorf("at %d in %s", s.page.from, text)
	}
	if pressAll(s, "enter"); s.page != nil {
		t.Error("Enter does not close it")
	}
	if pressAll(s, "?", "q") != leave {
		t.Error("q does not quit from help")
	}
}
