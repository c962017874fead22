package config

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// maxFloors is what the floors of all classes may add up to, in per cent. A
// larger sum would leave the strict order of classes less than half of a pool.
const maxFloors = 50

// Classes is how each class is treated, the most urgent first.
type Classes struct {
	// A person waits. Default max_wait 30s, floor 0.
	Interactive ClassPolicy `yaml:"interactive"`
	// A program waits. Default max_wait 60s, floor 5.
	Standard ClassPolicy `yaml:"standard"`
	// Nobody waits on the line. Default max_wait 300s, floor 2.
	Batch ClassPolicy `yaml:"batch"`
	// Useful only if it costs nothing. Default max_wait 10s, floor 0.
	Speculative ClassPolicy `yaml:"speculative"`
}

// ClassPolicy is how one class is treated in every pool.
type ClassPolicy struct {
	// Time from arrival to the first token, or to the end where nothing is streamed, for a request that names none. Default 10m, as in the official SDKs. Smaller refuses sooner.
	Deadline time.Duration `yaml:"deadline" jsonschema:"exclusiveMinimum=0"`
	// Time in the queue alone, whatever the deadline. Smaller refuses sooner.
	MaxWait time.Duration `yaml:"max_wait" jsonschema:"exclusiveMinimum=0"`
	// Share of a pool's time, in per cent, that the class gets while it has work, however much better classes want. All floors stay below 50 together. Smaller lets it starve.
	Floor Percent `yaml:"floor" jsonschema:"minimum=0,maximum=49"`
	// How sure a prediction must be that the request makes its deadline, in per cent. Default 95. Smaller admits more, and more of it late.
	Confidence Percent `yaml:"confidence" jsonschema:"minimum=1,maximum=99"`
}

// of returns the four by class.
func (c *Classes) of(k admit.Class) *ClassPolicy {
	return [admit.NumClasses]*ClassPolicy{&c.Interactive, &c.Standard, &c.Batch, &c.Speculative}[k]
}

// DeadlineOf is the deadline of a request of the class that names none.
func (c *Classes) DeadlineOf(k admit.Class) time.Duration { return c.of(k).Deadline }

// MaxWaitOf is the longest time in the queue that the class may have.
func (c *Classes) MaxWaitOf(k admit.Class) time.Duration { return c.of(k).MaxWait }

func (c *Classes) setDefaults() {
	for k := range admit.Class(admit.NumClasses) {
		d := admit.DefaultClass(k)
		*c.of(k) = ClassPolicy{Deadline: d.Deadline, MaxWait: d.MaxWait, Floor: Percent(d.Floor), Confidence: Percent(d.Confidence)}
	}
}

func (c *Classes) check(d *document) {
	sum := Percent(0)
	for k := range admit.Class(admit.NumClasses) {
		sum += c.of(k).Floor
	}
	if sum >= maxFloors {
		d.fail("classes", "the floors add up to %d%% (defaults: standard 5, batch 2); all together must stay below %d%%", sum, maxFloors)
	}
}
