package wire

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"
)

// Estimator estimates input tokens, and learns for each model from what its
// providers report. It is safe for concurrent use: an estimate takes no lock.
//
// A model's tokens are taken to be linear in the features. The weights are
// followed by recursive least squares in the form of a Kalman filter (Simon,
// Optimal State Estimation, ch. 3 and 5): they begin at a prior fitted to known
// tokenizers, each report moves them by as much as they are uncertain, and a
// little uncertainty is added with every report, so that a tokenizer that is
// replaced is followed. The noise is relative, for a long text is further off
// than a short one.
type Estimator struct {
	mu     sync.Mutex // for adding models
	models atomic.Pointer[map[string]*learner]
}

// mostModels bounds the memory, at six kilobytes each. Names come from the
// configuration; past the bound a model is estimated by the prior.
const mostModels = 4096

// NewEstimator returns an estimator that has learnt nothing.
func NewEstimator() *Estimator {
	e := &Estimator{}
	e.models.Store(&map[string]*learner{})
	return e
}

// Declare says how a model counts images; ImageTiles if it is not said. What
// had been learnt of it is kept unless that changes.
func (e *Estimator) Declare(model string, how Images) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := (*e.models.Load())[model]; l == nil || l.how != how {
		e.addLocked(model, how)
	}
}

func (e *Estimator) addLocked(model string, how Images) *learner {
	old := *e.models.Load()
	if len(old) >= mostModels && old[model] == nil {
		return nil
	}
	next := maps.Clone(old)
	l := newLearner(how)
	next[model] = l
	e.models.Store(&next)
	return l
}

// Tokens estimates the input tokens of a request to a model.
func (e *Estimator) Tokens(model string, f *Features) int64 {
	if l := (*e.models.Load())[model]; l != nil {
		return l.weights.Load().tokens(f)
	}
	return f.Tokens()
}

// Count estimates the input tokens of the body of a request to a model, in any
// dialect of chat. It is an estimate: the provider's own count may differ.
func (e *Estimator) Count(model string, body []byte) int64 {
	f := Measure(body)
	return e.Tokens(model, &f)
}

// Learn takes what a provider reported for a request: its input tokens, those
// from the cache included. It takes about two microseconds, mostly much less once
// the model is well known; call it when the answer has been passed on. A report of nothing is ignored.
func (e *Estimator) Learn(model string, f *Features, input int64) {
	if input <= 0 {
		return
	}
	l := (*e.models.Load())[model]
	if l == nil {
		e.mu.Lock()
		if l = (*e.models.Load())[model]; l == nil {
			l = e.addLocked(model, ImageTiles)
		}
		e.mu.Unlock()
	}
	if l != nil && !l.known(f, input) {
		l.learn(f, math.Min(float64(input), maxCount))
	}
}

// known says that a report tells nothing new: the model is well known, and this
// is what was expected. Of those only some are taken, to follow slow changes.
func (l *learner) known(f *Features, input int64) bool {
	if n := l.seen.Add(1); n < wellKnown || n%oneIn == 0 {
		return false
	}
	return math.Abs(float64(l.weights.Load().tokens(f)-input)) <= expected*float64(input)
}

// Learned returns how many reports of a model were taken, and how far estimates
// were off lately, as a mean of the relative error; 0 if nothing was.
func (e *Estimator) Learned(model string) (reports int64, off float64) {
	l := (*e.models.Load())[model]
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reports, l.off
}

// learner follows the weights of one model.
type learner struct {
	how     Images
	weights atomic.Pointer[weights] // a new one for each report, never changed
	seen    atomic.Int64            // reports, taken or not

	mu      sync.Mutex
	cov     [numFeatures]weights // covariance of the weights
	strikes int                  // reports in a row that were far off to the same side; negative: below
	reports int64
	off     float64 // mean relative error
}

const (
	noise       = 0.06   // deviation of a report from the best linear estimate, relative
	noiseLeast  = 2.0    // and in tokens
	drift       = 0.01   // what a weight may change by with each report, in parts of its prior
	common      = 0.3    // deviation that all weights of text share: tokens are larger or smaller
	far         = 3.0    // deviations from which a report counts as far off
	mostStrikes = 4      // of those in a row, after which what was learnt is given up
	wellKnown   = 500    // reports after which a model is
	oneIn       = 8      // of those that were expected is taken
	expected    = 0.05   // relative error of a report that tells nothing new
	memory      = 0.05   // weight of the last report in the mean error
	mostHidden  = 16_000 // tokens of a provider's own prompt
)

