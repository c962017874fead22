package config

import (
	"fmt"
	"regexp"
	"strings"
)

var variable = regexp.MustCompile(`\$?\$\{[^{}]*\}?`)
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${NAME} by the variable's value, once: a value is never
// looked into. $${ stands for the two characters ${. The errors name variables
// and never repeat a value.
func expand(s string, env func(string) (string, bool)) (string, error) {
	var failed error
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name, closed := strings.CutSuffix(m[2:], "}")
		value, ok := "", false
		switch {
		case !closed:
			failed = fmt.Errorf("${ without its }; write $${ for the characters themselves")
		case !variableName.MatchString(name):
			failed = fmt.Errorf("${%s} does not name an environment variable; only ${NAME} is understood", veil(name))
		default:
			if value, ok = env(name); !ok {
				failed = fmt.Errorf("environment variable %s is not set", name)
			}
		}
		return value
	})
	if failed != nil {
		return "", failed
	}
	return out, nil
}

// In a flow mapping, {api_key: ${NAME}, keys: [sha256:00]}, the parser takes
// these braces and this colon for its own. They are hidden from it behind
// private characters of the same width, so that columns stay true, and shown
// again in every text it returns.
var (
	reference = regexp.MustCompile(`\$\{[^{}\s"']*\}`)
	hide      = strings.NewReplacer("{", openBrace, "}", closeBrace)
	show      = strings.NewReplacer(openBrace, "{", closeBrace, "}", colon, ":")
)

const (
	openBrace  = "\uE07B"
	closeBrace = "\uE07D"
	colon      = "\uE03A"
	private    = openBrace + closeBrace + colon
)

func hidePunctuation(s string) string {
	s = strings.ReplaceAll(s, hashPrefix, strings.ReplaceAll(hashPrefix, ":", colon))
	return reference.ReplaceAllStringFunc(s, hide.Replace)
}
