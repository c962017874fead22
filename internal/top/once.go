package top

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/operator"
	"github.com/spillway-llm/spillway/internal/ops"
)

// Once writes a picture as text, all of it, for scripts and mails.
func Once(w io.Writer, address string, now time.Time, p *gateway.Picture, list []ops.Refused) error {
	s := newState(address, now, p)
	s.refusals = list
	t := totals(p)
	n, _ := refused(&p.Second)
	out := []string{
		fmt.Sprintf("spillway %s  up %s  %s", address, seconds(p.Uptime), p.At.Format(time.RFC3339)),
		fmt.Sprintf("slots %d/%d  waiting %d  refused/s %d  in time/s %d  worst wait %s", t.running, t.slots, t.waiting, n, p.Second.Good, t.longest()),
	}
	for _, r := range health(p, now) {
		out = append(out, "health "+r.text)
	}
	for x := range section(numSections) {
		out = append(out, "")
		out = append(out, s.table(x).text()...)
	}
	for i := range out {
		out[i] = operator.Printable(out[i])
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}
