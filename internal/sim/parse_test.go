package sim

import (
	"strings"
	"testing"
)

// A mistyped story is told where and what was expected.
func TestParseErrors(t *testing.T) {
	for story, want := range map[string]string{
		"slotz 3":                                     `x:1: unknown word "slotz"; known are at, balance, breaker, budget, caller, class, deployment, expect,`,
		"slots 16\n\n# a remark\nslots none":          `x:4: slots: "none" is not a number of slots`,
		"slots":                                       "x:1: slots: give a number of slots",
		"for 3":                                       `x:1: for: "3" is not a time above zero, such as 250ms or 1m30s`,
		"for -3s":                                     `x:1: for: "-3s" is not a time above zero`,
		"for":                                         "x:1: for: takes one value, not 0",
		"observe yes":                                 "x:1: observe: takes no value",
		"caller":                                      "x:1: caller: give a name",
		"caller a rat=3":                              `x:1: caller: unknown option "rat"; known are cap, capped, class, consent, deadline,`,
		"caller a class=urgent":                       `x:1: caller: class=urgent: unknown class "urgent"; known are interactive, standard, batch, speculative`,
		"caller a retries=-1":                         `x:1: caller: retries=-1: "-1" is not a whole number from zero`,
		"caller a stream=yes":                         "x:1: caller: stream=yes: takes no value",
		"caller a deadline=9s-":                       `x:1: caller: deadline=9s-: "" is not a time above zero`,
		"caller a rate=fast\nslots 1\nfor 1s":         `x: rate fast: "fast" is not a number from zero`,
		"at 20s":                                      "x:1: at: give a time and what happens then",
		"at 20s explode":                              `x:1: at: unknown happening "explode"; known are down, fail, limit, rate, slots, slow, tenant`,
		"at 20s slow 0":                               "x:1: at: slow: a factor of zero",
		"at 20s slow 3 until 10s":                     "x:1: at: it ends at 10s, before it begins",
		"at 20s rate b 3x":                            `x:1: at: rate: no caller "b" has been named above`,
		"policies ours best":                          `x:1: policies: unknown policy "best"; known are ours, no-ladder, fifo,`,
		"expect goodputt >= 3":                        `x:1: expect: unknown measure "goodputt"; known are alarm fast, attempts,`,
		"expect goodput 97%":                          "x:1: expect: give a measure, a comparison and a value",
		"expect goodput about 97%":                    "x:1: expect: end with >=, <=, <, > or == and a value",
		"expect late after 3s >= 1":                   `x:1: expect: only "ontime" can be cut by time`,
		"model a b":                                   "x:1: model: takes one value, not 2",
		"slots 2\nmodel b":                            "x:2: model: there can be more than one only if each deployment has a line",
		"deployment slots=2":                          "x:1: deployment: give a name",
		"deployment a":                                "x:1: deployment: say slots=N, the calls at once",
		"deployment a slots=1\ndeployment a":          "x:2: deployment: a has been named above",
		"slots 3\ndeployment a slots=1":               `x:2: deployment: a line "slots" says the deployments already`,
		"deployment a slots=1\nslots 3":               "x:2: slots: deployments have lines of their own",
		"deployment a slots=1 tear=2":                 `x:1: deployment: unknown option "tear"; known are auto, keys, most, price-in,`,
		"deployment a slots=1 quality=3":              "x:1: deployment: quality=3: it lies between 0 and 1",
		"deployment a slots=1 keys=0":                 "x:1: deployment: keys=0: there are 1 to 1000",
		"deployment a slots=1 price-in=dear":          `x:1: deployment: price-in=dear: "dear" is not a number from zero`,
		"upstream a slots=3":                          `x:1: upstream: no deployment "a" has been named above: add a line "deployment a slots=16"`,
		"upstream limit=leaky":                        `x:1: upstream: limit=leaky: unknown kind of limit "leaky"; known are rolling, bucket, fixed`,
		"deployment a slots=1\nupstream a first=1s":   "x:2: upstream: first=1s: times are made of tokens only after service=tokens",
		"balance fair":                                `x:1: balance: unknown balance "fair"; known are least-loaded, round-robin, weighted, cost, speed, quality, score`,
		"score price=1":                               `x:1: score: unknown option "price"; known are cost, quality, speed`,
		"breaker error=3":                             `x:1: breaker: unknown option "error"; known are consecutive, cooldown,`,
		"fallback error":                              "x:1: fallback: give a cause and the models that serve instead",
		"fallback down b":                             `x:1: fallback: unknown cause "down"; known are overloaded, context, content_filter, error`,
		"slots 1\ncaller a\nfor 1s\nfallback error b": `x: fallback of m: unknown model "b"; known are m`,
		"caller a model=b":                            `x:1: caller: model=b: unknown model "b"; known are m`,
		"model a\ndeployment a slots=1\ncaller a\nfor 1s": `x: deployment a has the name of a model`,
		"deployment a slots=1\nmodel b\ncaller a\nfor 1s": `x: model b has no deployment: add a line like "deployment b-1 slots=16" below its own`,
		"at 20s slow 3 on b":                              `x:1: at: unknown deployment "b"; known are `,
		"at 20s rate a 3x on b":                           "x:1: at: rate: takes no deployment; slow, fail, down and limit do",
		"at 20s fail most":                                `x:1: at: fail: "most" is not a share, such as 0.2 or 20%`,
		"at 20s fail 20% error=404":                       `x:1: at: fail: error=404: unknown error "404"; known are 503, 500, reset, silence`,
		"at 20s down hard":                                `x:1: at: down: unknown option "hard"; known are after, error`,
		"queue order=random":                              `x:1: queue: order=random: unknown order "random"; known are adaptive, fifo, lifo`,
		"slots 1\nfor 1s":                                 "x: nobody calls",
		"slots 1\ncaller a":                               "x: it does not say how long it is",
		"for 1s\ncaller a":                                "x: it does not say how many slots there are",
		strings.Repeat("x", 1<<17):                        "x:1: bufio.Scanner: token too long",
	} {
		_, err := ParseScenario("x", strings.NewReader(story))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %s…", story, err, want)
		}
	}
}

// Of whom something is expected must be somebody.
func TestExpectOfNobody(t *testing.T) {
	s, err := ParseScenario("x", strings.NewReader("slots 1\ncaller a rate=1\nfor 10s\nexpect ontime b >= 1%"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tell(nil); err == nil || err.Error() != `line 4: nobody called "b" made a request` {
		t.Errorf("got %v", err)
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add("slots 16\ncaller a rate=1x deadline=1s-2s\nat 1s slow 2 until 3s\nfor 5s\nexpect ontime a after 1s >= 3%")
	f.Add("model a\ndeployment x slots=3 keys=2 rpm=9 price-in=1\nupstream x service=tokens first=1s limit=fixed headers\nfallback error b\nmodel b\ndeployment y slots=1\ncaller c model=b\nat 1s down error=silence on y until 2s\nfor 5s\nexpect calls x after 1s >= 0")
	f.Add("slots 2\nrung a kind=features saving=8% believed=20% changes=30%\nrung b kind=recent hit=20%\nladder up=50,70,90 level=2\nbudget user c day=1 calendar pace=never\ncaller c consent=60%:features sessions=3 turns=2 tools=1 users=4 cap=9\nfor 5s\nexpect alarm fast user c before 10% spent\nexpect level most after 1s < 3")
	f.Fuzz(func(t *testing.T, story string) {
		ParseScenario("x", strings.NewReader(story))
	})
}
