package config

import (
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"Queue", "queue", 0}, {"grün", "grun", 1}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("%q to %q is %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// The dumb twin follows the definition.
func TestDistanceAgreesWithTheDefinition(t *testing.T) {
	var twin func(a, b []rune) int
	twin = func(a, b []rune) int {
		if len(a) == 0 || len(b) == 0 {
			return len(a) + len(b)
		}
		substitute := twin(a[1:], b[1:])
		if a[0] != b[0] {
			substitute++
		}
		return min(substitute, twin(a[1:], b)+1, twin(a, b[1:])+1)
	}
	word := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := distance(a, b), twin([]rune(a), []rune(b)); got != want {
			t.Fatalf("%q to %q is %d, want %d", a, b, got, want)
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"deployments", "queue", "prior"}
	for word, want := range map[string]string{
		"deployment": `; did you mean "deployments"?`,
		"que":        `; did you mean "queue"?`,
		"QUEUE":      `; did you mean "queue"?`,
		"balancing":  "; known are deployments, queue, prior",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
	if got := nearest("x", nil); got != "" {
		t.Errorf("nothing is known: %q", got)
	}
}

func TestPaths(t *testing.T) {
	for want, got := range map[string]string{
		"listen":                              join("", "listen"),
		"models.chat.queue":                   join(join(join("", "models"), "chat"), "queue"),
		`models["gpt-4.1"].deployments[2]`:    index(join(join("models", "gpt-4.1"), "deployments"), 2),
		`providers.gpu.headers["not a name"]`: join("providers.gpu.headers", "not a name"),
		"models.*":                            join("models", "*"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
