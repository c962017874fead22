package config

import (
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// Credentials lists what the gateway may call the provider with, in the order
// of the file. A provider without keys has one empty credential, so that the
// index of a credential is that of its limits in admit.Deployment.Keys.
func (p *Provider) Credentials() []Secret {
	if len(p.APIKeys) > 0 {
		return slices.Clone(p.APIKeys)
	}
	return []Secret{p.APIKey}
}

// Header returns the headers that every call with one of the credentials
// carries, as a fresh map.
func (p *Provider) Header(credential Secret) http.Header {
	h := make(http.Header, len(p.Headers)+1)
	for name, value := range p.Headers {
		h.Set(name, string(value))
	}
	if credential != "" {
		h.Set("Authorization", "Bearer "+string(credential))
	}
	return h
}

// hasKey tells whether calls carry a key of the provider.
func (p *Provider) hasKey() bool { return p.APIKey != "" || len(p.APIKeys) > 0 }

// checkKeys never repeats a key.
func (p *Provider) checkKeys(d *document, path string) {
	one, many := join(path, "api_key"), join(path, "api_keys")
	if d.wrote(one) {
		checkSendable(d, one, p.APIKey, "the endpoint needs none")
	}
	if !d.wrote(many) {
		return
	}
	switch {
	case d.wrote(one):
		d.fail(many, "api_key is there too; keep one of the two")
	case len(p.APIKeys) == 0:
		d.fail(many, "is empty; leave it out if the endpoint needs none")
	}
	for i, key := range p.APIKeys {
		at := index(many, i)
		checkSendable(d, at, key, "there are fewer keys")
		if first := slices.Index(p.APIKeys, key); first < i && key != "" {
			d.fail(at, "is the same key as in %s; its limits would be counted twice", d.line(index(many, first)))
		}
	}
}

func checkSendable(d *document, at string, key Secret, why string) {
	if key == "" {
		d.fail(at, "is empty; leave it out if %s", why)
	} else if !httpguts.ValidHeaderFieldValue(string(key)) {
		d.fail(at, "holds characters that cannot be sent in a header, such as a line end")
	}
}
