package config

// Consent is by which rungs of a ladder a tenant's requests may be degraded.
type Consent string

const (
	ConsentAsk      Consent = "ask"      // by those that the caller allows in a header
	ConsentNever    Consent = "never"    // by none, whatever the caller allows
	ConsentFeatures Consent = "features" // by those that take features away, unless the caller says otherwise
	ConsentAny      Consent = "any"      // by all, unless the caller says otherwise
)

func (c Consent) String() string { return string(c) }

func (Consent) choices() []string {
	return []string{string(ConsentAsk), string(ConsentNever), string(ConsentFeatures), string(ConsentAny)}
}

// Consent is what holds for the tenant's requests to a model, by its name in
// Config.Models.
func (t *Tenant) Consent(model string) Consent {
	if m, ok := t.Models[model]; ok && m.Degrade != "" {
		return m.Degrade
	}
	return t.Degrade
}
