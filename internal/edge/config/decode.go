package config

import (
	"errors"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// decode fills the section at into from YAML. It walks the parsed tree itself, and not through
// the library's decoder, to find every fault in one pass, to know the place of
// every setting for the checks that follow, and to keep values out of errors.
func (d *document) decode(data []byte, into any) {
	text := string(data)
	if strings.ContainsAny(text, private) {
		d.problems = append(d.problems, Problem{File: d.file, What: "the characters U+E03A, U+E07B and U+E07D are not allowed"})
		return
	}
	f, err := parser.ParseBytes([]byte(hidePunctuation(text)), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p := Problem{File: d.file, What: "not YAML"}
		if e := yaml.Error(nil); errors.As(err, &e) {
			p.What += ": " + veil(show.Replace(e.GetMessage()))
			if t := e.GetToken(); t != nil {
				p.Line, p.Column = t.Position.Line, t.Position.Column
			}
		}
		d.problems = append(d.problems, p)
		return
	}
	w := walker{document: d, anchors: map[string]ast.Node{}}
	for i, doc := range f.Docs {
		if i > 0 && doc.Body != nil {
			d.failAt(start(doc.Body), "", "a second YAML document; keep everything in one")
			return
		}
		if doc.Body != nil {
			ast.Walk(w, doc.Body)
			w.value(doc.Body, reflect.ValueOf(into).Elem(), "", rules{})
		}
	}
}

// walker fills Go values from YAML nodes.
type walker struct {
	*document
	anchors map[string]ast.Node
}

// Visit collects anchors.
func (w walker) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		w.anchors[a.Name.GetToken().Value] = a.Value
	}
	return w
}

// defaulter is a section that is not all zero when nothing is written. It is
// asked when a new entry of a map or list is begun; a section inside another
// gets its defaults from the outer one.
type defaulter interface{ setDefaults() }

// value fills v from n. An empty value leaves the default.
func (w walker) value(n ast.Node, v reflect.Value, path string, r rules) {
	n, ok := w.resolve(n, path)
	if ok {
		n = w.graft(n, v, path)
	}
	if !ok || n == nil {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if b, ok := v.Addr().Interface().(brief); ok && !isMapping(n) {
			w.brief(n, b, path)
			return
		}
		w.section(n, v, path)
	case reflect.Map:
		if s, ok := v.Interface().(shorthand); ok && textOf(n) != "" {
			w.one(n, v, s.only(), path)
			return
		}
		w.entries(n, v, path)
	case reflect.Slice:
		w.list(n, v, path)
	default:
		w.scalar(n, v, path, r)
	}
}

// resolve follows anchors and aliases; nil stands for an empty value.
func (w walker) resolve(n ast.Node, path string) (ast.Node, bool) {
	const most = 100 // an alias may name itself
	for range most {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
		case *ast.AliasNode:
			name := x.Value.GetToken().Value
			if n = w.anchors[name]; n == nil {
				w.fail(path, "no anchor &%s is defined", veil(name))
				return nil, false
			}
		case *ast.TagNode:
			w.fail(path, "YAML tags such as %s are not understood; remove it", veil(x.Start.Value))
			return nil, false
		case *ast.NullNode, *ast.CommentGroupNode, nil:
			return nil, true
		default:
			return n, true
		}
	}
	w.fail(path, "aliases that name each other")
	return nil, false
}

func (w walker) section(n ast.Node, v reflect.Value, path string) {
	pairs, ok := w.pairs(n, path)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	for _, p := range pairs {
		at := join(path, p.key)
		if field, known := fields[p.key]; known {
			w.value(p.value, v.FieldByIndex(field.Index), at, rulesOf(field))
		} else {
			w.failAt(p.place, join(path, veil(p.key)), "unknown key%s", nearest(p.key, fieldNames(v.Type())))
		}
	}
	for _, name := range fieldNames(v.Type()) {
		if rulesOf(fields[name]).required && !w.wrote(join(path, name)) && path != "" {
			w.fail(path, "%s is missing", name)
		}
	}
}

func (w walker) entries(n ast.Node, v reflect.Value, path string) {
	pairs, ok := w.pairs(n, path)
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	for _, p := range pairs {
		elem := reflect.New(v.Type().Elem()).Elem()
		target := elem
		if elem.Kind() == reflect.Pointer {
			elem.Set(reflect.New(elem.Type().Elem()))
			target = elem.Elem()
		}
		setDefaults(target)
		w.value(p.value, target, join(path, p.key), rules{})
		v.SetMapIndex(reflect.ValueOf(p.key), elem)
	}
}

