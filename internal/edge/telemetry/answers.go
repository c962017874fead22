package telemetry

// AnswersState is the answer cache at the moment of a scrape.
type AnswersState struct {
	Hits, Misses uint64 // look-ups
	Stored       uint64 // answers kept
	Refused      uint64 // answers that were too large, or came without a time
	Evicted      uint64 // answers dropped for others or for their age
	Answers      int    // held
	Bytes        int64  // held, with keys
}

// WatchAnswers has snapshot called at each scrape for the state of the answer
// cache. It may be called once, and panics after that. The snapshot must be
// quick and safe to call from any goroutine.
func (m *Metrics) WatchAnswers(snapshot func() AnswersState) {
	c := &figureCollector[AnswersState]{snapshot: snapshot, prefix: "spillway_answer_cache_"}
	c.counter("hits_total", "Look-ups that found an answer. Whether it was young enough for the caller is in spillway_recalled_total.",
		func(s *AnswersState) float64 { return float64(s.Hits) })
	c.counter("misses_total", "Look-ups that found none.",
		func(s *AnswersState) float64 { return float64(s.Misses) })
	c.counter("stored_total", "Answers that were kept.",
		func(s *AnswersState) float64 { return float64(s.Stored) })
	c.counter("refused_total", "Answers that were not kept because they are too large, or came without a time.",
		func(s *AnswersState) float64 { return float64(s.Refused) })
	c.counter("evicted_total", "Answers that were dropped for others or for their age.",
		func(s *AnswersState) float64 { return float64(s.Evicted) })
	c.gauge("answers", "Answers that are held.",
		func(s *AnswersState) float64 { return float64(s.Answers) })
	c.gauge("bytes", "What they take in memory, with their keys.",
		func(s *AnswersState) float64 { return float64(s.Bytes) })
	m.reg.MustRegister(c)
}
