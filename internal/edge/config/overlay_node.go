package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxDigits of a whole number; the largest that fits has one more.
const maxDigits = 18

// nodeOf is a JSON value as the walk through a file sees it, without a place.
func nodeOf(value jsontext.Value) (ast.Node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	n, err := readNode(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errNotJSON
	}
	return n, nil
}

var errNotJSON = errors.New("not a JSON value")

func readNode(d *jsontext.Decoder) (ast.Node, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, errNotJSON
	}
	switch text := t.String(); t.Kind() {
	case 'n':
		return ast.Null(plainToken("null")), nil
	case 't', 'f':
		return ast.Bool(plainToken(text)), nil
	case '"':
		if strings.Contains(text, "${") {
			return nil, errors.New("variables are filled in only in the file")
		}
		if strings.ContainsAny(text, private) {
			return nil, errors.New("the characters U+E03A, U+E07B and U+E07D are not allowed")
		}
		return textNode(text), nil
	case '0':
		return numberNode(text)
	case '[':
		list := listOf()
		for d.PeekKind() != ']' {
			n, err := readNode(d)
			if err != nil {
				return nil, err
			}
			list.Values = append(list.Values, n)
		}
		_, err = d.ReadToken()
		return list, err
	case '{':
		m := mappingOf()
		for d.PeekKind() != '}' {
			key, err := d.ReadToken()
			if err != nil {
				return nil, errNotJSON
			}
			name := key.String()
			if strings.ContainsAny(name, private) || strings.Contains(name, "${") {
				return nil, fmt.Errorf("%q is not a key", shorten(name))
			}
			n, err := readNode(d)
			if err != nil {
				return nil, err
			}
			m.Values = append(m.Values, mappingOf(keyed{name, n}).Values...)
		}
		_, err = d.ReadToken()
		return m, err
	}
	return nil, errNotJSON
}

func numberNode(text string) (ast.Node, error) {
	if strings.ContainsAny(text, ".eE") {
		return ast.Float(plainToken(text)), nil
	}
	if len(strings.TrimPrefix(text, "-")) > maxDigits {
		return nil, errors.New("too large a number")
	}
	return ast.Integer(plainToken(text)), nil
}

// plainToken stands in no line of no file.
func plainToken(text string) *token.Token { return token.String(text, text, &token.Position{}) }

func textNode(text string) ast.Node { return ast.String(plainToken(text)) }

// keyed is one key of a mapping.
type keyed struct {
	key   string
	value ast.Node
}

func mappingOf(members ...keyed) *ast.MappingNode {
	m := ast.Mapping(plainToken("{"), true)
	for _, k := range members {
		m.Values = append(m.Values, ast.MappingValue(plainToken(":"), ast.String(plainToken(k.key)), k.value))
	}
	return m
}

func listOf(items ...ast.Node) *ast.SequenceNode {
	s := ast.Sequence(plainToken("["), true)
	s.Values = append(s.Values, items...)
	return s
}
