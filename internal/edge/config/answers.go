package config

import "time"

// Answers is the cache of whole answers. A model must opt in with cache: true,
// and a caller with a header.
type Answers struct {
	// Bytes of answers that are kept in memory. Default 0: no cache. Smaller forgets sooner; what no longer fits after a change is dropped.
	Size Bytes `yaml:"size" jsonschema:"minimum=0"`
	// How long an answer is kept. Default 10m. Smaller answers afresh more often.
	TTL time.Duration `yaml:"ttl" jsonschema:"exclusiveMinimum=0"`
}

func (a *Answers) setDefaults() { a.TTL = 10 * time.Minute }
