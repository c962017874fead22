package dialect

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Thinking is said in two ways. Models up to Claude 4.5, and models of others
// behind the same API, take a budget of tokens; later ones think as much as they
// find right and take an effort. Between the two stand these thresholds: an
// effort is worth so many tokens, and a budget is the least effort that is worth
// as much, or else the highest.
var messagesEfforts = [...]struct {
	effort string
	budget int64 // tokens
}{
	{"minimal", messagesLeastBudget},
	{"low", 4096},
	{"medium", 8192},
	{"high", 16384},
}

// messagesLeastBudget is the smallest budget that the API takes, in tokens.
const messagesLeastBudget = 1024

// MessagesMaxOutput is the max_tokens of a request that names no cap, as the API
// wants one: so many tokens beside those for thinking. Every model can do that.
const MessagesMaxOutput = 4096

// readThinking reads the configuration of thinking.
func (r *messagesRequest) readThinking(v gjson.Result) *Error {
	r.thinking = messagesType(v)
	switch r.thinking {
	case "enabled", "disabled", "adaptive":
	case "":
		return malformed("type", "is missing")
	default:
		return unsupported("type", "must be enabled, disabled or adaptive")
	}
	err := eachMember(v, func(name string, v gjson.Result) *Error {
		switch {
		case name == "type":
			return nil
		case name == "budget_tokens" && r.thinking == "enabled":
			return messagesInteger(v, messagesLeastBudget, &r.Budget)
		case name == "display" && v.Str == "summarized" && r.thinking != "disabled":
			r.drop("thinking.display")
			return nil
		}
		return messagesUnknown()
	})
	if err == nil && r.thinking == "enabled" && r.Budget == nil {
		err = malformed("budget_tokens", "is missing")
	}
	return err
}

// readEffort reads output_config.effort. What is beyond high becomes high: other
// providers have no more to give.
func (r *messagesRequest) readEffort(v gjson.Result) *Error {
	switch v.Str {
	case "low", "medium", "high":
		r.effort = v.Str
	case "xhigh", "max":
		r.effort = "high"
		r.drop("output_config.effort: " + v.Str)
	default:
		return unsupported("", "must be low, medium, high, xhigh or max")
	}
	return nil
}

type messagesThinking struct {
	Type   string `json:"type"`
	Budget int64  `json:"budget_tokens,omitzero"`
}

// writeThinking says how much to think, and the cap of output tokens with it.
//
// The budget is part of max_tokens. If the request names a cap, an effort gets at
// most half of it, so that an answer has room, and so does a budget that is not
// below the cap; where half is less than the least budget there is no thinking.
// Thinking is left out also where the API would
// refuse it: beside a forced tool, another temperature than 1, a top_k or a
// top_p below 0.95, and in the middle of a chain of tool calls that began
// without it. Whatever is left out is noted in Dropped.
func (w *messagesBody) writeThinking(r *Request) *Error {
	name, budget := "budget", int64(0)
	switch {
	case r.Budget != nil && *r.Budget < 0:
		return unsupported("budget", "must be a number of tokens, not %d", *r.Budget)
	case r.Budget != nil:
		budget = *r.Budget
	case r.Effort != "" && r.Effort != "none":
		if name, budget = "effort", messagesWorth(r.Effort); budget == 0 {
			return unsupported("effort", "%.32q is not one of none, minimal, low, medium and high", r.Effort)
		}
	}
	switch {
	case r.MaxOutput == nil:
		w.MaxTokens = MessagesMaxOutput
		if budget > 0 {
			w.MaxTokens += max(budget, messagesLeastBudget)
		}
	case *r.MaxOutput < 1:
		return malformed("max_output", "must be at least 1")
	default:
		w.MaxTokens = *r.MaxOutput
	}
	if budget == 0 {
		if r.Budget != nil || r.Effort == "none" {
			w.Thinking = &messagesThinking{Type: "disabled"}
		}
		return nil
	}
	if messagesNoThought(r) {
		r.drop(name)
		return nil
	}
	if messagesAdaptive(r.Model) {
		w.Thinking = &messagesThinking{Type: "adaptive"}
		w.config().Effort = messagesEffortOf(budget)
		return nil
	}
	budget = max(budget, messagesLeastBudget)
	if r.MaxOutput != nil && (r.Budget == nil || budget >= w.MaxTokens) {
		budget = min(budget, w.MaxTokens/2)
	}
	if budget < messagesLeastBudget {
		r.drop(name)
		return nil
	}
	w.Thinking = &messagesThinking{Type: "enabled", Budget: budget}
	return nil
}

// messagesWorth is what an effort is worth in tokens; 0 if it is none.
func messagesWorth(effort string) int64 {
	for _, e := range messagesEfforts {
		if e.effort == effort {
			return e.budget
		}
	}
	return 0
}

// messagesEffortOf is the effort for a budget, in the words of the API: it has
// none below low.
func messagesEffortOf(budget int64) string {
	for _, e := range messagesEfforts[1:] {
		if budget <= e.budget {
			return e.effort
		}
	}
	return "high"
}

// messagesOldModels are the parts of their names that tell Claude models which
// take a budget and no effort. Those to come are of the other kind.
var messagesOldModels = [...]string{
	"claude-2", "claude-3", "claude-instant",
	"opus-4-0", "opus-4-1", "opus-4-2025", "opus-4-5", "opus-4@",
	"sonnet-4-0", "sonnet-4-2025", "sonnet-4-5", "sonnet-4@",
	"haiku-4-5",
}

// messagesAdaptive says whether a model takes an effort in place of a budget.
func messagesAdaptive(model string) bool {
	if !strings.Contains(model, "claude") {
		return false
	}
	model = strings.ReplaceAll(model, ".", "-")
	for _, old := range messagesOldModels {
		if strings.Contains(model, old) {
			return false
		}
	}
	return !strings.HasSuffix(model, "-4")
}

// messagesNoThought says whether the API refuses to think on such a request.
func messagesNoThought(r *Request) bool {
	return r.Choice == ChoiceRequired || r.Choice == ChoiceNamed ||
		r.Temperature != nil && *r.Temperature != 1 ||
		r.TopP != nil && *r.TopP < 0.95 || r.TopK != nil ||
		messagesThoughtless(r.Turns)
}

// messagesThoughtless says whether the conversation is in the middle of a chain
// of tool calls that began without thinking, as it does if the caller's dialect
// cannot bring signatures back. A chain goes back over results to their calls,
// up to words of the user that came without results.
func messagesThoughtless(turns []Turn) bool {
	called, user, results := false, false, false
	for i := len(turns) - 1; i >= 0; i-- {
		if turns[i].Role == Assistant {
			if user && !results {
				break
			}
			user, results = false, false
		} else {
			user = true
		}
		for _, p := range turns[i].Parts {
			switch p.Kind {
			case ToolResult:
				results = true
			case ToolCall:
				called = true
			case Redacted:
				if !unsealed(p.Data) {
					return false
				}
			case Thinking:
				if !unsealed(p.Signature) {
					return false
				}
			}
		}
	}
	return called
}
