package breaker

import "time"

// Told is what a provider's headers say of one limit. Limit is 0 where nothing
// was said.
type Told struct {
	Limit     int64         // the most that fits
	Remaining int64         // what is left now; below zero when it was not said
	Reset     time.Duration // until all of it is back; 0 when it was not said
}
