package config

import (
	"net/url"
	"time"
)

// ScaleUp says who is told, beside log and metric, that more capacity is
// needed.
type ScaleUp struct {
	// http or https URL that gets a POST with JSON. Default none. It is kept out of logs like a key, as such URLs often hold one; ${NAME} takes it from the environment.
	Webhook Secret `yaml:"webhook" jsonschema:"required"`
	// Least time between two calls for the same deployment. Default 60s. Smaller changes nothing: a deployment asks at most once a minute.
	Every time.Duration `yaml:"every" jsonschema:"exclusiveMinimum=0"`
}

const defaultEvery = 60 * time.Second

func (s *ScaleUp) setDefaults() { s.Every = defaultEvery }

// check never repeats the URL.
func (s *ScaleUp) check(d *document, path string) {
	at := join(path, "webhook")
	if !d.wrote(at) {
		return // a section without it is a fault already, none is none
	}
	if u, err := url.Parse(string(s.Webhook)); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
		d.fail(at, "not a URL that can be called; write it like https://hooks.example.com/scale-up")
	}
}
