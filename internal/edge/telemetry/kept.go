package telemetry

import (
	"strconv"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// keptBy is why the trace of a request is kept.
type keptBy uint8

const (
	notKept keptBy = iota
	keptSample
	keptParent
	keptRefused
	keptDegraded
	keptFailed // also cut
	keptLate
)

var keptNames = [...]string{"", "sample", "parent", "refused", "degraded", "failed", "late"}

func (k keptBy) String() string { return keptNames[k] }

// marked says what is known at arrival: whether the request is kept however it
// ends. The share goes by the end of the trace's ID, as the standard has it, so
// that all who see a trace with the same share keep the same ones.
func (r *Record) marked(share int, parent bool) keptBy {
	if r.Sampled && parent {
		return keptParent
	}
	if len(r.TraceID) < randomDigits {
		return notKept
	}
	n, err := strconv.ParseUint(r.TraceID[len(r.TraceID)-randomDigits:], 16, 64)
	if err == nil && n >= (100-uint64(share))*(1<<(4*randomDigits)/100) && share > 0 {
		return keptSample
	}
	return notKept
}

// randomDigits of the end of a trace's ID are random by the standard: 56 bits.
const randomDigits = 14

// worth says why a request that has ended is kept whatever the share; notKept if
// it is an ordinary one. A caller's own fault or leaving is ordinary: whoever
// has no key must not fill the collector.
func (r *Record) worth() keptBy {
	switch {
	case r.Outcome == Refused:
		return keptRefused
	case r.Outcome == Failed || r.Outcome == Cut:
		return keptFailed
	case r.Late():
		return keptLate
	case len(r.Rungs) > 0 || r.Decision.Model != "" || r.Decision.Verdict == admit.Recall:
		return keptDegraded
	}
	return notKept
}

// Late says that the answer missed its deadline, which for a stream is that of
// its first token.
func (r *Record) Late() bool {
	if r.Outcome == TimedOut {
		return true
	}
	took := r.Total
	if r.TTFT > 0 {
		took = r.TTFT
	}
	return r.Outcome == Answered && r.Deadline > 0 && took > r.Deadline
}
