package gateway

import (
	"hash/maphash"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// affinitySeed differs between processes: where a session goes is not for
// callers to choose. A recording holds the values themselves.
var affinitySeed = maphash.MakeSeed()

// affinity is what requests have in common that are better served by the same
// deployment: the caller's session, or the beginning of its prompt, which a
// server with a prefix cache has computed before: as it stands in the body, as
// SDKs write equal prompts in equal bytes. A caller who sends prompt_cache_key
// has said himself which prompts begin alike. Requests of two tenants have
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
		if key := x.envelope.CacheKey; key != "" {
			h.WriteString(key)
			break
		}
		prompt := x.envelope.Prompt(x.body)
		h.Write(prompt[:min(len(prompt), int(m.AffinityPrefix))])
	default:
		return 0
	}
	return h.Sum64() | 1
}
