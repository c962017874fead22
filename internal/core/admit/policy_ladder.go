package admit

import "time"

// MaxRungs is how many rungs a ladder can have.
const MaxRungs = 8

// RungKind is what a rung takes away.
type RungKind uint8

const (
	RungFeatures RungKind = iota // things that the caller can do without
	RungCompute                  // work: context, or the precision of the model
	RungModel                    // the model itself: another one answers
	RungRecent                   // the freshness: an answer from before
	NumRungKinds = iota
)

var rungKindNames = [NumRungKinds]string{"features", "compute", "model", "recent"}

func (k RungKind) String() string { return rungKindNames[k] }

// needs is the consent that a rung of the kind needs.
func (k RungKind) needs() Consent {
	return [NumRungKinds]Consent{MayFeatures, MayCompute, MayModel, MayRecent}[k]
}

// Rung is one step of a model's ladder: a cheaper form of a request. What it
// does to the body is the shell's; the core knows what that comes to in numbers
// (Request.Rungs) and what it really saved.
type Rung struct {
	Name string
	Kind RungKind
	// Model is the pool that serves instead, for RungModel, and for RungCompute
	// where other deployments of the same model do; "" is the request's own.
	Model string
	// Saving is the per cent of a call's time that it is believed to save beyond
	// what the numbers of tokens say, until it was measured.
	Saving int
	Off    bool // it is never used
}

// Rungs is a set of rungs, by their index in the ladder.
type Rungs uint8

// Has says whether rung i is in the set.
func (s Rungs) Has(i int) bool { return s&(1<<i) != 0 }

// LadderPolicy is when a model's ladder is stepped down and up. There are four
// levels: nothing, features, work, another model.
type LadderPolicy struct {
	Rungs []Rung // in the order of use; at most MaxRungs
	// Up is the pressure in per cent at which interactive requests step down to
	// levels 1, 2 and 3: the predicted wait of what it may be at most, the
	// watermark High or what deadlines leave. Lower classes step down earlier:
	// standard at four fifths of it, batch at three, speculative at two.
	// Default 50, 70, 90.
	Up [3]int
	// Down is the share of Up, in per cent, below which a level is left again.
	// Default 50.
	Down int
	// Stay is how long a level is kept at least before it is left for a better
	// one. Default 15 s.
	Stay time.Duration
	// Hold is how long the pressure must be gone before a session that was moved
	// to another model goes back to its own. Default 1 min.
	Hold time.Duration
}

// NumLevels is how many levels a ladder has, the one without any degradation
// included.
const NumLevels = 4

func (l *LadderPolicy) defaults() {
	for i, d := range [...]int{50, 70, 90} {
		setDefault(&l.Up[i], d)
	}
	setDefault(&l.Down, 50)
	setDefault(&l.Stay, 15*time.Second)
	setDefault(&l.Hold, time.Minute)
}

// Shape is what a rung, with those before it, makes of one request.
type Shape struct {
	Changes   bool  // the rung changes something of this request, and may be used for it
	Input     int64 // tokens, estimated
	MaxOutput int64 // as in Request
}
