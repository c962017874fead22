package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	maxPath  = 1024 // characters of a path
	maxSteps = 16   // parts of it; the deepest setting there is has eight
)

// step is one part of a path: a key, or in brackets the name of an element.
type step struct {
	name    string
	bracket bool
}

// parsePath reads a path as operators write it: models.chat.queue.total,
// tenants[shop].limits.rpm. Keys with dots or brackets in them stand in brackets
// and quotes: models["gpt-4.1"].queue.
func parsePath(s string) (steps []step, err error) {
	if len(s) > maxPath {
		return nil, fmt.Errorf("a path has at most %d characters", maxPath)
	}
	for rest := s; rest != "" || len(steps) == 0; {
		var x step
		if strings.HasPrefix(rest, "[") {
			x, rest, err = bracketed(rest)
		} else {
			n := len(rest)
			if i := strings.IndexAny(rest, ".["); i >= 0 {
				n = i
			}
			x, rest = step{name: rest[:n]}, rest[n:]
		}
		switch {
		case err != nil:
			return nil, err
		case x.name == "":
			return nil, errors.New("not a path; write it like models.chat.queue.total or tenants[shop].limits.rpm")
		case len(steps) == maxSteps:
			return nil, fmt.Errorf("a path has at most %d parts", maxSteps)
		}
		steps = append(steps, x)
		if dot, ok := strings.CutPrefix(rest, "."); ok {
			if rest = dot; rest == "" || rest[0] == '[' {
				return nil, errors.New("not a path: nothing follows a dot")
			}
		} else if rest != "" && rest[0] != '[' {
			return nil, errors.New("not a path: a dot is missing behind a bracket")
		}
	}
	return steps, nil
}

// bracketed reads ["a name"] or [name] at the beginning of s.
func bracketed(s string) (x step, rest string, err error) {
	x.bracket = true
	if quoted, err := strconv.QuotedPrefix(s[1:]); err == nil {
		name, err := strconv.Unquote(quoted)
		rest, ok := strings.CutPrefix(s[1+len(quoted):], "]")
		if err != nil || !ok || quoted[0] != '"' {
			return x, "", errors.New(`not a path: a quoted name ends with "]`)
		}
		x.name = name
		return x, rest, nil
	}
	name, rest, ok := strings.Cut(s[1:], "]")
	if !ok || strings.ContainsAny(name, `"[`) {
		return x, "", errors.New("not a path: [ without its ]")
	}
	x.name = name
	return x, rest, nil
}

// element makes the path of an element of a list below another.
func element(path, name string) string {
	if name == "" || strings.ContainsAny(name, "[]\"'`") || strconv.Quote(name) != `"`+name+`"` {
		return path + "[" + strconv.Quote(name) + "]"
	}
	return path + "[" + name + "]"
}

// Element is the path of an element of the list at path, by its name.
func Element(path, name string) string { return element(path, name) }

// Below is the path of a key below path.
func Below(path, key string) string { return join(path, key) }

// Section is the path of the section that a setting is part of; for what is a
// section by itself, and for faulty paths, the path.
func Section(path string) string {
	l, err := locate(path)
	if err != nil || len(l.steps) < 2 || l.of.Kind() == reflect.Struct {
		return path
	}
	above := location{of: reflect.TypeFor[Config]()}
	for i := range l.steps[:len(l.steps)-1] {
		if above.follow(&l.steps[i]) != nil {
			return path
		}
	}
	return above.path
}

// location is what a path leads to, by the types of the configuration.
type location struct {
	steps   []step
	path    string // in its one spelling
	pattern string // with * for names: models.*.deployments[].concurrency
	of      reflect.Type
}

// locate follows a path through the types. Whether what it names is there, and
// may be changed, is for others to say.
func locate(path string) (location, error) {
	steps, err := parsePath(path)
	if err != nil {
		return location{}, err
	}
	l := location{steps: steps, of: reflect.TypeFor[Config]()}
	for i := range steps {
		if err := l.follow(&l.steps[i]); err != nil {
			return location{}, err
		}
	}
	return l, nil
}

// Shown is a path as errors and logs may have it: what leads nowhere is no name of
// ours, and may be a key that was written in the wrong place.
func Shown(path string) string {
	steps, err := parsePath(path)
	if err != nil {
		return veil(path)
	}
	l := location{of: reflect.TypeFor[Config]()}
	for i := range steps {
		if l.follow(&steps[i]) != nil {
			return join(l.path, veil(steps[i].name))
		}
	}
	return path
}

