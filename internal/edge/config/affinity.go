package config

// Affinity is which requests should go where an earlier one went, so that the
// upstream finds what it computed for that one.
type Affinity string

const (
	AffinityNone    Affinity = "none"
	AffinitySession Affinity = "session" // of one conversation, as the caller names it
	AffinityPrefix  Affinity = "prefix"  // that begin alike
)

func (a Affinity) String() string { return string(a) }

func (Affinity) choices() []string {
	return []string{string(AffinityNone), string(AffinitySession), string(AffinityPrefix)}
}

const defaultPrefix Bytes = 4 << 10

func (m *Model) checkAffinity(d *document, path string) {
	if at := join(path, "affinity_prefix"); d.wrote(at) && m.Affinity != AffinityPrefix {
		d.fail(at, "only with affinity: prefix; here it is %s", m.Affinity)
	}
}
