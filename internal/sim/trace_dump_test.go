package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

const dumpSample = `{"at":"2026-03-01T12:00:00Z","kind":"configure","policy":{}}
{"at":"2026-03-01T12:00:00.1Z","kind":"finish","id":4,"outcome":{"OK":true,"Output":7}}
{"at":"2026-03-01T12:00:01Z","kind":"offer","request":{"ID":5,"Tenant":"a","Model":"m","Class":"batch","Input":50,"Stream":true,"Arrived":"2026-03-01T12:00:00.5Z","Deadline":"2026-03-01T12:00:03Z"}}
{"at":"2026-03-01T12:00:01Z","kind":"decision","decision":{"ID":5,"Verdict":"run"}}
{"at":"2026-03-01T12:00:02Z","kind":"offer","request":{"ID":6,"Tenant":"a","Model":"m","Class":"interactive","Input":60,"Arrived":"0001-01-01T00:00:00Z","Deadline":"0001-01-01T00:00:00Z"}}
{"at":"2026-03-01T12:00:02Z","kind":"offer","request":{"ID":7,"Tenant":"a","Model":"m","Class":"interactive","Attempt":1}}
{"at":"2026-03-01T12:00:04Z","kind":"finish","id":5,"outcome":{"Status":503,"Retryable":true}}
{"at":"2026-03-01T12:00:05Z","kind":"finish","id":5,"outcome":{"Status":200,"OK":true,"Input":48,"Output":33}}
{"at":"2026-03-01T12:00:06Z","kind":"cancel","id":6}
{"at":"2026-03-01T12:0`

func TestTraceDump(t *testing.T) {
	got := mustRead(t, "crash.jsonl", dumpSample, TraceOptions{})
	want := []Arrival{
		{At: 0, Tenant: "a", Model: "m", Class: admit.Batch, Input: 48, Output: 33, Stream: true, Deadline: 2500 * time.Millisecond}, // the second attempt went well
		{At: 1500 * time.Millisecond, Tenant: "a", Model: "m", Input: 60, Output: 33},                                                // left: guessed
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTraceDumpErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"at":"2026-03-01T12:00:00Z","kind":"offer"}`, "x:1:1: an offer without its request"},
		{`{"at":"2026-03-01T12:00:00Z","kind":"finish"}`, "x:1:1: a finish without its outcome"},
		{`{"at":"2026-03-01T12:00:00Z","kind":"offer","request":{"Class":"x"}}`, `x:1:1: unknown class "x"`},
		{`{"at":"2026-03-01T12:00:00Z","kind":"offer","request":{"Class":"batch","Input":-1}}`, "x:1:1: -1 and 0 tokens"},
		{`{"at":"2026-03-01T12:00:00Z","kind":"offer","request":{"Class":"batch","Tenant":"a\u0001"}}`, "x:1:1: control character"},
		{`{"at":"0001-01-01T00:00:00Z","kind":"offer","request":{"Class":"batch"}}`, "x:1:1: the year 1 is not"},
		{`{"at":"2026-03-01T12:00:00Z","kind":7}` + "\n", "x:1:1: json: "},
	} {
		if _, err := readTrace("x", c.text, TraceOptions{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %v", err, c.want)
		}
	}
}
