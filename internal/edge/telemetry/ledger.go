package telemetry

import "time"

// LedgerState is the usage ledger at the moment of a scrape. The counts are of
// this process, but for what an earlier one left in the spool.
type LedgerState struct {
	Appended int64         // rows that are in the spool or in the database
	Written  int64         // rows that were added to the database
	Lost     int64         // rows that are in neither
	Failures int64         // of writing to the database
	Spool    int64         // bytes on disk
	Most     int64         // bytes that it may be
	Oldest   time.Duration // age of the oldest row that is not in the database; 0 if all are
	Up       bool          // the last attempt to write to the database worked
}

// WatchLedger has snapshot called at each scrape for the state of the ledger.
// It may be called once, and panics after that. The snapshot must be quick and
// safe to call from any goroutine.
func (m *Metrics) WatchLedger(snapshot func() LedgerState) {
	c := &figureCollector[LedgerState]{snapshot: snapshot, prefix: "spillway_ledger_"}
	c.counter("appended_total", "Rows of usage that were kept, in the spool or in the database.",
		func(s *LedgerState) float64 { return float64(s.Appended) })
	c.counter("written_total", "Rows of usage that were added to the database.",
		func(s *LedgerState) float64 { return float64(s.Written) })
	c.counter("lost_total", "Rows of usage that could not be kept anywhere.",
		func(s *LedgerState) float64 { return float64(s.Lost) })
	c.counter("write_errors_total", "Failures of writing to the database. The rows stay in the spool.",
		func(s *LedgerState) float64 { return float64(s.Failures) })
	c.gauge("spool_bytes", "What the spool takes on disk. A part may be written already.",
		func(s *LedgerState) float64 { return float64(s.Spool) })
	c.gauge("spool_limit_bytes", "What the spool may take on disk: ledger.spool.",
		func(s *LedgerState) float64 { return float64(s.Most) })
	c.gauge("oldest_unwritten_seconds", "Age of the oldest row that is not in the database; 0 if all are.",
		func(s *LedgerState) float64 { return s.Oldest.Seconds() })
	c.gauge("up", "1 if the last attempt to write to the database worked.",
		func(s *LedgerState) float64 {
			if s.Up {
				return 1
			}
			return 0
		})
	m.reg.MustRegister(c)
}
