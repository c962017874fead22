package operator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-llm/spillway/internal/gateway"
)

// stream is what a gateway does to one who asks for the live picture; the
// writer is the stream of events.
type stream func(w *io.PipeWriter)

// gatewayOf answers one question after another in memory. A nil stream refuses
// the token.
type gatewayOf struct {
	t     *testing.T
	turns []stream
	asked []time.Time
}

func (g *gatewayOf) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/admin/v1/live" {
		g.t.Errorf("asked for %s", r.URL)
	}
	turn := len(g.asked)
	g.asked = append(g.asked, time.Now())
	if turn >= len(g.turns) {
		return nil, io.ErrUnexpectedEOF
	}
	if g.turns[turn] == nil {
		return &http.Response{StatusCode: 401, Status: "401 Unauthorized", Body: io.NopCloser(strings.NewReader(`{"detail":"no such token"}`))}, nil
	}
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	go g.turns[turn](w)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
}

// diary is what a watcher heard, with the time since it began.
type diary struct {
	began time.Time
	lines []string
	each  func()
}

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%ds ", int(time.Since(d.began).Seconds()))+fmt.Sprintf(format, args...))
	d.each()
}

func (d *diary) Picture(p *gateway.Picture) { d.note("picture %d", p.Active) }

func (d *diary) Lost(why error, again time.Duration) {
	if again > longestPause*3/2 {
		d.note("a pause of %s", again)
	}
	d.note("%v", why)
}

func follow(t *testing.T, until int, turns ...stream) (*diary, *gatewayOf) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := &gatewayOf{t: t, turns: turns}
	c, err := New("http://gw.example:9090", "")
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = g
	d := &diary{began: time.Now()}
	d.each = func() {
		if len(d.lines) == until {
			cancel()
		}
	}
	c.Follow(ctx, d)
	synctest.Wait()
	return d, g
}

func picture(w io.Writer, active int) {
	fmt.Fprintf(w, "event: picture\ndata: {\"active\":%d}\n\n", active)
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, g := follow(t, 8,
			func(w *io.PipeWriter) { // one that is restarted
				picture(w, 1)
				io.WriteString(w, "event: of_a_later_version\ndata: {}\n\n")
				picture(w, 2)
				w.Close()
			},
			func(w *io.PipeWriter) { // heartbeats keep it; then it hangs
				for range 3 {
					time.Sleep(10 * time.Second)
					io.WriteString(w, ": still here\n\n")
				}
				picture(w, 3)
			},
			nil, // the token is taken out of the file
			func(w *io.PipeWriter) { io.WriteString(w, "event: picture\ndata: [\n\n") },
			func(w *io.PipeWriter) { picture(w, 4) },
		)
		want := []string{
			"0s picture 1", "0s picture 2", "0s http://gw.example:9090 has ended the stream",
			"30s picture 3", "70s http://gw.example:9090 has said nothing for 40s",
			"401 Unauthorized: no such token", "read a picture of http://gw.example:9090", "picture 4",
		}
		for i, w := range want {
			if i >= len(d.lines) || !strings.Contains(d.lines[i], w) {
				t.Fatalf("line %d is not %q in\n%s", i, w, strings.Join(d.lines, "\n"))
			}
		}
		if wait := g.asked[3].Sub(g.asked[2]); wait < longestPause {
			t.Errorf("a gateway that refuses the token is asked again after %s", wait)
		}
	})
}

// A gateway that is away is asked more and more seldom, but at least every 22
// seconds: the longest pause and half of it by chance.
func TestFollowBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, g := follow(t, 20)
		first, last := g.asked[1].Sub(g.asked[0]), g.asked[19].Sub(g.asked[18])
		if first > time.Second || last < longestPause/2 || last > longestPause*3/2 {
			t.Errorf("the first pause is %s, the last %s", first, last)
		}
	})
}
