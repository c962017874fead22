package top

import (
	"time"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/internal/operator"
)

// deed is what a key asks of the program, beyond the state.
type deed uint8

const (
	nothing deed = iota
	leave
	explain // the chosen refusal
)

const maxFilter = 64 // bytes

// press takes a key by its name, and what it types, if anything. A page turns
// by the size of the screen.
func (s *state) press(key, typed string, width, height int) deed {
	switch {
	case key == "ctrl+c":
		return leave
	case s.typing:
		s.pressFilter(key, typed)
		return nothing
	case s.help || s.page != nil:
		return s.pressPage(key, width, height-2)
	}
	switch key {
	case "q":
		return leave
	case "?":
		s.help = true
	case "h":
		s.page = &page{title: "Health at " + s.now.Format(time.TimeOnly)}
		if s.lost != nil {
			s.page.lines = append(s.page.lines, s.lost.Error())
		}
		for _, r := range health(s.picture, s.now) {
			s.page.lines = append(s.page.lines, r.text)
		}
	case "tab", "right", "l":
		s.turn(1)
	case "shift+tab", "left":
		s.turn(-1)
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "pgup":
		s.move(-height / 2)
	case "pgdown":
		s.move(height / 2)
	case "home", "g":
		s.move(-1 << 20)
	case "end", "G":
		s.move(1 << 20)
	case "s":
		s.order = (s.order + 1) % numOrders
	case "/":
		s.typing = true
	case "esc":
		s.filter = ""
	case "space":
		s.held = !s.held
	case "enter":
		if s.focus == refusals && s.chosen() != "" {
			return explain
		}
	}
	return nothing
}

func (s *state) pressFilter(key, typed string) {
	switch key {
	case "enter":
		s.typing = false
	case "esc":
		s.typing, s.filter = false, ""
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-n]
	default:
		if len(s.filter)+len(typed) <= maxFilter {
			s.filter += operator.Printable(typed)
		}
	}
}

func (s *state) pressPage(key string, width, room int) deed {
	if s.help {
		s.help = key != "esc" && key != "?" && key != "enter"
		if key == "q" {
			return leave
		}
		return nothing
	}
	switch key {
	case "q":
		return leave
	case "esc", "enter", "h":
		s.page = nil
	case "up", "k":
		s.page.scroll(-1, width, room)
	case "down", "j":
		s.page.scroll(1, width, room)
	case "pgup":
		s.page.scroll(-room, width, room)
	case "pgdown", "space":
		s.page.scroll(room, width, room)
	}
	return nothing
}
