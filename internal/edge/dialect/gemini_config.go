package dialect

import (
	"github.com/tidwall/gjson"
)

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
		return geminiElements(v, func(_ int, v gjson.Result) *Error {
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
