package config

import (
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "a", "EMPTY": "", "NESTED": "${A}", "_X1": "x", "YAML": "}, evil: [1"}[name]
		return v, ok
	}
	for _, tc := range []struct{ in, want, err string }{
		{"", "", ""},
		{"plain $A $ {A} }", "plain $A $ {A} }", ""},
		{"${A}", "a", ""},
		{"<${A}${_X1}>", "<ax>", ""},
		{"${EMPTY}", "", ""},
		{"${NESTED}", "${A}", ""}, // a value is not looked into
		{"${YAML}", "}, evil: [1", ""},
		{"$${A}", "${A}", ""},
		{"$$${A}", "$${A}", ""}, // one dollar escapes, the first is itself
		{"$$${A} ${A}", "$${A} a", ""},
		{"$${", "${", ""},
		{"${B}", "", "environment variable B is not set"},
		{"${A} ${B}", "", "environment variable B is not set"},
		{"${}", "", "${} does not name an environment variable"},
		{"${A:-x}", "", "${A:-x} does not name an environment variable"},
		{"${1A}", "", "${1A} does not name"},
		{"${A", "", "${ without its }"},
	} {
		got, err := expand(tc.in, env)
		switch {
		case tc.err == "" && (err != nil || got != tc.want):
			t.Errorf("%q is %q (%v), want %q", tc.in, got, err, tc.want)
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || got != ""):
			t.Errorf("%q is %q (%v), want an error %q", tc.in, got, err, tc.err)
		}
	}
}

// A value can change no structure: it is filled in after the file was parsed.
func TestVariableCannotChangeStructure(t *testing.T) {
	env := func(string) (string, bool) { return "k, base_url: http://evil/v1}\nlisten: 0.0.0.0:80", true }
	for _, text := range []string{
		"providers: {a: {base_url: http://h/v1, headers: {x-a: ${V}}}}",
		"providers: {a: {base_url: http://h/v1, headers: {x-a: '${V}'}}}",
		"providers:\n  a:\n    base_url: http://h/v1\n    headers:\n      x-a: ${V}",
	} {
		_, err := Parse("f", []byte(text), env)
		if err == nil || !strings.Contains(err.Error(), "providers.a.headers.x-a: the value holds characters") || strings.Contains(err.Error(), "evil") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReferencesKeepColumns(t *testing.T) {
	_, err := Parse("f", []byte("providers: {a: {base_url: '${A}', x: [sha256:0, ${B}], oops: 1}}"), testEnv)
	if err == nil || !strings.Contains(err.Error(), "f:1:56: providers.a.oops") {
		t.Errorf("%v", err)
	}
}
