package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml/ast"
)

// graft is what changes say of one place of the file and of what is below it.
type graft struct {
	name  string // below its parent
	path  string
	value ast.Node // nil: nothing is set here, only below
	below []*graft // in the order of their paths
	used  bool     // the walk has come by
}

// add puts a value into the tree.
func (g *graft) add(l *location, value jsontext.Value) error {
	at, of := g, reflect.TypeFor[Config]()
	for i, s := range l.steps {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		path := ""
		switch {
		case of.Kind() == reflect.Struct:
			path, of = join(at.path, s.name), fieldsOf(of)[s.name].Type
		case s.bracket:
			path, of = element(at.path, s.name), of.Elem()
		default:
			path, of = join(at.path, s.name), of.Elem()
		}
		at = at.child(s.name, path)
		if i == len(l.steps)-1 {
			n, err := nodeOf(value)
			if err == nil && s.bracket {
				n, err = withName(n, s.name, of)
			}
			if err != nil {
				return err
			}
			at.value = n
		}
	}
	return nil
}

func (g *graft) child(name, path string) *graft {
	for _, c := range g.below {
		if c.name == name {
			return c
		}
	}
	c := &graft{name: name, path: path}
	g.below = append(g.below, c)
	return c
}

// withName completes an element of a list by the name that its path has.
func withName(n ast.Node, name string, of reflect.Type) (ast.Node, error) {
	if _, ok := reflect.New(of).Interface().(*Key); ok && kindOf(n) == "text" {
		n = mappingOf(keyed{"hash", n})
	}
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil, fmt.Errorf("want keys and values, got %s", kindOf(n))
	}
	for _, v := range m.Values {
		if v.Key.GetToken().Value == "name" {
			if textOf(v.Value) != name {
				return nil, errors.New("the name in the value is not the one in the path")
			}
			return n, nil
		}
	}
	m.Values = append(m.Values, mappingOf(keyed{"name", textNode(name)}).Values...)
	return m, nil
}

// catchAll says what a file without models means, so that it can be changed.
func (g *graft) catchAll(base *Config) {
	for _, models := range g.below {
		if models.name != "models" {
			continue
		}
		for _, m := range models.below {
			for _, dep := range base.Models[m.name].deployments() {
				m.child("deployments", join(m.path, "deployments")).value = listOf(mappingOf(keyed{"provider", textNode(dep.Provider)}))
			}
		}
	}
}

func (m *Model) deployments() []Deployment {
	if m == nil {
		return nil
	}
	return m.Deployments
}

// grafting is what a walk through a file needs to put changes in its place. The
// file is not touched: what aliases share stays as it is.
type grafting struct {
	at    map[string]*graft // by the path of the walk, with numbers for elements
	made  map[string]string // names that were not written, by the same path
	open  bool              // the file has no tenants
	trail []trace           // of elements and of what was set
}

// trace is a place of the walk that changes are about.
type trace struct {
	at, path string // with numbers, with names
	set      bool   // it is a change's value
}

// graft gives what stands at a path in place of n.
func (w walker) graft(n ast.Node, v reflect.Value, path string) ast.Node {
	if w.grafting == nil {
		return n
	}
	g := w.grafting.at[path]
	if g == nil {
		return n
	}
	if g.value != nil {
		n, g.used = g.value, true
		w.grafting.trail = append(w.grafting.trail, trace{path, g.path, true})
	}
	if _, key := v.Addr().Interface().(*Key); key && len(g.below) > 0 && n != nil && kindOf(n) == "text" {
		n = mappingOf(keyed{"hash", n}) // it was written as its hash alone
	}
	if n == nil && len(g.below) > 0 {
		switch v.Kind() {
		case reflect.Struct, reflect.Map:
			n = mappingOf()
		case reflect.Slice:
			n = listOf()
		}
	}
	return n
}

// graftPairs gives a mapping's keys with those that changes add.
func (w walker) graftPairs(own []pair, path string) []pair {
	if w.grafting == nil || w.grafting.at[path] == nil {
		return own
	}
	for _, c := range w.grafting.at[path].below {
		w.grafting.at[join(path, c.name)] = c
		i := slices.IndexFunc(own, func(p pair) bool { return p.key == c.name })
		switch {
		case i < 0:
			own = append(own, pair{key: c.name, value: c.value})
		case c.value != nil:
			own[i] = pair{key: c.name, value: c.value}
		}
	}
	return own
}

