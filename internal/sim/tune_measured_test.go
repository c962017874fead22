package sim

import (
	"maps"
	"strings"
	"testing"
	"time"
)

const measuredSample = `{"at":"2026-03-01T12:00:00Z","kind":"configure","policy":{}}
{"at":"2026-03-01T12:00:00Z","kind":"finish","id":4,"outcome":{"OK":true,"Output":7}}
{"at":"2026-03-01T12:00:01Z","kind":"offer","request":{"ID":5,"Class":"batch"}}
{"at":"2026-03-01T12:00:01Z","kind":"decision","decision":{"ID":5,"Verdict":"queue"}}
{"at":"2026-03-01T12:00:02Z","kind":"decision","decision":{"ID":5,"Deployment":"a","Verdict":"run"}}
{"at":"2026-03-01T12:00:02Z","kind":"decision","decision":{"ID":6,"Deployment":"a","Verdict":"run"}}
{"at":"2026-03-01T12:00:03Z","kind":"finish","id":5,"outcome":{"Status":503}}
{"at":"2026-03-01T12:00:03Z","kind":"decision","decision":{"ID":5,"Deployment":"b","Verdict":"run"}}
{"at":"2026-03-01T12:00:04Z","kind":"finish","id":6,"outcome":{"OK":true}}
{"at":"2026-03-01T12:00:04Z","kind":"decision","decision":{"ID":7,"Deployment":"a","Verdict":"run"}}
{"at":"2026-03-01T12:00:08Z","kind":"finish","id":7,"outcome":{"OK":true}}
{"at":"2026-03-01T12:00:09Z","kind":"finish","id":5,"outcome":{"OK":true}}
{"at":"2026-03-01T12:0`

func TestMeasured(t *testing.T) {
	for text, want := range map[string]map[string]time.Duration{
		measuredSample:                 {"a": 3 * time.Second, "b": 6 * time.Second}, // the failed attempt does not count
		"t,input,output\n0,1,1\n":      {},
		`{"t":1,"input":1,"output":1}`: {},
		"":                             {},
	} {
		got, err := Measured("x", strings.NewReader(text))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v (%v), want %v", got, err, want)
		}
	}
}
