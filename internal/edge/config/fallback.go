package config

import (
	"maps"
	"slices"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Fallback names models that may serve a request instead, in order, by the
// reason why this one does not. A request comes to each model once, so that
// models may name each other.
type Fallback struct {
	// When nothing here can serve it in time. Default none: it is refused.
	Overloaded []string `yaml:"overloaded"`
	// When it is longer than the model's context. Default none.
	Context []string `yaml:"context"`
	// When the provider's content filter refused it. Default none.
	ContentFilter []string `yaml:"content_filter"`
	// When the attempts failed. Default none.
	Error []string `yaml:"error"`
}

// For names the models for a cause.
func (f *Fallback) For(c admit.Cause) []string {
	return [admit.NumCauses][]string{
		admit.CauseOverloaded: f.Overloaded,
		admit.CauseContext:    f.Context,
		admit.CauseFilter:     f.ContentFilter,
		admit.CauseError:      f.Error,
	}[c]
}

// Any reports whether some model may serve instead.
func (f *Fallback) Any() bool {
	return len(f.Overloaded)+len(f.Context)+len(f.ContentFilter)+len(f.Error) > 0
}

func (f *Fallback) check(d *document, path, model string, models map[string]*Model) {
	for c := range admit.Cause(admit.NumCauses) {
		list := f.For(c)
		for i, name := range list {
			at := index(join(path, c.String()), i)
			switch _, known := models[name]; {
			case !known:
				d.fail(at, "no model is called %s%s", d.quote(at, name), nearest(name, slices.Sorted(maps.Keys(models))))
			case name == model:
				d.fail(at, "is this model itself; name another")
			case slices.Contains(list[:i], name):
				d.fail(at, "%s is written twice; a request comes to each model once", d.quote(at, name))
			}
		}
	}
}

func (f *Fallback) policy() (p [admit.NumCauses][]string) {
	for c := range admit.Cause(admit.NumCauses) {
		p[c] = append(p[c], f.For(c)...) // nil for none
	}
	return p
}
