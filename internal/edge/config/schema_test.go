package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

var update = flag.Bool("update", false, "write the golden files and the schema")

const schemaDoc = "../../../docs/config.schema.json"

// generate makes the schema: structure from the types, descriptions from
// their comments, ranges from their tags.
func generate(t *testing.T) []byte {
	t.Helper()
	r := jsonschema.Reflector{
		Anonymous:                  true,
		ExpandedStruct:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		Mapper:                     mapped,
	}
	if err := r.AddGoComments("github.com/spillway-llm/spillway/internal/edge/config", ".", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(Config{})
	for name, text := range map[string]*jsonschema.Schema{"Price": {Const: "free"}, "Key": {Type: "string"}} { // brief
		s.Definitions[name] = &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, s.Definitions[name]}}
	}
	s.Title, s.Description = "Spillway configuration", ""
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// mapped gives the types whose form in the file is not that of their Go kind.
func mapped(t reflect.Type) *jsonschema.Schema {
	text := func(pattern string, other *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", Pattern: pattern}, other}}
	}
	number := &jsonschema.Schema{Type: "integer", Minimum: "0"}
	fraction := &jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "1"}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return text(patternDuration, &jsonschema.Schema{Const: 0})
	case reflect.TypeFor[Bytes]():
		return text(patternBytes, number)
	case reflect.TypeFor[Percent]():
		return text(patternPercent, number)
	case reflect.TypeFor[Threshold]():
		return text(patternDuration, orWord(Threshold(0)))
	case reflect.TypeFor[Calls]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "integer", Minimum: "1", Maximum: "100000"}, orWord(Calls(0))}}
	case reflect.TypeFor[Count]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "integer", Minimum: "1"}, orWord(Count(0))}}
	case reflect.TypeFor[Dollars](), reflect.TypeFor[Amount]():
		return text(patternDecimal, &jsonschema.Schema{Type: "number", Minimum: "0"})
	case reflect.TypeFor[Moment]():
		return &jsonschema.Schema{Type: "string", Pattern: patternMoment}
	case reflect.TypeFor[Fraction]():
		return fraction
	case reflect.TypeFor[Factor]():
		return &jsonschema.Schema{Type: "number", Minimum: "0", Maximum: "1000000"}
	case reflect.TypeFor[Quality]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{fraction, {Type: "object", AdditionalProperties: fraction}}}
	case reflect.TypeFor[Secret]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[HTTP]():
		return &jsonschema.Schema{Enum: []any{HTTPAuto, HTTP1, HTTP2, 1.1, 2}}
	case reflect.TypeFor[admit.Balance]():
		return enum(balanceNames())
	case reflect.TypeFor[admit.Class]():
		return enum(classNames())
	}
	if set, ok := reflect.Zero(t).Interface().(closedSet); ok {
		return enum(set.choices())
	}
	return nil
}

func orWord(w worded) *jsonschema.Schema { return &jsonschema.Schema{Const: w.word()} }

func enum(words []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return s
}

func TestSchemaIsUpToDate(t *testing.T) {
	want := generate(t)
	for _, file := range []string{"schema.json", schemaDoc} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the types say; run: go test ./internal/edge/config -update", file)
		}
	}
	if !*update && !bytes.Equal(Schema(), want) {
		t.Error("Schema() is not what the types say")
	}
}

// Definitions are named after types alone; two of one name would be mixed up.
func TestSchemaNamesAreUnique(t *testing.T) {
	seen := map[string]reflect.Type{}
	var walk func(reflect.Type)
	walk = func(u reflect.Type) {
		switch u.Kind() {
		case reflect.Map, reflect.Slice, reflect.Pointer:
			walk(u.Elem())
			return
		}
		if other, ok := seen[u.Name()]; ok {
			if other != u {
				t.Errorf("%v and %v have one name", other, u)
			}
			return
		}
		seen[u.Name()] = u
		if u.Kind() == reflect.Struct {
			for _, f := range fieldsOf(u) {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
	if len(seen) < 10 {
		t.Errorf("only %d types seen", len(seen))
	}
}
