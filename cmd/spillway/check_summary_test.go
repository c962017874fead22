package main

import (
	"os"
	"testing"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// The example of many upstreams, as it is understood: by preference, with what
// each upstream allows. No key is in it.
func TestSummary(t *testing.T) {
	text, err := os.ReadFile("../../docs/examples/many-upstreams.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("many-upstreams.yaml", text, func(name string) (string, bool) { return "http://" + name, true })
	if err != nil {
		t.Fatal(err)
	}
	const want = `
chat-large: balance score, affinity prefix
  tier 0   own    concurrency learnt from 16, at most 128  no limit known
  tier 1   us     concurrency 64                           2 keys, 5000 requests a minute, 2000000 tokens a minute, 400000000 tokens a day for each
  tier 1   eu     concurrency 64                           5000 requests a minute
  reserve  spare  concurrency 8                            no limit known
  overloaded: chat-small instead
  context: chat-long instead
  content_filter: chat-small instead
  error: chat-small, then chat-long instead

chat-long: balance least-loaded
  tier 0  hosted/long-1  concurrency 16  2 keys, 500 requests a minute for each
  overloaded: chat-large instead

chat-small: balance least-loaded
  tier 0  gpu/small-1  concurrency 16  no limit known
`
	if got := summary(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