func newLearner(how Images) *learner {
	l := &learner{how: how}
	w := priorOf(how)
	l.weights.Store(&w)
	l.doubt(&w)
	return l
}

// doubt makes the weights as uncertain as they were before anything was learnt.
func (l *learner) doubt(prior *weights) {
	for i := range l.cov {
		for j := range l.cov[i] {
			l.cov[i][j] = 0
			if i <= ofLongs && j <= ofLongs {
				l.cov[i][j] = common * common * prior[i] * prior[j]
			}
		}
		l.cov[i][i] += variance(i, prior[i])
	}
}

func variance(feature int, prior float64) float64 {
	deviation, _ := spread(feature)
	return deviation * deviation * prior * prior
}

func (l *learner) learn(f *Features, input float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	prior := priorOf(l.how)
	w := *l.weights.Load()
	var seen [numFeatures]int // the features that this request has
	n := 0
	guess := 0.0
	for i, count := range f {
		if count > 0 && prior[i] > 0 {
			seen[n] = i
			n++
			guess += w[i] * float64(count)
		}
	}
	if n == 0 {
		return
	}
	// More than any weights within their bounds explain is no count of tokens.
	wrong := math.Min(input, 16*guess+mostHidden) - guess
	l.reports++
	rate := math.Max(memory, 1/float64(l.reports))
	l.off += rate * (math.Min(math.Abs(wrong)/math.Max(input, 1), 1) - l.off)

	for _, i := range seen[:n] {
		if v := variance(i, prior[i]); l.cov[i][i] < v {
			l.cov[i][i] += drift * drift * prior[i] * prior[i]
		}
	}
	gain, all := l.gain(f, seen[:n], guess)
	limit := far * math.Sqrt(all)
	switch {
	case wrong > limit:
		l.strikes = max(l.strikes, 0) + 1
	case wrong < -limit:
		l.strikes = min(l.strikes, 0) - 1
	default:
		l.strikes = 0
	}
	if max(l.strikes, -l.strikes) >= mostStrikes {
		// Another tokenizer, or another prompt of the provider's own.
		l.strikes = 0
		l.doubt(&prior)
		l.suspect(f, seen[:n], wrong)
		gain, all = l.gain(f, seen[:n], guess)
		limit = math.Abs(wrong)
	}
	wrong = math.Min(math.Max(wrong, -limit), limit)
	for i := range gain {
		if prior[i] == 0 {
			continue
		}
		w[i] = bound(i, w[i]+gain[i]*wrong/all, prior[i])
		for j := range gain {
			l.cov[i][j] -= gain[i] * gain[j] / all
		}
	}
	for i := range gain { // rounding must not make a variance negative
		if v := variance(i, prior[i]); l.cov[i][i] < 0 {
			for j := range gain {
				l.cov[i][j], l.cov[j][i] = 0, 0
			}
			l.cov[i][i] = drift * drift * v
		}
	}
	l.weights.Store(&w)
}

// suspect makes what may be wrong by any amount uncertain enough to explain an
// error: how media is counted, or else a prompt of the provider's own.
func (l *learner) suspect(f *Features, seen []int, wrong float64) {
	media := false
	for _, i := range seen {
		if i >= ofImages {
			media = true
			part := wrong / float64(f[i])
			l.cov[i][i] += part * part
		}
	}
	if !media {
		l.cov[ofRequests][ofRequests] += wrong * wrong
	}
}

// gain returns the covariance of each weight with the estimate, and the
// variance of a report.
func (l *learner) gain(f *Features, seen []int, guess float64) (gain weights, all float64) {
	for i := range gain {
		for _, j := range seen {
			gain[i] += l.cov[i][j] * float64(f[j])
		}
	}
	for _, i := range seen {
		all += gain[i] * float64(f[i])
	}
	deviation := noise*guess + noiseLeast
	return gain, math.Max(all, 0) + deviation*deviation
}
