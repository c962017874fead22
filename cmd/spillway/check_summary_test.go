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
  tier 0   own    concurrency learnt from 16, at most 128  $0.2 in, $0.2 out (file)  no limit known
  tier 1   us     concurrency 64                           $1.25 in, $10 out (file)  2 keys, 5000 requests a minute, 2000000 tokens a minute, 400000000 tokens a day for each
  tier 1   eu     concurrency 64                           $1.5 in, $12 out (file)   5000 requests a minute
  reserve  spare  concurrency 8                            $3 in, $15 out (file)     no limit known
  overloaded: chat-small instead
  context: chat-long instead
  content_filter: chat-small instead
  error: chat-small, then chat-long instead

chat-long: balance least-loaded
  tier 0  hosted/long-1  concurrency 16  price unknown  2 keys, 500 requests a minute for each
  overloaded: chat-large instead

chat-small: balance least-loaded
  tier 0  gpu/small-1  concurrency 16  price unknown  no limit known
`
	if got := summary(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Where a price comes from, and the ladder.
func TestSummaryOfMoneyAndLadder(t *testing.T) {
	const text = `
providers: {hosted: {base_url: http://h/v1}}
models:
  chat:
    deployments:
      - {provider: hosted, model: gpt-4.1}
      - {provider: hosted, model: own, price: free}
      - {provider: hosted, model: pictures, price: {request: 0.04}}
      - {provider: hosted, model: other, precision: int8}
    degrade: [{name: brief, max_output_tokens: 200}, {name: int8, precision: int8, enabled: false}, {name: smaller, model: small}]
  small: {deployments: [{provider: hosted, price: {input: 0.05, output: 0.4}}]}
`
	c, err := config.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `
chat: balance least-loaded
  tier 0     hosted/gpt-4.1   concurrency 16  $2 in, $8 out (table)   no limit known
  tier 0     hosted/own       concurrency 16  free (file)             no limit known
  tier 0     hosted/pictures  concurrency 16  $0.04 a request (file)  no limit known
  rung int8  hosted/other     concurrency 16  price unknown           no limit known
  degrade: brief, then int8 (off), then smaller (small)

small: balance least-loaded
  tier 0  hosted/small  concurrency 16  $0.05 in, $0.4 out (file)  no limit known

Prices from the table are of ` + c.PricesAsOf() + `: check them against what you are billed.
`
	if got := summary(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A file says how many of each there are, and which deployments get no calls.
func TestSummaryOfNumbersAndStates(t *testing.T) {
	const model = "providers: {gpu: {base_url: http://h/v1}}\nmodels: {chat: {deployments: [{provider: gpu}, {provider: gpu, model: b, state: drained}, {provider: gpu, model: c, state: disabled}]}}\n"
	shop := "tenants: [{name: shop, keys: [\"" + config.HashKey("a") + "\"]}"
	for more, want := range map[string]string{
		"": "no tenants", shop + "]": "1 tenant", shop + ", {name: bank, keys: [\"" + config.HashKey("b") + "\"]}]": "2 tenants",
	} {
		c, err := config.Parse("test.yaml", []byte(model+more), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := tenants(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		const states = `
chat: balance least-loaded
  tier 0  gpu/chat  concurrency 16            price unknown  no limit known
  tier 0  gpu/b     drained, concurrency 16   price unknown  no limit known
  tier 0  gpu/c     disabled, concurrency 16  price unknown  no limit known
`
		if got := summary(c); got != states {
			t.Errorf("got\n%s\nwant\n%s", got, states)
		}
	}
}
