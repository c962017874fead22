package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

// leadGroup counts arrivals that are played only so that queues, rates and
// predictions are as they were when those that count come.
const leadGroup = "(lead)" // no name of a tenant

// play makes a recording into what is played: the first tries, each with the
// luck that its call had. What is not known of one, because it was refused, is
// taken from one like it that was answered. Retries are left out, for simulated
// callers make theirs, as often as those of the tenant did.
func play(seen []Seen, others []float64, ups map[string]Upstream, from, to time.Duration, seed uint64, rest func(step int) error) ([]Arrival, error) {
	rng := rand.New(rand.NewPCG(seed, 0x5ee4))
	known := newDonors(seen, others, ups)
	again := returns(seen)
	list := make([]Arrival, 0, len(seen))
	for i := range seen {
		if err := rest(i); err != nil {
			return nil, err
		}
		s := &seen[i]
		if s.Attempt > 0 {
			continue
		}
		a := Arrival{
			At: s.At, Tenant: s.Tenant, Model: s.Model, Key: s.Key, User: s.User, Session: s.Session, Class: s.Class, May: s.May, Turn: s.Turn,
			Input: s.Input, Stream: s.Stream, MaxOutput: s.MaxOutput, Deadline: s.Deadline, Untold: !s.Told,
		}
		if s.At < from || s.At >= to {
			a.Group = leadGroup
		}
		if u, ok := ups[s.Deployment]; ok && s.telling() {
			a.Output, a.Luck = s.Output, luckOf(&u, s, others[i])
		} else {
			a.Output, a.Luck = known.like(s, rng)
		}
		if s.Came == CameLeave && !s.late() {
			a.Leave = s.Total
		}
		a.Manners = again[s.Tenant].manners(s, rng)
		list = append(list, a)
	}
	slices.SortStableFunc(list, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return list, nil
}

// played gives arrivals that are there already.
type played struct {
	list []Arrival
	next int
}

// Next implements Source.
func (p *played) Next() (Arrival, bool, error) {
	if p.next == len(p.list) {
		return Arrival{}, false, nil
	}
	p.next++
	return p.list[p.next-1], true, nil
}

// donor is an answered request whose length and luck another may have.
type donor struct {
	at            time.Duration
	input, output int64
	luck          Luck
}

// donors are the answered requests of each tenant and model, and of each model,
// in order of time.
type donors map[guessKey][]donor

func newDonors(seen []Seen, others []float64, ups map[string]Upstream) donors {
	d := donors{}
	for i := range seen {
		s := &seen[i]
		u, ok := ups[s.Deployment]
		if !ok || !s.telling() {
			continue
		}
		x := donor{s.At, s.Input, s.Output, luckOf(&u, s, others[i])}
		for _, k := range [...]guessKey{{s.Tenant, s.Model}, {"", s.Model}} {
			d[k] = append(d[k], x)
		}
	}
	return d
}

const (
	fewDonors  = 8  // of a tenant, below which those of the model count
	nearDonors = 64 // in time, for upstreams change their speed
	likeDonors = 8  // of these in the length of the input, for uses of a model differ
)

// like is the length of an answer and the luck of a request that is like s; of
// the zero luck, which is drawn later, if nothing was answered.
func (d donors) like(s *Seen, rng *rand.Rand) (output int64, l Luck) {
	draw := rng.IntN(likeDonors)
	list := d[guessKey{s.Tenant, s.Model}]
	if len(list) < fewDonors {
		list = d[guessKey{"", s.Model}]
	}
	output = firstOutput
	if len(list) > 0 {
		i := sort.Search(len(list), func(i int) bool { return list[i].at >= s.At })
		from := max(min(i-nearDonors/2, len(list)-nearDonors), 0)
		var near [nearDonors]donor
		n := copy(near[:], list[from:])
		slices.SortFunc(near[:n], func(a, b donor) int { return cmp.Compare(apart(a.input, s.Input), apart(b.input, s.Input)) })
		x := &near[draw%min(n, likeDonors)]
		output, l = x.output, x.luck
	}
	if s.MaxOutput > 0 {
		output = min(output, s.MaxOutput)
	}
	return max(output, s.Output), l
}

func apart(a, b int64) int64 { return max(a-b, b-a) }

// coming is how a tenant's callers come back.
type coming struct {
	could, came int
	most        int // attempts after the first
	by          [2][maxReturns + 1]*Manners
}

const (
	maxReturns = 10
	fewReturns = 10 // refusals below which a tenant's habits are not known
	sdkReturns = 2  // of clients that mark their attempts, as the official SDKs do
)

// returns finds how often the callers of each tenant came back when they had
// the time and were not told to stay away.
func returns(seen []Seen) map[string]*coming {
	by := map[string]*coming{}
	for i := range seen {
		s := &seen[i]
		c := by[s.Tenant]
		if c == nil {
			c = &coming{}
			by[s.Tenant] = c
		}
		if s.Attempt > 0 {
			c.came++
		}
		c.most = max(c.most, min(s.Attempt, maxReturns))
		if s.Counts {
			c.most = max(c.most, sdkReturns)
		}
	}
	for i := range seen {
		s := &seen[i]
		gone := s.NoRetry || s.RetryAfter >= time.Minute || s.Told && s.Total+max(s.RetryAfter, time.Second/2) >= s.Deadline
		if c := by[s.Tenant]; (s.Came == CameRefusal || s.Came == CameFailure) && s.Attempt < c.most && !gone {
			c.could++
		}
	}
	return by
}

// manners draws those of the author of a request.
func (c *coming) manners(s *Seen, rng *rand.Rand) *Manners {
	draw := rng.Float64()
	n, kind, patient := 0, 0, !s.Told
	switch {
	case c.could >= fewReturns:
		share := min(float64(c.came)/float64(c.could), 1)
		for ; n < c.most && draw < share; n++ {
			draw /= share
		}
	case s.Counts:
		n = sdkReturns
	}
	if patient {
		kind = 1
	}
	m := &c.by[kind][n]
	if *m == nil {
		*m = &Manners{Retries: n, Patient: patient}
	}
	return *m
}
