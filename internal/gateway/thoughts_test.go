package gateway

import (
	"strings"
	"testing"

	"github.com/spillway-llm/spillway/internal/mock"
)

// Anthropic is asked in its own words, by a caller whose conversation models of
// other providers have answered: it accepts all that comes back.
func TestThoughtsOfOthersComeHome(t *testing.T) {
	const head = `{"model":"chat","max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2048},"messages":[{"role":"user","content":"a"},`
	const text = `,{"type":"text","text":"x"}]},{"role":"user","content":"b"}]}`
	const result = `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}]}`
	for name, body := range map[string]string{
		"compact":        head + `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""}` + text,
		"with blanks":    head + `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature": ""}` + text,
		"of Gemini":      head + `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"gemini:abc"}` + text,
		"a loop, none":   head + `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}` + result,
		"a loop, signed": head + `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"tool_use","id":"a","name":"f","input":{}}]}` + result,
	} {
		t.Run(name, func(t *testing.T) {
			m, err := mock.New(mock.Settings{Strict: true, Thoughts: true, Base: 1, PerInput: 1, PerOutput: 1, OutputMean: 3})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			conf := strings.Replace(one(2), `/v1", api_key`, `", kind: anthropic, api_key`, 1)
			r := setupTCP(t, conf, m)
			a := r.ask("/v1/messages", body)
			if a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}
