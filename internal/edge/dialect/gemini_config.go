package dialect

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

type geminiGenerate struct {
	Max        *int64          `json:"maxOutputTokens,omitzero"`
	Temp       *float64        `json:"temperature,omitzero"`
	TopP       *float64        `json:"topP,omitzero"`
	TopK       *int64          `json:"topK,omitzero"`
	Stop       []string        `json:"stopSequences,omitzero"`
	Seed       *int64          `json:"seed,omitzero"`
	Presence   *float64        `json:"presencePenalty,omitzero"`
	Frequency  *float64        `json:"frequencyPenalty,omitzero"`
	Media      string          `json:"responseMimeType,omitzero"`
	Schema     jsontext.Value  `json:"responseJsonSchema,omitzero"`
	Thinking   *geminiThinking `json:"thinkingConfig,omitzero"`
	Resolution string          `json:"mediaResolution,omitzero"`
}

type geminiThinking struct {
	Budget  *int64 `json:"thinkingBudget,omitzero"`
	Level   string `json:"thinkingLevel,omitzero"`
	Include bool   `json:"includeThoughts,omitzero"`
}

// config takes a member of generationConfig.
func (r *geminiRequest) config(name string, v gjson.Result) (err *Error) {
	switch name {
	case "maxOutputTokens":
		return geminiInt(v, &r.MaxOutput)
	case "temperature":
		return geminiFloat(v, &r.Temperature)
	case "topP":
		return geminiFloat(v, &r.TopP)
	case "topK":
		return geminiInt(v, &r.TopK)
	case "seed":
		return geminiInt(v, &r.Seed)
	case "presencePenalty":
		return geminiFloat(v, &r.PresencePenalty)
	case "frequencyPenalty":
		return geminiFloat(v, &r.FrequencyPenalty)
	case "stopSequences":
		return geminiStrings(v, &r.Stop)
	case "candidateCount":
		if v.Num != 1 {
			return unsupported("", "only one candidate can be asked of this model's provider")
		}
		return nil
	case "responseLogprobs":
		if v.Type == gjson.False {
			return nil
		}
	case "responseModalities":
		return eachItem(v, func(_ int, v gjson.Result) *Error {
			if v.Str != "TEXT" {
				return unsupported("", "only TEXT can be asked of this model's provider")
			}
			return nil
		})
	case "responseMimeType":
		switch v.Str {
		case "text/plain":
		case "application/json":
			if r.Format.Kind == FormatText {
				r.Format.Kind = FormatJSON
			}
		default:
			return geminiUnknown()
		}
		return nil
	case "responseSchema":
		r.Format.Kind = FormatSchema
		r.Format.Schema, err = appendGeminiSchema(nil, v, 0)
		return err
	case "responseJsonSchema":
		if !v.IsObject() {
			return malformed("", "must be an object")
		}
		r.Format.Kind, r.Format.Schema = FormatSchema, Raw(v.Raw)
		return nil
	case "mediaResolution":
		r.detail = geminiDetail(v.Str)
		return nil
	case "thinkingConfig":
		return geminiMembers(v, r.thinking)
	}
	return geminiUnknown()
}

func (r *geminiRequest) thinking(name string, v gjson.Result) *Error {
	switch name {
	case "includeThoughts": // thoughts are shown where they come
		r.drop("generationConfig.thinkingConfig.includeThoughts")
		return nil
	case "thinkingBudget":
		var n *int64
		if err := geminiInt(v, &n); err != nil {
			return err
		}
		switch {
		case *n > 0:
			r.Budget = n
		case *n == 0:
			r.Effort = "none"
		case *n == -1: // as much as it takes: what the others do unasked
			r.drop("generationConfig.thinkingConfig.thinkingBudget")
		default:
			return malformed("", "must be a number of tokens, 0 for none, or -1")
		}
		return nil
	case "thinkingLevel":
		switch v.Str {
		case "MINIMAL", "minimal":
			r.Effort = "minimal"
		case "LOW", "low":
			r.Effort = "low"
		case "MEDIUM", "medium":
			r.Effort = "medium"
		case "HIGH", "high":
			r.Effort = "high"
		case "THINKING_LEVEL_UNSPECIFIED":
		default:
			return malformed("", "must be MINIMAL, LOW, MEDIUM or HIGH")
		}
		return nil
	}
	return geminiUnknown()
}

// generate writes the generationConfig.
func (w *geminiWriter) generate(g *geminiGenerate) *Error {
	r := w.r
	*g = geminiGenerate{
		Max: r.MaxOutput, Temp: r.Temperature, TopP: r.TopP, TopK: r.TopK, Seed: r.Seed,
		Presence: r.PresencePenalty, Frequency: r.FrequencyPenalty,
	}
	if len(r.Stop) > 0 {
		g.Stop = r.Stop
	}
	switch r.Format.Kind {
	case FormatJSON:
		g.Media = "application/json"
	case FormatSchema:
		g.Media, g.Schema = "application/json", jsontext.Value(r.Format.Schema)
		if g.Schema.Kind() != '{' || !g.Schema.IsValid(geminiJSON) {
			return malformed("format.schema", "must be a JSON object")
		}
	}
	switch low, high := w.details["low"], w.details["high"]; {
	case low && len(w.details) == 1:
		g.Resolution = "MEDIA_RESOLUTION_LOW"
	case high && len(w.details) == 1:
		g.Resolution = "MEDIA_RESOLUTION_HIGH"
	case low || high: // one resolution counts for all
		r.drop("image detail")
	}
	if r.User != "" {
		r.drop("user")
	}
	var err *Error
	g.Thinking, err = geminiThink(r)
	return err
}

// geminiThink says how much to think: a level since Gemini 3, before that a
// budget. Nothing at all is a budget of 0, which some models refuse themselves.
func geminiThink(r *Request) (*geminiThinking, *Error) {
	if r.Budget != nil && *r.Budget > 0 {
		return &geminiThinking{Budget: r.Budget, Include: true}, nil
	}
	model := strings.TrimPrefix(r.Model, "models/")
	old := strings.HasPrefix(model, "gemini-2") || strings.HasPrefix(model, "gemini-flash-lite") || strings.HasPrefix(model, "gemini-robotics")
	t := &geminiThinking{Include: true}
	switch {
	case r.Effort == "none" || r.Budget != nil:
		return &geminiThinking{Budget: new(int64(0))}, nil
	case r.Effort == "":
		return nil, nil
	case r.Effort == "minimal" || r.Effort == "low":
		t.Level, t.Budget = strings.ToUpper(r.Effort), new(int64(1024))
	case r.Effort == "medium":
		t.Level, t.Budget = "MEDIUM", new(int64(8192))
	case r.Effort == "high":
		t.Level, t.Budget = "HIGH", new(int64(24576))
	default:
		return nil, unsupported("effort", "Gemini has no effort %q: none, minimal, low, medium or high", r.Effort)
	}
	if old {
		t.Level = ""
	} else {
		t.Budget = nil
	}
	return t, nil
}
