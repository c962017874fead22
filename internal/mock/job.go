package mock

import (
	"math"
	"math/rand/v2"
)

// job is what a request is going to do: drawn once, from the seed and the
// request's number, in an order that does not depend on the request's content.
type job struct {
	id      uint64
	prefill float64 // work seconds to the first token
	decode  float64 // work seconds from there to the last token
	outs    []int   // output tokens of each choice
	capped  []bool  // whether the caller's limit cut that choice short
	longest int     // the most tokens of any choice
	offset  int     // where the text begins
	chance  float64 // the draw for faults by probability, in [0,1)
	perMean bool    // times are independent of tokens and of concurrency
	rng     *rand.Rand
}

// streamShare is the part of a given mean service time before the first token.
const streamShare = 0.2

// newJob draws everything that does not depend on the request.
func newJob(seed, number uint64) *job {
	rng := rand.New(rand.NewPCG(seed, number*0x9e3779b97f4a7c15))
	return &job{rng: rng, id: rng.Uint64(), chance: rng.Float64(), offset: rng.IntN(len(vocabulary))}
}

// plan draws the times and output lengths of a call. mean is the service time
// to aim at, 0 to compute it from tokens.
func (j *job) plan(s Settings, c call) {
	noise := *s.Noise
	factor := logNormal(j.rng, noise)
	for range c.choices {
		j.add(c, int(math.Round(float64(s.OutputMean)*logNormal(j.rng, 2*noise))))
	}
	if j.perMean = s.ServiceMean > 0; j.perMean {
		total := s.ServiceMean.Seconds() * factor
		j.prefill, j.decode = total*streamShare, total*(1-streamShare)
		return
	}
	j.prefill = (s.Base.Seconds() + float64(c.inputTokens)*s.PerInput.Seconds()) * factor
	j.decode = float64(j.longest) * s.PerOutput.Seconds() * factor
}

func (j *job) add(c call, out int) {
	switch {
	case c.route == embeddings:
		out = 0
	case c.toolName != "":
		out = len(fragments(c.toolArgs))
	default:
		out = max(1, out)
	}
	capped := c.toolName == "" && c.maxTokens > 0 && out >= c.maxTokens
	if capped {
		out = c.maxTokens
	}
	j.outs, j.capped = append(j.outs, out), append(j.capped, capped)
	j.longest = max(j.longest, out)
}

// outputTokens is the sum over the choices.
func (j *job) outputTokens() int {
	sum := 0
	for _, n := range j.outs {
		sum += n
	}
	return sum
}

// logNormal draws a factor with mean 1.
func logNormal(rng *rand.Rand, sigma float64) float64 {
	z := rng.NormFloat64() // drawn even if unused, so that the order stays the same
	return math.Exp(sigma*z - sigma*sigma/2)
}
