package mock

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func draw(settings Settings, c call, n int) (times, outs []float64) {
	settings = settings.withDefaults()
	for i := range n {
		j := newJob(settings.Seed, uint64(i+1))
		j.plan(settings, c)
		times, outs = append(times, j.prefill+j.decode), append(outs, float64(j.outs[0]))
	}
	return times, outs
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func TestDrawnTimes(t *testing.T) {
	const n = 20000
	c := call{choices: 1, inputTokens: 1000}
	for _, noise := range []float64{0, 0.25, 0.8} {
		times, outs := draw(Settings{ServiceMean: 2 * time.Second, Noise: &noise, Seed: 9}, c, n)
		// The standard error of the mean is cv/sqrt(n); four of them are allowed.
		spread := func(sigma float64) float64 { return 4 * math.Sqrt(math.Exp(sigma*sigma)-1) / math.Sqrt(n) }
		near(t, "mean service", mean(times), 2, 2*spread(noise)+1e-9)
		near(t, "mean output", mean(outs), 200, 200*spread(2*noise)+0.6)
		logs := make([]float64, n)
		for i, x := range times {
			logs[i] = math.Log(x)
		}
		centre, squares := mean(logs), 0.0
		for _, x := range logs {
			squares += (x - centre) * (x - centre)
		}
		near(t, "sigma", math.Sqrt(squares/n), noise, 0.02)
		slices.Sort(times)
		near(t, "median", times[n/2], 2*math.Exp(-noise*noise/2), 0.03)
	}
}

func TestComputedMean(t *testing.T) {
	times, outs := draw(Settings{Seed: 9}, call{choices: 1, inputTokens: 1000}, 20000)
	near(t, "mean service", mean(times), 0.2+0.15+0.02*mean(outs), 0.06)
}

// The same seed and order give the same durations and answers; another seed does not.
func TestSameSeedSameRun(t *testing.T) {
	run := func(seed uint64) (out string, end time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := setup(t, Settings{Seed: seed, Faults: "500=0.2"})
			t0 := time.Now()
			for range 20 {
				p := askChat(s, streamed)
				out += string(p.body) + p.end.String() + p.header.Get("X-Request-Id")
			}
			end = time.Since(t0)
		})
		return out, end
	}
	a, endA := run(1)
	b, endB := run(1)
	if a != b || endA != endB {
		t.Error("two runs with the same seed differ")
	}
	if c, _ := run(2); c == a {
		t.Error("another seed gives the same run")
	}
}
