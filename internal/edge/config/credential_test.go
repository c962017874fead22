package config

import (
	"slices"
	"testing"
)

// B132: the configured credential is sent once, whatever the case it was written in.
func TestProviderHeader(t *testing.T) {
	p := parse(t, "providers: {a: {base_url: http://h/v1, api_key: k, headers: {x-TEAM: t}}}").Providers["a"]
	h := p.Header(p.Credentials()[0])
	if len(h) != 2 || h.Get("Authorization") != "Bearer k" || !slices.Equal(h["X-Team"], []string{"t"}) {
		t.Errorf("%v", h)
	}
	h.Set("Authorization", "x")
	if got := p.Header("k").Get("Authorization"); got != "Bearer k" {
		t.Errorf("a caller changed the configuration: %q", got)
	}
	p = parse(t, "providers: {a: {base_url: http://h/v1, headers: {authorization: Basic x}}}").Providers["a"]
	if got := p.Header(p.Credentials()[0]).Get("Authorization"); got != "Basic x" {
		t.Errorf("own authorization is %q", got)
	}
}

func TestCredentials(t *testing.T) {
	for text, want := range map[string][]Secret{
		"":                             {""}, // calls without a key have limits too
		", api_key: k":                 {"k"},
		", api_keys: [k, '${SECRET}']": {"k", "s3cr3t"},
	} {
		p := parse(t, "providers: {a: {base_url: http://h/v1"+text+"}}").Providers["a"]
		got := p.Credentials()
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if got[0] = "changed"; p.Credentials()[0] == "changed" {
			t.Error("a caller changed the configuration")
		}
	}
}
