package config

import "time"

// A setting that is a number or one word holds wordSaid for the word. Zero
// means that nothing was written.
const wordSaid = -1

// worded is a number in whose place one word may stand.
type worded interface {
	word() string
	purpose() string // what the word is written for
}

// Calls is a number of calls at once, or the word auto.
type Calls int

func (Calls) word() string    { return "auto" }
func (Calls) purpose() string { return "have it learnt" }

// Count is a number that sets something off, or the word off. It is not
// written as 0: that could be read as at once, always or no limit.
type Count int

func (Count) word() string    { return "off" }
func (Count) purpose() string { return "switch it off" }

// Threshold is a time above which something happens, or the word off, for the
// same reason.
type Threshold time.Duration

func (Threshold) word() string    { return "off" }
func (Threshold) purpose() string { return "switch it off" }
