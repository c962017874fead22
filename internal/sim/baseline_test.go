package sim

import (
	"testing"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestBaselineStories(t *testing.T) {
	limited := func(p *admit.Policy) {
		p.Tenants[0].Limits = map[string]admit.Limits{"": {Requests: 2}}
		p.Tenants[1].Limits = map[string]admit.Limits{"m": {Requests: 1}, "": {Requests: 9}}
	}
	for _, c := range []struct {
		name  string
		slots int
		story string
		with  func(*admit.Policy)
	}{
		{name: "fifo", slots: 1, story: `
			0s offer 1             -> 1 run free
			0s offer 2 deadline=1s -> 2 queue queue
			0s offer 3 class=batch -> 3 queue queue
			0s offer 4             -> 4 queue queue
			0s offer 5             -> 5 queue queue
			1s cancel 4            ->
			2s finish 1            -> 2 run dispatch  # its deadline is past, which does not count
			3s finish 2            -> 3 run dispatch  # nor does its class
			3s finish 2            ->                 # it has ended
			3s cancel 4            ->
			3s finish 5            ->                 # it waits
			4s cancel 3            -> 5 run dispatch
			5s gone 5              ->
			6s offer 6             -> 6 run free`},
		{name: "depth", slots: 1, story: `
			0s offer 1             -> 1 run free
			0s offer 2 deadline=1s -> 2 queue queue
			0s offer 3             -> 3 queue queue
			0s offer 4             -> 4 reject bound
			1s finish 1            -> 2 run dispatch
			1s offer 5             -> 5 queue queue
			1s offer 6             -> 6 reject bound`},
		{name: "expired", slots: 1, story: `
			0s offer 1             -> 1 run free
			0s offer 2 deadline=1s -> 2 queue queue
			0s offer 3             -> 3 queue queue      # the class's deadline: ten minutes
			0s offer 4             -> 4 reject bound
			1s finish 1            -> 2 reject late, 3 run dispatch
			600s offer 5           -> 5 queue queue
			1200s finish 3         -> 5 reject late
			1200s offer 6 deadline=0s -> 6 reject late`},
		{name: "codel", slots: 1, story: `
			0s offer 1       -> 1 run free         # first interval: its luckiest waits 0
			0s offer 2       -> 2 queue queue
			0s offer 3       -> 3 queue queue
			900ms finish 1   -> 2 run dispatch     # long, but not overloaded
			1200ms offer 4   -> 4 queue queue
			1300ms finish 2  -> 3 run dispatch     # second interval, begins with 1.3 s; the first was fine
			1700ms offer 5   -> 5 queue queue
			2100ms offer 6   -> 6 queue queue
			2100ms finish 3  -> 4 run dispatch     # 0.9 s
			2300ms offer 7   -> 7 queue queue
			2400ms finish 4  -> 5 reject late, 6 reject late, 7 run dispatch # third: the second's luckiest waited 0.9 s
			2400ms offer 8   -> 8 queue queue
			2500ms finish 7  -> 8 run dispatch     # 0.1 s is not above twice the target
			2600ms finish 8  ->
			2600ms offer 9   -> 9 run free         # this interval's luckiest waits 0
			3000ms offer 10  -> 10 queue queue
			3600ms finish 9  -> 10 run dispatch    # so the fourth is not overloaded`},
		{name: "lifo", slots: 1, story: `
			0s offer 1               -> 1 run free
			0s offer 2 deadline=1100ms -> 2 queue queue
			0s offer 3               -> 3 queue queue
			500ms offer 4            -> 4 queue queue
			1000ms finish 1          -> 2 run dispatch  # stands for a second: not yet too long
			1100ms finish 2          -> 4 run dispatch  # too long
			1200ms offer 5 deadline=1s -> 5 queue queue
			1300ms cancel 5          ->
			1400ms finish 4          -> 3 run dispatch  # now it is empty
			1500ms offer 6           -> 6 queue queue
			1500ms offer 7           -> 7 queue queue
			1600ms offer 8 deadline=1s -> 8 queue queue
			2000ms finish 3          -> 6 run dispatch
			2700ms finish 6          -> 8 reject late, 7 run dispatch`},
		{name: "edf", slots: 1, story: `
			0s offer 1               -> 1 run free
			0s offer 2 deadline=9s   -> 2 queue queue
			0s offer 3 deadline=5s   -> 3 queue queue
			0s offer 4 deadline=2s   -> 4 queue queue
			0s offer 5 deadline=5s   -> 5 queue queue
			0s offer 6               -> 6 queue queue
			2s finish 1              -> 4 reject late, 3 run dispatch
			3s cancel 2              ->
			4s finish 3              -> 5 run dispatch
			4s finish 5              -> 6 run dispatch`},
		{name: "rr", slots: 1, story: `
			0s offer 1               -> 1 run free
			0s offer 2               -> 2 queue queue
			0s offer 3               -> 3 queue queue
			0s offer 4               -> 4 reject bound   # two of each may wait
			0s offer 5 tenant=b deadline=1s -> 5 queue queue
			0s offer 6 tenant=b      -> 6 queue queue
			0s offer 7 tenant=b      -> 7 reject bound
			0.5s finish 1            -> 2 run dispatch
			1s finish 2              -> 5 reject late, 6 run dispatch # being dropped is no turn
			1s offer 8 tenant=b      -> 8 queue queue
			1s finish 6              -> 3 run dispatch
			1s finish 3              -> 8 run dispatch`},
		{name: "vtc", slots: 1, story: `
			0s offer 1 in=100                 -> 1 run free    # a: 100 + 2*100 expected = 300
			0s offer 2 in=10                  -> 2 queue queue
			0s offer 3 tenant=b in=10 max=10  -> 3 queue queue # b is lifted to a's 300
			0s offer 4 tenant=b in=10 max=10  -> 4 queue queue
			0s offer 5 in=10                  -> 5 queue queue
			1s finish 1 in=100 out=10         -> 2 run dispatch # a: 120; then 120 + 10 + 2*10 expected = 150
			2s finish 2 in=10 out=200         -> 3 run dispatch # a: 120 + 410 = 530; b: 330
			3s finish 3 in=10 out=10          -> 4 run dispatch # b: 360
			4s finish 4 in=10 out=10          -> 5 run dispatch
			5s gone 5                         ->                # its expected 10 + 2*105 = 220 stands: a 750
			6s offer 6 tenant=b in=1 max=1    -> 6 run free     # b is lifted to a's 750, the last to leave the line: 753
			6s offer 7 tenant=b in=1 max=1    -> 7 queue queue
			6s offer 8                        -> 8 queue queue  # a: 750, but lifted to b's 753; of equals the first
			7s finish 6 in=1 out=1            -> 8 run dispatch
			8s cancel 8                       -> 7 run dispatch`},
		{name: "vtc", slots: 1, story: `
			0s offer 1 in=100 max=100         -> 1 run free     # a: 300
			0s offer 2 tenant=b in=50 max=50  -> 2 queue queue  # b is lifted to 300
			0s offer 3 tenant=b in=50 max=50  -> 3 queue queue
			0s offer 4 in=10 max=10           -> 4 queue queue
			0s offer 5 in=200 max=10          -> 5 queue queue
			1s finish 1 in=100 out=100        -> 4 run dispatch # a: 330
			1s offer 6 in=10 max=10           -> 6 queue queue
			2s gone 4                         -> 2 run dispatch # the charge stands; b: 450
			3s cancel 2                       -> 3 run dispatch # was never sent; b: 300 again, then 450
			3s offer 7 tenant=b in=50 max=50  -> 7 queue queue
			4s finish 3 in=50 out=50          -> 5 run dispatch # a: 550
			5s finish 5 status=503            -> 6 run dispatch # no token was served; a: 330 again
			6s finish 6 in=10 out=100         -> 7 run dispatch # a: 540`},
		{name: "limits", slots: 1, with: limited, story: `
			10s offer 1              -> 1 run free
			20s offer 2              -> 2 queue queue
			30s offer 3              -> 3 reject requests 30s
			30s offer 4 tenant=b     -> 4 queue queue
			50s offer 5 tenant=b     -> 5 reject requests 10s
			60s offer 6              -> 6 reject bound       # a new minute; refused, and counted
			61s finish 1             -> 2 run dispatch
			61s offer 7              -> 7 queue queue
			62s offer 8              -> 8 reject requests 58s`},
		{name: "oracle", slots: 1, story: `
			0s offer 1 needs=2s deadline=2s -> 1 run free
			0s offer 2 needs=2s deadline=3s -> 2 reject wait     # would end at 4 s
			0s offer 3 needs=2s deadline=4s -> 3 queue queue
			0s offer 4 needs=9s first=1s deadline=5s class=batch -> 4 queue queue # a stream: only its first token counts
			0s offer 5 needs=1s deadline=13s -> 5 reject wait
			0s offer 6 needs=1s deadline=14s -> 6 queue queue
			1s cancel 3                     ->
			1s offer 7 needs=1s deadline=11999ms -> 7 reject wait # behind 1, 4 and 6: at 12 s
			1s offer 8 needs=1s deadline=12s -> 8 queue queue
			2s finish 1                     -> 4 run dispatch
			3s gone 4                       -> 6 run dispatch
			3s offer 9 needs=1s deadline=3s -> 9 queue queue      # seen at once: behind 6 and 8
			4s finish 6                     -> 8 run dispatch
			5s finish 8                     -> 9 run dispatch
			6s finish 9                     ->
			6s offer 10 needs=2s deadline=1s -> 10 reject wait    # not even now`},
		{name: "oracle", slots: 2, story: `
			0s offer 1 needs=2s deadline=9s -> 1 run free
			0s offer 2 needs=4s deadline=9s -> 2 run free
			0s offer 3 needs=3s deadline=6s -> 3 queue queue      # 2 to 5 s
			0s offer 4 needs=2s deadline=6s -> 4 queue queue      # 4 to 6 s
			1s slow 3
			1s offer 5 needs=1s deadline=3999ms -> 5 reject wait  # 1 runs until 4 s, 2 until 10 s; 3 and 4 are lost
			1s offer 6 needs=1s deadline=4s -> 6 queue queue
			4s finish 1                     -> 3 reject late, 4 reject late, 6 run dispatch`},
		{name: "oracle-rank", slots: 1, story: `
			0s offer 1 needs=2s deadline=9s                   -> 1 run free
			0s offer 2 needs=2s deadline=4s class=batch       -> 2 queue queue
			0s offer 3 needs=2s deadline=8s class=batch       -> 3 queue queue
			0s offer 4 needs=1s deadline=3s class=interactive -> 4 queue queue
			0s offer 5 needs=1s deadline=3s class=interactive -> 5 reject wait
			0s offer 6 needs=1s deadline=5s class=batch       -> 6 reject wait   # 3 to 5 s is for 3, now that 2 is lost
			0s offer 7 needs=1s deadline=6s class=batch       -> 7 queue queue
			2s finish 1                                       -> 4 run dispatch
			3s finish 4                                       -> 2 reject late, 3 run dispatch
			5s finish 3                                       -> 7 run dispatch`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := smallPolicy(c.slots, func(p *admit.Policy) {
				if c.with != nil {
					c.with(p)
				}
			})
			act(t, c.name, p, c.story)
		})
	}
}
