package gateway

import (
	"fmt"

	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// able refuses what the model cannot do.
func (x *exchange) able() *wire.Error {
	m := x.state.config.Models[x.pool]
	refuse := func(param, what string) *wire.Error {
		return wire.CodeUnsupportedParameter.Of(param, "model "+x.record.AskedModel+" "+what)
	}
	switch {
	case x.envelope.Stream && !m.Streaming:
		return refuse("stream", "does not stream; leave stream out")
	case x.envelope.Tools && !m.Tools:
		return refuse("tools", "does not call tools; leave tools out")
	}
	return nil
}

// fits refuses a request that the model's context cannot hold, or gives it to
// the first model that may serve it instead and can. The input is an estimate,
// so that the refusal keeps a tenth for its error.
func (x *exchange) fits() *wire.Error {
	models := x.state.config.Models
	need := func(pool string) (most, wants int64, ok bool) {
		most = models[pool].Context
		wants = x.envelope.Input + x.envelope.MaxOutput/max(x.envelope.Choices, 1)
		return most, wants, most == 0 || x.envelope.Input*9/10+x.envelope.MaxOutput/max(x.envelope.Choices, 1) <= most
	}
	most, wants, ok := need(x.pool)
	if ok {
		return nil
	}
	for _, name := range models[x.pool].Fallback.Context {
		if _, _, ok := need(name); ok && models[name] != nil {
			x.pool, x.instead = name, name
			return nil
		}
	}
	return wire.CodeContextLength.Of("messages", fmt.Sprintf("model %s holds %d tokens, and the request wants about %d: %d of input and at most %d of output",
		x.record.AskedModel, most, wants, x.envelope.Input, x.envelope.MaxOutput))
}
