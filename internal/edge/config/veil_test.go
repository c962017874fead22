package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// misplaced are ways to write a secret where, or how, it must not be. Those that
// begin with a line end are settings of the file, the others of a provider.
func misplaced(s string) []string {
	return []string{
		"api_key: [" + s + "]", "api_key: {a: " + s + "}", "api_keys: " + s, "api_keys: [" + s + ", " + s + "]", "api_key: \"" + s + "\\n\"", "api_key: ${" + s + "}", "api_key: ${" + s,
		"api_key: a, api_keys: [" + s + "]", "api_kye: " + s, "api_version: [" + s + "]", "headers: " + s, "headers: [" + s + "]", "headers: {X-A: [" + s + "]}", "headers: {X-A: \"a\\nb" + s + "\"}",
		"headers: {X-A: 1, x-a: " + s + "}", "headers: {Host: " + s + "}", "kind: " + s, "http: " + s, "on_disconnect: " + s, "timeouts: " + s, "timeouts: {dial: " + s + "}", "timeouts: {" + s + "}",
		"stream_usage: " + s, "slots: " + s, "seed: " + s, "day_zone: " + s, "region: \"a " + s + "\"", "base_url: \"http://u:" + s + "@h/v1\"", "base_url: \"http://h/v1?key=" + s + "\"",
		"base_url: \"http://h/%zz" + s + "\"", "base_url: " + s, "'" + s, "\"" + s, "&" + s + " ", "*" + s, "!" + s + " x", "!!str " + s, s, s + ": x", s + " : {", "api_key " + s, "api_key=" + s, "api_key:" + s,
		"api_key: @" + s, "api_key: `" + s, "api_key: %" + s, "api_key: |" + s, "api_key: >" + s, "? " + s, "<<: " + s,
		"\nledger: " + s, "\nledger: [" + s + "]", "\nledger: {postgres: [" + s + "]}", "\nledger: {directory: x, postgres " + s + "}", "\nledger: {keep: \"postgres://u:" + s + "@h/d\"}",
		"\nadmin: " + s, "\nadmin: {tokens: " + s + "}", "\nadmin: {tokens: [" + s + "]}", "\nadmin: {tokens: [{name: x, hash: " + s + "}]}", "\nadmin: {tokens: [{name: x, token: " + s + "}]}", "\nadmin: {tokens: [{name: x, hash: x, role: " + s + "}]}",
		"\ntenants: " + s, "\ntenants: [" + s + "]", "\ntenants: [{name: x, keys: " + s + "}]", "\ntenants: [{name: x, keys: [" + s + "]}]", "\ntenants: [{name: x, keys: [{hash: " + s + "}]}]", "\ntenants: [{name: x, keys: [{" + s + "}]}]",
		"\ntenants: [{name: x, default_class: " + s + "}]", "\ntenants: [{name: x, limits: {rpm: " + s + "}}]", "\ntenants: [{name: x, budget: {day: " + s + "}}]",
		"\ntraces: " + s, "\ntraces: {endpoint: " + s + "}", "\ntraces: {endpoint: \"http://u:" + s + "@h\"}", "\ntraces: {endpoint: \"http://h?k=" + s + "\"}", "\ntraces: {headers: " + s + "}", "\ntraces: {headers: {A: \"" + s + "\\n\"}}", "\ntraces: {sample: " + s + "}",
		"\nscale_up: " + s, "\nscale_up: {webhook: \"ftp://h/" + s + "\"}", "\nscale_up: {webhook: \"http://h/#" + s + "\"}", "\nscale_up: {webhook: \"http://h/\", every: \"http://h/" + s + "\"}",
		"\nlog: " + s, "\nlog: {level: " + s + "}", "\ndrain: " + s, "\n" + s, "\n" + s + ": x", "\n  api_key: " + s, "\napi_key " + s, "\n\t" + s + ": x", "\n- " + s, "\n---\n" + s, "\nprices: " + s + ": x",
	}
}

// What is wrong with a file is told without the secrets in it, wherever they
// stand: the message goes to the log, and to whoever reads that.
func TestNoSecretInAProblem(t *testing.T) {
	for _, s := range []string{"sk-proj-Zq4vT7wLm2Xy9Rb3Kd8Nf1Hc", "Zq4vT7wLm2Xy9Rb3", "0f4b7a12c9d83e56", "Zq4/T7+Lm2Xy9Rb3Kd8Nf1==", "correct-horse-battery-staple-and-more"} {
		for _, text := range misplaced(s) {
			file := "providers:\n  up: {base_url: \"http://h/v1\", " + text + "}\n"
			if text[0] == '\n' {
				file = "providers:\n  up: {base_url: \"http://h/v1\"}" + text + "\n"
			} else if strings.HasPrefix(text, "base_url") {
				file = "providers:\n  up: {" + text + "}\n"
			}
			c, err := Parse("f.yaml", []byte(file), func(string) (string, bool) { return "", false })
			if err == nil {
				if c == nil {
					t.Fatal("neither a configuration nor an error")
				}
				continue // YAML takes a surprising lot
			}
			if strings.HasPrefix(text, "api_key: ${") && variableName.MatchString(s) {
				continue // it may be a variable's name, which is needed to set it
			}
			if strings.Contains(err.Error(), s) || strings.Contains(err.Error(), s[:len(s)-2]) || strings.Contains(err.Error(), s[2:]) {
				t.Errorf("%q is told of with the secret:\n%v", text, err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte(`{"sk-proj-Zq4vT7wLm2Xy9Rb3Kd8Nf1Hc"`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Parse("f.yaml", []byte("providers: {up: {base_url: \"http://h/v1\"}}\nprices: "+file+"\n"), nil)
	if err == nil || strings.Contains(err.Error(), "Zq4vT7") {
		t.Errorf("a faulty file of prices: %v", err)
	}
}

// Names and numbers that were meant to be such are shown, so that who wrote them
// sees which it is.
func TestWhatIsNoSecretIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"drain: ten seconds":                                                      "ten seconds",
		"log: {level: informational}":                                             "informational",
		"maximum_concurrent_requests: 5":                                          "maximum_concurrent_requests",
		"classes: {interactive: {floor: \"50x\"}}":                                "50x",
		"retry: {attempts: 99999999999999999999}":                                 "99999999999999999999",
		"models: {claude-sonnet-4-5-20250929: {deployments: [{provider: down}]}}": "claude-sonnet-4-5-20250929",
		"models: {m: {deployments: [{provider: down-under-2026-eu-west}]}}":       "down-under-2026-eu-west",
	} {
		_, err := Parse("f.yaml", []byte("providers: {up: {base_url: \"http://h/v1\"}}\n"+text+"\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
