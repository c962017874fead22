package gateway

import (
	"hash/maphash"

	"github.com/tidwall/gjson"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// affinitySeed differs between processes: where a session goes is not for
// callers to choose. A recording holds the values themselves.
var affinitySeed = maphash.MakeSeed()

// affinity is what requests have in common that are better served by the same
// deployment: the caller's session, or the beginning of its prompt, which a
// server with a prefix cache has computed before. Requests of two tenants have
// nothing in common. 0 means that it does not matter.
func (x *exchange) affinity() uint64 {
	m := x.state.config.Models[x.pool]
	if m == nil {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(affinitySeed)
	h.WriteString(x.record.Tenant)
	h.WriteByte(0)
	switch m.Affinity {
	case config.AffinitySession:
		if x.intent.Session == "" {
			return 0
		}
		h.WriteString(x.intent.Session)
	case config.AffinityPrefix:
		prompt := promptOf(x.body)
		if prompt == "" {
			return 0
		}
		h.WriteString(prompt[:min(len(prompt), int(m.AffinityPrefix))])
	default:
		return 0
	}
	return h.Sum64() | 1
}

// promptOf is the part of a body that a prefix cache is about, as it stands there.
func promptOf(body []byte) string {
	for _, field := range []string{"messages", "prompt", "input"} {
		if v := gjson.GetBytes(body, field); v.Exists() {
			return v.Raw
		}
	}
	return ""
}