// graftList finds the elements that changes are about by their names, and adds
// those that are new.
func (w walker) graftList(items []ast.Node, path string) []ast.Node {
	if w.grafting == nil || w.grafting.at[path] == nil {
		return items
	}
	items = slices.Clone(items)
	names := make([]string, len(items))
	for i, n := range items {
		names[i] = w.nameOf(n, index(path, i))
	}
	for _, c := range w.grafting.at[path].below {
		i := slices.Index(names, c.name)
		if i < 0 && c.value == nil {
			w.problems = append(w.problems, Problem{File: fileChanges, Path: c.path, What: w.nobody(path, c.name, names)})
			c.spend()
			continue
		}
		if i < 0 {
			i = len(items)
			items, names = append(items, c.value), append(names, c.name)
		} else if c.value != nil {
			items[i] = c.value
		}
		w.grafting.at[index(path, i)] = c
		w.grafting.trail = append(w.grafting.trail, trace{index(path, i), c.path, false})
	}
	return items
}

func (w walker) nobody(path, name string, names []string) string {
	switch {
	case path == "tenants" && w.grafting.open && name == OpenTenant:
		return "without tenants in the file there is nobody to limit; add a tenant"
	case strings.HasSuffix(path, "deployments"):
		return fmt.Sprintf("there is none of this name%s", nearest(name, names))
	}
	return fmt.Sprintf("there is none of this name%s; to add one, set it to an object", nearest(name, names))
}

// spend marks all as seen, where that it cannot be used was said already.
func (g *graft) spend() {
	g.used = true
	for _, c := range g.below {
		c.spend()
	}
}

// nameOf is the name of an element: as it is written, or as one is made.
func (w walker) nameOf(n ast.Node, path string) string {
	n, _ = w.resolve(n, path)
	hash := textOf(n)
	if isMapping(n) {
		if name := w.member(n, "name", path); name != "" {
			return name
		}
		hash = w.member(n, "hash", path)
	}
	if text, err := expand(hash, w.env); err == nil {
		if text = strings.ToLower(text); strings.HasPrefix(text, hashPrefix) && len(text) >= len(hashPrefix)+keyDigits {
			return text[len(hashPrefix):][:keyDigits]
		}
	}
	return w.grafting.made[path]
}

// member is the text of one key of a mapping, its own or merged.
func (w walker) member(n ast.Node, key, path string) string {
	values, _ := mappingValues(n)
	merged := ""
	for _, v := range values {
		if v.Key.IsMergeKey() {
			if base, ok := w.resolve(v.Value, path); ok && base != nil && merged == "" {
				merged = w.member(base, key, path)
			}
			continue
		}
		if v.Key.GetToken().Value == key {
			if value, ok := w.resolve(v.Value, path); ok {
				text, _ := expand(textOf(value), w.env)
				return text
			}
		}
	}
	return merged
}

// settle says what could not be used, and gives problems the place of the change
// that they come from.
func (g *grafting) settle(d *document) {
	if len(d.problems) == 0 {
		g.at[""].unused(d)
	}
	// The longest place first, so that the first that fits is the nearest.
	slices.SortStableFunc(g.trail, func(a, b trace) int { return cmp.Compare(len(b.at), len(a.at)) })
	for i := range d.problems {
		p := &d.problems[i]
		at := p.Path
		for _, t := range g.trail {
			if p.File == d.file && within(at, t.at) {
				p.Path = t.path + strings.TrimPrefix(at, t.at)
				break
			}
		}
		if slices.ContainsFunc(g.trail, func(t trace) bool { return t.set && within(at, t.at) }) {
			p.File, p.Line, p.Column = fileChanges, 0, 0
		}
	}
}

func (g *graft) unused(d *document) {
	if g.value != nil && !g.used {
		d.problems = append(d.problems, Problem{File: fileChanges, Path: g.path, What: "cannot be set by itself, because what it is part of is written as one value; set that as a whole"})
	}
	for _, c := range g.below {
		c.unused(d)
	}
}

// origins says for each path that was written whether a change did.
func (d *document) origins() map[string]bool {
	origins := make(map[string]bool, len(d.places))
	for path, at := range maps.All(d.places) {
		origins[path] = at.line == 0
	}
	return origins
}