// shorthand is a map that may be written as one value, for the key only.
type shorthand interface{ only() string }

func (w walker) one(n ast.Node, v reflect.Value, key, path string) {
	elem := reflect.New(v.Type().Elem()).Elem()
	w.scalar(n, elem, path, rules{})
	v.Set(reflect.MakeMapWithSize(v.Type(), 1))
	v.SetMapIndex(reflect.ValueOf(key), elem)
}

// brief is a section that may be written as one text.
type brief interface {
	say(text string) error
	want() string // what may be written
}

// brief does not repeat the text: it may be a key.
func (w walker) brief(n ast.Node, b brief, path string) {
	if kindOf(n) != "text" {
		w.fail(path, "want %s, got %s", b.want(), kindOf(n))
		return
	}
	text, err := expand(textOf(n), w.env)
	if err == nil {
		err = b.say(text)
	}
	if err != nil {
		w.fail(path, "%v", err)
	}
}

func (w walker) list(n ast.Node, v reflect.Value, path string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		w.fail(path, "want a list, got %s", kindOf(n))
		return
	}
	items := w.graftList(seq.Values, path)
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		at := index(path, i)
		w.places[at] = start(item)
		if n, ok := w.resolve(item, at); ok && n == nil {
			w.fail(at, "an empty entry")
			continue
		}
		setDefaults(v.Index(i))
		w.value(item, v.Index(i), at, rules{})
	}
}

func setDefaults(v reflect.Value) {
	if d, ok := v.Addr().Interface().(defaulter); ok {
		d.setDefaults()
	}
}

// pair is one key of a mapping.
type pair struct {
	key   string
	value ast.Node
	place place // of the key
}

// pairs lists the keys of a mapping, those merged with << after its own, and
// notes the place of each.
func (w walker) pairs(n ast.Node, path string) ([]pair, bool) {
	values, ok := mappingValues(n)
	if !ok {
		w.fail(path, "want keys and values, got %s", kindOf(n))
		return nil, false
	}
	var own, merged []pair
	seen := map[string]place{}
	for _, v := range values {
		at := start(v.Key)
		if v.Key.IsMergeKey() {
			merged = append(merged, w.merged(v.Value, path)...)
			continue
		}
		key := show.Replace(v.Key.GetToken().Value)
		if first, twice := seen[key]; twice {
			w.failAt(at, join(path, key), "written twice; first in line %d", first.line)
			continue
		}
		seen[key] = at
		own = append(own, pair{key, v.Value, at})
	}
	for _, p := range merged {
		if _, ok := seen[p.key]; !ok {
			seen[p.key] = p.place
			own = append(own, p)
		}
	}
	own = w.graftPairs(own, path)
	for _, p := range own {
		w.places[join(path, p.key)] = valuePlace(p)
	}
	return own, true
}

func (w walker) merged(n ast.Node, path string) []pair {
	n, ok := w.resolve(n, path)
	if !ok || n == nil {
		return nil
	}
	values, ok := mappingValues(n)
	if !ok {
		w.failAt(start(n), path, "<< wants one anchor of keys and values, such as <<: *base")
		return nil
	}
	var list []pair
	for _, v := range values {
		if v.Key.IsMergeKey() {
			w.failAt(start(v.Key), path, "<< inside what is merged with << is not understood")
			continue
		}
		list = append(list, pair{show.Replace(v.Key.GetToken().Value), v.Value, start(v.Key)})
	}
	return list
}

func isMapping(n ast.Node) bool {
	_, ok := mappingValues(n)
	return ok
}

func mappingValues(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch x := n.(type) {
	case *ast.MappingNode:
		return x.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{x}, true
	}
	return nil, false
}

// valuePlace is where an editor should jump for a fault: to a plain value, and
// to the key of anything larger or empty.
func valuePlace(p pair) place {
	switch p.value.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return start(p.value)
	}
	return p.place
}

// start is where a node begins; a block mapping's own token is its colon.
func start(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return start(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return start(m.Key)
	}
	p := n.GetToken().Position
	return place{p.Line, p.Column}
}
