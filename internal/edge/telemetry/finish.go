package telemetry

import "github.com/spillway-llm/spillway/internal/core/admit"

// Finish is why an answer ended, in one vocabulary for all APIs.
type Finish uint8

const (
	FinishNone      Finish = iota // there is no answer, or it does not say
	FinishStop                    // the model had said all, or met a stop sequence
	FinishLength                  // a cap of tokens, or the end of the context
	FinishToolCalls               // it wants tool results
	FinishFilter                  // a content filter
	FinishRefusal                 // the model refused
	FinishOther                   // anything else
	numFinishes     = iota
)

var finishNames = [numFinishes]string{"", "stop", "length", "tool_calls", "content_filter", "refusal", "other"}

func (f Finish) String() string {
	if f < numFinishes {
		return finishNames[f]
	}
	return finishNames[FinishOther]
}

// ParseFinish reads the word of an upstream, in the form of a surface. A word
// that is not known is FinishOther, none is FinishNone.
func ParseFinish(word string) Finish {
	switch word {
	case "":
		return FinishNone
	case "stop", "end_turn", "stop_sequence", "completed":
		return FinishStop
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded":
		return FinishLength
	case "tool_calls", "function_call", "tool_use":
		return FinishToolCalls
	case "content_filter":
		return FinishFilter
	case "refusal":
		return FinishRefusal
	}
	return FinishOther
}

// asAsked is the place of what was not degraded where degraded traffic is told
// apart. The places after it are the kinds of rungs, in order.
const (
	asAsked     = 0
	numDegraded = 1 + admit.NumRungKinds
)

// degraded is the place of the request: that of its lowest rung. What was
// refused was not degraded, whatever it was looked at with.
func (r *Record) degraded() int {
	switch {
	case r.Recalled && r.Decision.Verdict == admit.Recall:
		return 1 + int(admit.RungRecent)
	case len(r.Rungs) > 0 && (r.ran || r.Recalled):
		return 1 + int(r.Lowest)
	}
	return asAsked
}

func degradedLabel(place int) string {
	if place == asAsked {
		return "none"
	}
	return admit.RungKind(place - 1).String()
}

// recalledFresh is an answer that the caller took for as good as a new one;
// recalledStale is one in place of a refusal.
const recalledFresh, recalledStale = 0, 1

var recalledNames = [2]string{"fresh", "stale"}

// recalled says which of them the answer was. It has meaning if Recalled is set.
func (r *Record) recalled() int {
	if r.Decision.Verdict == admit.Recall {
		return recalledStale
	}
	return recalledFresh
}

// unpriced says that something was spent that Cost does not hold.
func (r *Record) unpriced() bool {
	return r.Attempts > 0 && !r.Priced && (r.Input > 0 || r.Output > 0)
}
