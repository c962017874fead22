package ops

import (
	"fmt"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// questions are what each stage asks of a request.
var questions = [admit.NumStages]string{
	admit.StageUnknown:     "are tenant, model and class configured?",
	admit.StageDeadline:    "is there still time?",
	admit.StageCapacity:    "is anything upstream usable?",
	admit.StageConcurrency: "has the tenant room for one more at once?",
	admit.StageRequests:    "has the tenant requests left this minute?",
	admit.StageTokens:      "has the tenant tokens left this minute?",
	admit.StageSpend:       "have its budgets room for what it may cost?",
	admit.StagePace:        "is money spent slowly enough?",
	admit.StageFree:        "can it run at once?",
	admit.StageRetry:       "if it is a retry, is it within the budget for them?",
	admit.StageShed:        "is its class let in at this wait?",
	admit.StageWait:        "can it be answered in time?",
	admit.StageBound:       "has the queue a place?",
	admit.StageQueue:       "it waits for its turn",
}

// settings name what an operator would turn. TENANT and MODEL are filled in.
var settings = [admit.NumStages]string{
	admit.StageUnknown:     "models, tenants",
	admit.StageDeadline:    "classes.CLASS.deadline, for callers who name none",
	admit.StageCapacity:    "models.MODEL.deployments, models.MODEL.breaker",
	admit.StageConcurrency: "tenants[TENANT].concurrency",
	admit.StageRequests:    "tenants[TENANT].models.MODEL.rpm or tenants[TENANT].limits.rpm",
	admit.StageTokens:      "tenants[TENANT].models.MODEL.tpm or tenants[TENANT].limits.tpm",
	admit.StageSpend:       "the budget that the limit names: budget, tenants[TENANT].budget, budgets or models.MODEL.budget",
	admit.StagePace:        "the pace of the budget that the limit names",
	admit.StageFree:        "models.MODEL.deployments[].concurrency",
	admit.StageRetry:       "retry",
	admit.StageShed:        "models.MODEL.queue.low, high, depth_low and depth_high",
	admit.StageWait:        "models.MODEL.deployments[].concurrency, classes.CLASS.max_wait",
	admit.StageBound:       "models.MODEL.queue",
	admit.StageLate:        "models.MODEL.deployments[].concurrency",
	admit.StageEvicted:     "models.MODEL.queue",
}

func setting(s admit.Stage, r *admit.Request) string {
	return strings.NewReplacer("TENANT", r.Tenant, "MODEL", r.Model, "CLASS", r.Class.String()).Replace(settings[s])
}

// found is what a stage measured: the figure, its bound and their unit in words.
func found(s admit.Stage, limit string, figure, bound int64) string {
	if limit == "" {
		return "nothing to measure"
	}
	show := func(n int64) string { return fmt.Sprint(n) }
	unit := strings.TrimPrefix(limit, "the tenant's ")
	switch {
	case s == admit.StageSpend || s == admit.StagePace:
		show = dollars
	case s == admit.StageDeadline:
		return fmt.Sprintf("%s of the %s that it has are over", seconds(figure), seconds(bound))
	case s == admit.StageLate:
		return fmt.Sprintf("it has waited %s of %s, %s, and would not end in time", seconds(figure), seconds(bound), limit)
	case s == admit.StageEvicted:
		return fmt.Sprintf("it lost %s to one that goes first, after %s of the %s that it has", limit, seconds(figure), seconds(bound))
	case limit == "the predicted wait" && s == admit.StageQueue:
		return "the predicted wait is " + seconds(figure)
	case limit == "the predicted wait":
		return fmt.Sprintf("the predicted wait is %s, and at most %s are let in", seconds(figure), seconds(bound))
	case s == admit.StageUnknown:
		return limit
	}
	if bound == 0 {
		return fmt.Sprintf("%s: %s, without a limit", unit, show(figure))
	}
	return fmt.Sprintf("%s: %s of %s", unit, show(figure), show(bound))
}

// became says a decision in a sentence.
func became(d *admit.Decision) string {
	var b strings.Builder
	switch d.Verdict {
	case admit.Run:
		b.WriteString("it runs at once")
	case admit.Queue:
		fmt.Fprintf(&b, "it waits, by prediction %s", seconds(d.Wait.Milliseconds()))
	case admit.Reject:
		fmt.Fprintf(&b, "it is refused (%s): %s", d.Stage, found(d.Stage, d.Limit, d.Figure, d.Bound))
		switch {
		case d.NoRetry:
			b.WriteString("; coming back by itself would not help")
		case d.RetryAfter > 0:
			fmt.Fprintf(&b, "; it is told to come back in %s", d.RetryAfter.Round(100*time.Millisecond))
		}
	case admit.Recall:
		b.WriteString("it gets an answer from before")
	case admit.Defer:
		b.WriteString("it is answered later")
	}
	if d.Model != "" {
		b.WriteString(", served by " + d.Model)
	}
	if d.Rungs != 0 {
		b.WriteString(", in a cheaper form")
	}
	if d.Observed {
		b.WriteString("; it would be refused if admission did not only observe")
	}
	return b.String()
}

func seconds(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func dollars(micros int64) string { return fmt.Sprintf("$%d.%06d", micros/1_000_000, micros%1_000_000) }