func (l *location) follow(s *step) error {
	at := l.path
	if at == "" {
		at = "the configuration"
	}
	switch t := l.of; {
	case t.Kind() == reflect.Struct:
		field, ok := fieldsOf(t)[s.name]
		if !ok || s.bracket {
			return fmt.Errorf("%s has no setting %q%s", at, shorten(veil(s.name)), nearest(s.name, fieldNames(t)))
		}
		l.path, l.pattern, l.of = join(l.path, s.name), join(l.pattern, s.name), field.Type
	case t.Kind() == reflect.Map:
		l.path, l.pattern, l.of = join(l.path, s.name), join(l.pattern, "*"), t.Elem()
		s.bracket = false
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		if !s.bracket {
			return fmt.Errorf("%s is a list; write the name of the one that is meant in brackets, such as %s[%s]", at, at, shorten(veil(s.name)))
		}
		l.path, l.pattern, l.of = element(l.path, s.name), l.pattern+"[]", t.Elem()
	default:
		return fmt.Errorf("%s is one value; nothing is below it", at)
	}
	if l.of.Kind() == reflect.Pointer {
		l.of = l.of.Elem()
	}
	return nil
}

// fixed are the settings that are for the file alone, by pattern, with what to
// do instead. They cover all that is below them, and nothing above them can be set
// as a whole.
var fixed = map[string]string{
	"listen":     "it takes effect only at a restart: change it in the file",
	"ops":        "it takes effect only at a restart: change it in the file",
	"ledger":     "it takes effect only at a restart: change it in the file",
	"admin":      "who may change things is for the file to say",
	"providers":  "where calls go, and with which credentials, is for the file to say",
	"prices":     "prices are for the file to say",
	"scale_up":   "who is told is for the file to say",
	"simulation": "the running gateway does not use it: change it in the file",

	"limits.headers":                  "it takes effect only at a restart: change it in the file",
	"traces.endpoint":                 "where spans go is for the file to say; traces.sample can be changed",
	"traces.headers":                  "where spans go is for the file to say; traces.sample can be changed",
	"traces.parent":                   "it is for the file to say; traces.sample can be changed",
	"models.*.deployments[].provider": "where calls go is for the file to say",
	"models.*.deployments[].model":    "where calls go is for the file to say",
	"models.*.deployments[].name":     "what was learnt goes by the name: change it in the file",
	"models.*.deployments[].price":    "prices are for the file to say",
}

// named are what cannot be renamed, but is part of what is set as a whole.
var named = map[string]bool{"tenants[].name": true, "tenants[].keys[].name": true, "models.*.degrade[].name": true}

// changeable says whether what a path leads to can be changed while the gateway runs.
func (l *location) changeable() error {
	for pattern, why := range fixed {
		switch {
		case within(l.pattern, pattern):
			return fmt.Errorf("cannot be changed while running: %s", why)
		case within(pattern, l.pattern):
			return errors.New("cannot be set as a whole; set what is below it, one by one")
		}
	}
	switch {
	case l.pattern == "tenants":
		return errors.New("cannot be set as a whole; set what is below it, such as tenants[shop].limits.rpm")
	case named[l.pattern]:
		return errors.New("a name cannot be changed while running: change it in the file")
	}
	return nil
}

// takenBack says whether changes at a path and below it can be taken back. They
// can where that is set only in parts, too; but not for all tenants at once, as
// that would end every key that was made beside the file.
func (l *location) takenBack() error {
	for pattern := range fixed {
		if pattern != l.pattern && within(pattern, l.pattern) {
			return nil
		}
	}
	return l.changeable()
}

// noModel says that a path is of a model that is not there: models are for the
// file alone to add.
func (l *location) noModel(c *Config) error {
	if !within(l.pattern, "models.*") {
		return nil
	}
	steps, err := parsePath(l.path)
	if err != nil {
		return err
	}
	if _, ok := c.Models[steps[1].name]; ok {
		return nil
	}
	return fmt.Errorf("there is no model of this name%s; to add one, change the file", nearest(steps[1].name, slices.Sorted(maps.Keys(c.Models))))
}

// within says that a path is another, or below it.
func within(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
