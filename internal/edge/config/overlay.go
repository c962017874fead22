package config

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Overlay is what was changed beside the file: values by path. A value is as in
// YAML: numbers, texts such as "2s", true or false, lists, objects. What is set
// at a path takes the place of what the file says there, all of it; what is set
// below another takes the place of a part of that. It is not changed once made.
type Overlay map[string]jsontext.Value

// fileChanges is what stands for the name of the file in problems of a change.
const fileChanges = "changes"

// maxOverlay bounds the paths of an overlay: more is a file.
const maxOverlay = 10_000

// Changed says that the fault is in what a change sets, not in the file. Path is
// then as in the change.
func (p Problem) Changed() bool { return p.File == fileChanges }

// With is the overlay after further changes. A value that is null takes back
// what an earlier change set at its path and below; any other one also takes the
// place of what was set below it. Paths of set that are not paths give Problems.
// taken lists paths that were to be taken back where nothing was set.
func (o Overlay) With(set Overlay) (next Overlay, missing []string, err error) {
	next = maps.Clone(o)
	if next == nil {
		next = Overlay{}
	}
	var problems Problems
	spelled := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		if _, known := o[path]; known && isNull(set[path]) {
			// It may be a setting that this version does not know any more.
			if _, err := locate(path); err != nil {
				delete(next, path)
				continue
			}
		}
		l, err := locate(path)
		switch {
		case err != nil:
		case isNull(set[path]):
			err = l.takenBack()
		default:
			if err = l.changeable(); err == nil {
				_, err = nodeOf(set[path])
			}
		}
		if err != nil {
			problems = append(problems, changeProblem(path, err))
			continue
		}
		if other, twice := spelled[l.path]; twice {
			problems = append(problems, Problem{File: fileChanges, Path: path, What: "is also written as " + shorten(other)})
			continue
		}
		spelled[l.path] = path
		// What is set in one change is sorted, so that an object comes before what is below it.
		gone := false
		for known := range next {
			if within(known, l.path) && (known == l.path || spelled[known] == "") {
				delete(next, known)
				gone = true
			}
		}
		switch null := isNull(set[path]); {
		case !null:
			next[l.path] = set[path]
		case !gone:
			missing = append(missing, l.path)
		}
	}
	if len(problems) == 0 && len(next) > maxOverlay {
		problems = Problems{{File: fileChanges, What: "more settings are changed than belong beside a file; write them into it"}}
	}
	if len(problems) > 0 {
		return nil, nil, problems
	}
	return next, missing, nil
}

// Endings are the changes that say when a key ends, and nothing else.
func (o Overlay) Endings() Overlay {
	ends := Overlay{}
	for path, v := range o {
		if l, err := locate(path); err == nil && l.pattern == "tenants[].keys[].until" && !isNull(v) {
			ends[path] = v
		}
	}
	return ends
}

func isNull(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

func changeProblem(path string, err error) Problem {
	return Problem{File: fileChanges, Path: shorten(Shown(path)), What: err.Error()}
}

// Apply is the configuration that a file and the changes beside it make, checked
// as a whole as Parse checks a file; name is what errors call the file. The file
// must be right by itself. A fault gives Problems; those of what a change sets
// name its path.
func (o Overlay) Apply(name string, file []byte, env func(string) (string, bool)) (*Config, error) {
	base, written, err := parseWith(name, file, env, nil)
	if err != nil || len(o) == 0 {
		return base, err
	}
	root, problems := o.grafts(base)
	if len(problems) > 0 {
		return nil, problems
	}
	if !written.wrote("models") {
		root.catchAll(base)
	}
	c, _, err := parseWith(name, file, env, &grafting{at: map[string]*graft{"": root}, made: madeNames(base), open: base.Open()})
	return c, err
}

// grafts puts the changes into a tree.
func (o Overlay) grafts(base *Config) (*graft, Problems) {
	root := &graft{}
	var problems Problems
	for _, path := range slices.Sorted(maps.Keys(o)) {
		if isNull(o[path]) {
			continue
		}
		l, err := locate(path)
		if err == nil {
			err = l.changeable()
		}
		if err == nil {
			err = l.noModel(base)
		}
		if err == nil {
			err = root.add(&l, o[path])
		}
		if err != nil {
			problems = append(problems, changeProblem(path, err))
		}
	}
	return root, problems
}

// madeNames are the names of deployments that the file does not name, by path.
func madeNames(c *Config) map[string]string {
	made := map[string]string{}
	for pool, m := range c.Models {
		for i := range m.Deployments {
			made[index(join(join("models", pool), "deployments"), i)] = m.Deployments[i].Name
		}
	}
	return made
}

// JSON is the overlay as one object, by path.
func (o Overlay) JSON() []byte {
	b, err := json.Marshal(map[string]jsontext.Value(o), json.Deterministic(true))
	if err != nil { // a value that is no JSON, which With never lets in
		return []byte("{}")
	}
	return b
}
