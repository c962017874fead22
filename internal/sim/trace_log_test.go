package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// A request that took 3 s and one that was refused while it ran; then lines
// that count for nothing.
const logSample = `{"@timestamp":"2026-03-01T12:00:00Z","log.level":"INFO","message":"listening","spillway.input_tokens":{"a":[]}}
{"@timestamp":"2026-03-01T12:00:02.5Z","log.level":"INFO","message":"request","http.response.status_code":429,"event.duration":500000,"http.request.body.bytes":400,"spillway.outcome":"refused","spillway.tenant":"b","spillway.model":"m","spillway.class":"batch"}
{"@timestamp":"2026-03-01T14:00:04+02:00","log.level":"INFO","message":"request","http.response.status_code":200,"event.duration":3000000000,"spillway.outcome":"answered","spillway.tenant":"a","spillway.model":"m","spillway.stream":true,"spillway.class":"interactive","spillway.input_tokens":70,"spillway.output_tokens":30}
{"@timestamp":"2026-03-01T12:00:05Z","log.level":"WARN","message":"request","event.duration":1000000000,"spillway.outcome":"cut","spillway.tenant":"a","spillway.model":"m","spillway.class":"standard","spillway.input_tokens":80,"spillway.output_tokens":12}
{"@timestamp":"2026-03-01T12:00:05Z","message":"request","event.duration":1,"spillway.outcome":"invalid"}
{"@timestamp":"2026-03-01T12:00:06Z","message":"request","event.duration":1,"spillway.outcome":"answered","spillway.attempt":1,"spillway.output_tokens":12}
{"@timestamp":"2026-03-01T12:00:07Z","message":"requ`

func TestTraceLog(t *testing.T) {
	got := mustRead(t, "spillway.log", logSample, TraceOptions{})
	want := []Arrival{
		{At: 0, Tenant: "a", Model: "m", Class: admit.Interactive, Stream: true, Input: 70, Output: 30},                // arrived 3 s before its end
		{At: 1499500 * time.Microsecond, Tenant: "b", Model: "m", Class: admit.Batch, Input: 100, Output: firstOutput}, // refused: 400 bytes, and nothing to guess by yet
		{At: 3 * time.Second, Tenant: "a", Model: "m", Class: admit.Standard, Input: 80, Output: 30},                   // cut off at 12, so guessed
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTraceLogErrors(t *testing.T) {
	const head = `{"@timestamp":"2026-03-01T12:00:00Z","message":"request","spillway.outcome":`
	for _, c := range []struct{ name, text, want string }{
		{"cut off in the middle", head + `"answ` + "\n" + head + `"refused"}`, "x:1:"},
		{"time", `{"@timestamp":"yesterday","message":"request","spillway.outcome":"refused"}`, `x:1:15: @timestamp: "yesterday" is not a time`},
		{"outcome missing", `{"@timestamp":"2026-03-01T12:00:00Z","message":"request"}`, `x:1:1: "spillway.outcome" is missing`},
		{"duration", head + `"answered","event.duration":-5}`, "x:1:105: event.duration: -5 is negative"},
		{"long duration", head + `"answered","event.duration":99999999999999999}`, "x:1:105: event.duration: 99999999999999999 nanoseconds: at most a year"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readTrace("x", c.text, TraceOptions{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
		})
	}
}

// Lengths are guessed from the tenant's own answers, in turn, else from anybody's.
func TestGuess(t *testing.T) {
	g := newGuess()
	answered := func(tenant string, output int64) { g.learn(&Arrival{Tenant: tenant, Input: 1, Output: output}) }
	ask := func(tenant string, seen int64) int64 {
		a := Arrival{Tenant: tenant, Output: seen}
		g.fill(&a)
		return a.Output
	}
	answered("a", 10)
	answered("a", 20)
	answered("b", 99)
	for i, want := range []int64{10, 20, 10} {
		if got := ask("a", 0); got != want {
			t.Errorf("guess %d of a: %d, want %d", i, got, want)
		}
	}
	if got := ask("c", 0); got != 10 {
		t.Errorf("a stranger gets %d, want 10 as anybody's first", got)
	}
	if got := ask("b", 1000); got != 1000 {
		t.Errorf("1,000 seen tokens became %d", got)
	}
}
