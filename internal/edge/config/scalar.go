package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// scalar fills one setting that is neither a section, a map nor a list.
func (w walker) scalar(n ast.Node, v reflect.Value, path string, r rules) {
	if v.Kind() == reflect.String {
		w.text(n, v, path)
		return
	}
	if strings.Contains(textOf(n), "${") {
		w.fail(path, "variables are filled in only where text is wanted, not in numbers, sizes and durations")
		return
	}
	worded, _ := v.Interface().(worded)
	if worded != nil && textOf(n) == worded.word() {
		v.SetInt(wordSaid)
		return
	}
	err := setScalar(n, v)
	if err == nil && v.CanInt() {
		err = r.check(v.Int())
	}
	switch {
	case err != nil && worded != nil:
		w.fail(path, "%v; or write %s to %s", err, worded.word(), worded.purpose())
	case err != nil:
		w.fail(path, "%v", err)
	}
}

// closedSet is a text type of which only some values exist.
type closedSet interface{ choices() []string }

func (w walker) text(n ast.Node, v reflect.Value, path string) {
	set, closed := v.Interface().(closedSet)
	text := textOf(n)
	// A closed set takes http: 1.1 too, which is a number to YAML.
	if kindOf(n) != "text" && (!closed || text == "") {
		hint := "; put it in quotes"
		if _, list := n.(*ast.SequenceNode); list {
			hint = ""
		}
		w.fail(path, "want text, got %s%s", kindOf(n), hint)
		return
	}
	value, err := expand(text, w.env)
	if err != nil {
		w.fail(path, "%v", err)
		return
	}
	if value != text {
		w.written[path] = text
	}
	if closed && !slices.Contains(set.choices(), value) {
		w.fail(path, "%s is not one of %s%s", veil(w.quote(path, value)), strings.Join(set.choices(), ", "), near(text, set.choices()))
		return
	}
	v.SetString(value)
}

func setScalar(n ast.Node, v reflect.Value) error {
	switch x := v.Addr().Interface().(type) {
	case *time.Duration:
		return parseInto(x, n, "a duration such as 10s", parseDuration)
	case *Threshold:
		return parseInto((*time.Duration)(x), n, "a duration such as 10s", parseDuration)
	case *Bytes:
		return parseInto(x, n, "a size such as 32MiB", parseBytes)
	case *Percent:
		return parseInto(x, n, "a share such as 5 or 5%", parsePercent)
	case *Dollars:
		return parseNumber(x, n, "dollars such as 1.25", parseDollars)
	case *Amount:
		return parseNumber(x, n, "dollars such as 1.25", parseAmount)
	case *Moment:
		return parseInto(x, n, "a time such as 2026-12-24T00:00:00Z", parseMoment)
	case *Fraction:
		return parseNumber(x, n, "a number from 0 to 1", parseFraction)
	case *Factor:
		return parseNumber(x, n, "a number such as 1 or 0.5", parseFactor)
	case *admit.Balance:
		return parseInto(x, n, "the name of a balance", parseBalance)
	case *admit.Class:
		return parseInto(x, n, "the name of a class", parseClass)
	case *bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return wrongKind("true or false", n)
		}
		*x = b.Value
		return nil
	}
	number, ok := n.(*ast.IntegerNode)
	if !ok {
		return wrongKind("a whole number", n)
	}
	switch i := number.Value.(type) {
	case int64:
		v.SetInt(i)
	case uint64:
		if i > math.MaxInt64 {
			return errors.New("too large a number")
		}
		v.SetInt(int64(i))
	}
	return nil
}

// parseInto reads a value that is written as text or as a whole number.
func parseInto[T any](x *T, n ast.Node, want string, parse func(string) (T, error)) error {
	if k := kindOf(n); k != "text" && k != "a whole number" {
		return wrongKind(want, n)
	}
	return parseText(x, n, parse)
}

// parseNumber reads a number that may have decimals.
func parseNumber[T any](x *T, n ast.Node, want string, parse func(string) (T, error)) error {
	if kindOf(n) != "a number" {
		return parseInto(x, n, want, parse)
	}
	return parseText(x, n, parse)
}

func parseText[T any](x *T, n ast.Node, parse func(string) (T, error)) error {
	v, err := parse(textOf(n))
	if err != nil {
		return fmt.Errorf("%q: %w", shorten(veil(textOf(n))), err)
	}
	*x = v
	return nil
}

func wrongKind(want string, n ast.Node) error {
	if text := textOf(n); text != "" {
		return fmt.Errorf("want %s, got %s (%s)", want, kindOf(n), shorten(veil(text)))
	}
	return fmt.Errorf("want %s, got %s", want, kindOf(n))
}

func parseClass(s string) (admit.Class, error) {
	if k, ok := admit.ParseClass(s); ok {
		return k, nil
	}
	return 0, fmt.Errorf("no such class%s", nearest(s, classNames()))
}

func classNames() []string {
	var names []string
	for k := range admit.Class(admit.NumClasses) {
		names = append(names, k.String())
	}
	return names
}

// kindOf names what was written, without its value.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode:
		return "a whole number"
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.SequenceNode:
		return "a list"
	}
	return "keys and values"
}

// textOf is the text of a scalar as written, or "".
func textOf(n ast.Node) string {
	switch x := n.(type) {
	case *ast.LiteralNode:
		return show.Replace(x.Value.Value)
	case *ast.StringNode:
		return show.Replace(x.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	return ""
}

// rules are what a field's jsonschema tag says of its value: the one place
// for the schema and for the check.
type rules struct {
	required      bool
	bounded       [2]bool // whether there is a least and a most
	least, most   int64
	aboveZeroOnly bool
}

func rulesOf(f reflect.StructField) rules {
	var r rules
	for word := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "required":
			r.required = true
		case "minimum":
			r.bounded[0], r.least = true, n
		case "maximum":
			r.bounded[1], r.most = true, n
		case "exclusiveMinimum":
			r.aboveZeroOnly = true
		}
	}
	return r
}

func (r rules) check(n int64) error {
	switch {
	case r.aboveZeroOnly && n <= 0:
		return errors.New("must be above zero")
	case r.bounded[0] && n < r.least:
		return fmt.Errorf("%d is below %d, the least", n, r.least)
	case r.bounded[1] && n > r.most:
		return fmt.Errorf("%d is above %d, the most", n, r.most)
	}
	return nil
}

// fieldNames lists the keys of a section in the order of its type.
func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			fields[name] = f
		}
	}
	return fields
}
