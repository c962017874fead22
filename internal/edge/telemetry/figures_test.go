package telemetry

import (
	"testing"
	"time"
)

func TestLedgerState(t *testing.T) {
	m, reg := setup(t)
	s := LedgerState{Appended: 100, Written: 90, Lost: 2, Failures: 7, Spool: 4096, Oldest: 90 * time.Second}
	m.WatchLedger(func() LedgerState { return s })
	expect(t, reg, `
		spillway_ledger_appended_total{} 100
		spillway_ledger_written_total{} 90
		spillway_ledger_lost_total{} 2
		spillway_ledger_write_errors_total{} 7
		spillway_ledger_spool_bytes{} 4096
		spillway_ledger_oldest_unwritten_seconds{} 90
		spillway_ledger_up{} 0
	`)
	s = LedgerState{Appended: 100, Written: 100, Up: true} // asked anew at each scrape
	expect(t, reg, `
		spillway_ledger_written_total{} 100
		spillway_ledger_oldest_unwritten_seconds{} 0
		spillway_ledger_up{} 1
	`)
	lint(t, reg)
}

func TestAnswerCacheState(t *testing.T) {
	m, reg := setup(t)
	s := AnswersState{Hits: 5, Misses: 15, Stored: 12, Refused: 3, Evicted: 4, Answers: 8, Bytes: 65_536}
	m.WatchAnswers(func() AnswersState { return s })
	expect(t, reg, `
		spillway_answer_cache_hits_total{} 5
		spillway_answer_cache_misses_total{} 15
		spillway_answer_cache_stored_total{} 12
		spillway_answer_cache_refused_total{} 3
		spillway_answer_cache_evicted_total{} 4
		spillway_answer_cache_answers{} 8
		spillway_answer_cache_bytes{} 65536
	`)
	s.Hits++ // asked anew at each scrape
	expect(t, reg, `spillway_answer_cache_hits_total{} 6`)
	lint(t, reg)
}
