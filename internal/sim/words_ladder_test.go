package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestLadderAndBudgetWords(t *testing.T) {
	for story, want := range map[string]string{
		"rung kind=model":                                      "x:1: rung: give a name",
		"rung a kind=magic":                                    `x:1: rung: kind=magic: unknown kind "magic"; known are features, compute, model, recent`,
		"rung a kind=model":                                    "x:1: rung: say which model serves instead: model=NAME",
		"rung a kind=compute input=2x":                         `x:1: rung: input=2x: "2x" is not a part that is left, such as 0.4x`,
		"rung a kind=compute saving=120%":                      `x:1: rung: saving=120%: "120%" is more than all`,
		"rung a kind=compute hit=3%":                           "x:1: rung: only a rung of kind=recent is hit",
		strings.Repeat("rung a kind=compute\n", 9):             "x:9: rung: a ladder has at most 8",
		"ladder up=50,70":                                      "x:1: ladder: up=50,70: give three thresholds in per cent, such as up=50,70,90",
		"ladder level=4":                                       `x:1: ladder: level=4: "4" is not a level from 0 to 3`,
		"caller a consent=some":                                `x:1: caller: consent=some: unknown consent "some"; known are any, compute, features, model, never`,
		"caller a turns=3":                                     "x:1: caller: say sessions=N, how many there are at once",
		"budget":                                               "x:1: budget: of whom? Known are all, model, session, tenant, user",
		"budget tenant day=3":                                  "x:1: budget: give a name, such as: budget tenant app day=5",
		"budget all calendar":                                  "x:1: budget: say how much in dollars",
		"slots 1\ncaller a\nfor 1s\nbudget tenant b day=1":     "x: budget of b: nobody of that name calls",
		"slots 1\ncaller a\nfor 1s\nrung s kind=model model=b": `x: rung s of m: unknown model "b"; known are m`,
		"expect ontime tenant a >= 3":                          `x:1: expect: "tenant a": it is about one who has a name of one word`,
		"expect alarm slow tenant a before 10% spent":          `x:1: expect: unknown measure "alarm"`,
		"expect spent tenant a after 10s <= 3":                 "x:1: expect: only \"ontime\" can be cut by time",
	} {
		if _, err := ParseScenario("x", strings.NewReader(story)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %s…", story, err, want)
		}
	}
}

// What a rung does to one request: times, tokens and money are those of the
// reduced form, where it is served.
func TestDegradedCallIsServedAsItsForm(t *testing.T) {
	for rungs, want := range map[string]struct {
		latency, cost float64
		saved         int64
	}{
		"":                                         {3, 0.003, 0},
		"rung cut kind=features input=0.5x":        {2.5, 0.0025, 500},
		"rung fast kind=compute saving=20%":        {2.4, 0.003, 0},
		"rung short kind=compute max-output=500":   {1.5, 0.0015, 1500},
		"rung other kind=model model=small":        {1.5, 0.00045, 0},
		"rung no kind=features changes=0.0000001%": {3, 0.003, 0},
	} {
		t.Run(rungs, func(t *testing.T) {
			t.Parallel()
			story := "model m\ndeployment d slots=9 price-in=1 price-out=1\nservice tokens first=1ns input=1ms output=1ms sigma=0\n" + rungs + "\nladder level=3\nmodel small\n" +
				"deployment e slots=9 price-in=0.1 price-out=0.1\nupstream e service=tokens first=1ns input=500us output=500us\n" +
				"caller a model=m rate=1 deadline=20s input=1000 output=2000 consent=any\nfor 100s"
			s, err := ParseScenario("x", strings.NewReader(story))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Play(ours, nil)
			if err != nil {
				t.Fatal(err)
			}
			last := r.Ladders
			if rungs == "" {
				if len(last) != 0 || r.Degraded != 0 {
					t.Errorf("%+v", last)
				}
				return
			}
			x := last[0].Rungs[1]
			if x.Answers == 0 {
				x = last[0].Rungs[0]
			}
			if x.Answers == 0 || x.SlotMean < want.latency-0.01 || x.SlotMean > want.latency+0.01 {
				t.Errorf("slot time %v of %d answers, want %v", x.SlotMean, x.Answers, want.latency)
			}
			if got := costOf(r.sites) / float64(r.OnTime); got < want.cost*0.95 || got > want.cost*1.05 { // some of the first calls are as asked
				t.Errorf("%v dollars each, want %v", got, want.cost)
			}
			if got := x.TokensSaved / max(x.Answers, 1); got != want.saved {
				t.Errorf("%d tokens saved of each, want %d", got, want.saved)
			}
		})
	}
}

// The dumb book of what was spent: any span, or those of the calendar.
func TestMostSpentInAnySpan(t *testing.T) {
	x := purse{budget: &admit.Budget{}}
	for _, p := range []struct {
		at time.Duration
		n  int64
	}{{0, 5}, {40 * time.Minute, 7}, {61 * time.Minute, 4}, {99 * time.Minute, 2}} {
		x.spent = append(x.spent, payment{epoch.Add(p.at), p.n})
	}
	if got := x.most(admit.Hour); got != 13 { // from 40 to 99 minutes
		t.Errorf("rolling: %d", got)
	}
	x.budget.Calendar = true
	if got := x.most(admit.Hour); got != 12 {
		t.Errorf("by the calendar: %d", got)
	}
	if got := x.most(admit.Month); got != 18 {
		t.Errorf("of a month: %d", got)
	}
}

func TestSessionsGoOnTurnByTurn(t *testing.T) {
	s, err := ParseScenario("x", strings.NewReader("slots 9\nservice 1s sigma=0\ncaller a sessions=1 turns=2 tools=2 pause=1ms until=20s\nfor 60s"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Play(ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Offered < 15 || r.Offered > 18 { // three requests of a second, and two tools of 0.3 s
		t.Errorf("%d requests in 20 s", r.Offered)
	}
	k := talks(&s.Callers[0], 0, 1)[0].talk
	var got []string
	for range 7 {
		a := k.talker.arrival()
		got = append(got, a.Session+map[bool]string{true: "!"}[a.Turn])
		k.next()
	}
	if want := "a-1-1! a-1-1 a-1-1 a-1-1! a-1-1 a-1-1 a-1-2!"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
