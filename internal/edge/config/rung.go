package config

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Rung is one step of a model's ladder: a cheaper form of a request. It takes
// away one kind of thing: features (drop, effort, max_output_tokens, max_turns,
// any of them together), work (max_input_tokens or precision), the model
// (model), or freshness (max_age).
type Rung struct {
	// Name in headers, metrics and logs: letters, digits, dots, dashes and underscores. Unique in the ladder.
	Name string `yaml:"name" jsonschema:"required"`
	// Members of a request that are left out. Default none.
	Drop []Feature `yaml:"drop"`
	// The most that a request may ask of reasoning. Default as asked.
	Effort Effort `yaml:"effort"`
	// The most tokens of an answer. Default as asked. Smaller saves more and cuts more answers off.
	MaxOutputTokens int64 `yaml:"max_output_tokens" jsonschema:"minimum=1,maximum=1000000000"`
	// Turns of a conversation that are kept, the newest. Default all. Smaller saves more and forgets more.
	MaxTurns int `yaml:"max_turns" jsonschema:"minimum=1,maximum=1000000"`
	// Tokens of input that are kept. Default all. Smaller saves more and forgets more.
	MaxInputTokens int64 `yaml:"max_input_tokens" jsonschema:"minimum=1,maximum=1000000000"`
	// Precision of the deployments that serve instead. They then serve nothing but such requests, in a pool of their own that is called MODEL@PRECISION. Default none.
	Precision string `yaml:"precision"`
	// Model that serves instead. Default none.
	Model string `yaml:"model"`
	// Age up to which an answer from before is given. It must be the last rung. Default none.
	MaxAge time.Duration `yaml:"max_age" jsonschema:"exclusiveMinimum=0"`
	// Share of a call's time that it is believed to save beyond what the numbers of tokens say, until it was measured. Default 0.
	Saving Percent `yaml:"saving" jsonschema:"minimum=0,maximum=99"`
	// What it means for people, in one line, to 200 characters. Default none.
	Impact string `yaml:"impact"`
	// Whether it is used. Default true. With false the deployments of a precision still stand aside.
	Enabled bool `yaml:"enabled"`

	// Kind is what it takes away.
	Kind admit.RungKind `yaml:"-"`
}

// Feature is a member of a request that it can do without.
type Feature string

const FeatureLogprobs Feature = "logprobs" // the probabilities of tokens

// features are all there are.
var features = []string{string(FeatureLogprobs)}

func (f Feature) String() string { return string(f) }

func (Feature) choices() []string { return features }

// Effort is how much a request asks of reasoning, in the words of OpenAI.
type Effort string

const (
	EffortNone    Effort = "none"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
)

func (e Effort) String() string { return string(e) }

func (Effort) choices() []string {
	return []string{string(EffortNone), string(EffortMinimal), string(EffortLow), string(EffortMedium)}
}

const maxImpact = 200

func (r *Rung) setDefaults() { r.Enabled = true }

// kinds are those of what was written: one in a sound rung.
func (r *Rung) kinds() (kinds []admit.RungKind) {
	for kind, written := range [admit.NumRungKinds]bool{
		admit.RungFeatures: len(r.Drop) > 0 || r.Effort != "" || r.MaxOutputTokens > 0 || r.MaxTurns > 0,
		admit.RungCompute:  r.MaxInputTokens > 0 || r.Precision != "",
		admit.RungModel:    r.Model != "",
		admit.RungRecent:   r.MaxAge > 0,
	} {
		if written {
			kinds = append(kinds, admit.RungKind(kind))
		}
	}
	return kinds
}

func (c *Config) checkRung(d *document, r *Rung, model, path string) {
	if at := join(path, "name"); !plainName(r.Name) {
		d.fail(at, "a rung's name is 1 to %d letters, digits, dots, dashes and underscores", maxName)
	}
	switch kinds := r.kinds(); {
	case len(kinds) == 0:
		d.fail(path, "does nothing; write drop, effort, max_output_tokens, max_turns, max_input_tokens, precision, model or max_age")
	case len(kinds) > 1:
		d.fail(path, "takes away two kinds of things, %s and %s; make a rung of each", kinds[0], kinds[1])
	case r.MaxInputTokens > 0 && r.Precision != "":
		d.fail(path, "max_input_tokens and precision are two things; make a rung of each")
	default:
		r.Kind = kinds[0]
	}
	for i, f := range r.Drop {
		if slices.Contains(r.Drop[:i], f) {
			d.fail(index(join(path, "drop"), i), "%s is written twice", f)
		}
	}
	if at := join(path, "model"); r.Model != "" {
		if _, known := c.Models[r.Model]; !known {
			d.fail(at, "no model is called %s%s", d.quote(at, r.Model), nearest(r.Model, slices.Sorted(maps.Keys(c.Models))))
		} else if r.Model == model {
			d.fail(at, "is this model itself; name another")
		}
	}
	if utf8.RuneCountInString(r.Impact) > maxImpact || strings.ContainsFunc(r.Impact, unicode.IsControl) {
		d.fail(join(path, "impact"), "is one line of text, at most %d characters", maxImpact)
	}
}
