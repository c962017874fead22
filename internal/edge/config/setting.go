package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Setting is one value that can be changed while the gateway runs.
type Setting struct {
	Path   string         `json:"path"`
	Value  jsontext.Value `json:"value"` // in force, as it would be set; null for none
	Source Source         `json:"source"`
	Type   SettingType    `json:"type"`
	Help   string         `json:"help"`
	Enum   []string       `json:"enum,omitempty"` // all there is; of a list, for each of its values
}

// Source is who says a setting.
type Source string

const (
	SourceDefault Source = "default"
	SourceFile    Source = "file"
	SourceChange  Source = "change"
)

func (s Source) String() string { return string(s) }

// SettingType is how the value of a setting is written.
type SettingType string

const (
	TypeText     SettingType = "text"
	TypeNumber   SettingType = "number"   // a whole one
	TypeDecimal  SettingType = "decimal"  // a number that may have decimals
	TypeDuration SettingType = "duration" // such as "250ms", "10s", "30d"
	TypeSize     SettingType = "size"     // bytes, or such as "64KiB"
	TypePercent  SettingType = "percent"  // such as 5 or "5%"
	TypeDollars  SettingType = "dollars"
	TypeTime     SettingType = "time" // such as "2026-12-24T00:00:00Z"
	TypeSwitch   SettingType = "switch"
	TypeList     SettingType = "list"
	TypeObject   SettingType = "object"
)

func (t SettingType) String() string { return string(t) }

// Settings lists what can be changed while the gateway runs, below a path or,
// with "", everywhere: each single value and each list of such values, in the order
// of the types and then of the names. Entries of keys are their tenants' names and
// times only.
func (c *Config) Settings(under string) ([]Setting, error) {
	if under != "" {
		l, err := locate(under)
		if err != nil {
			return nil, err
		}
		under = l.path
	}
	s := settingsWalk{under: under, origins: c.origins}
	s.section(reflect.ValueOf(c).Elem(), "", "", "")
	return s.list, nil
}

// SourceOf says who wrote the tenant at a place of Tenants, or with a key that is
// not below 0 that key of it: the file or a change.
func (c *Config) SourceOf(tenant, key int) Source {
	at := index("tenants", tenant)
	if key >= 0 {
		at = index(join(at, "keys"), key)
	}
	switch change, written := c.origins[at]; {
	case change:
		return SourceChange
	case written:
		return SourceFile
	}
	return SourceDefault
}

// settingsWalk goes through a configuration. A place has three spellings: at has
// numbers for elements of lists, as in the file, path has names, pattern neither.
type settingsWalk struct {
	under   string
	origins map[string]bool
	list    []Setting
}

func (w *settingsWalk) section(v reflect.Value, at, path, pattern string) {
	for f := range v.Type().Fields() {
		name := f.Tag.Get("yaml")
		if name == "" || name == "-" {
			continue
		}
		w.value(v.FieldByIndex(f.Index), f, v, join(at, name), join(path, name), join(pattern, name))
	}
}

func (w *settingsWalk) value(v reflect.Value, f reflect.StructField, of reflect.Value, at, path, pattern string) {
	if !within(path, w.under) && !within(w.under, path) && w.under != "" || fixed[pattern] != "" || named[pattern] {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	_, single := v.Interface().(shorthand)
	switch {
	case v.Kind() == reflect.Struct:
		w.section(v, at, path, pattern)
	case v.Kind() == reflect.Map && !single:
		for _, key := range slices.Sorted(maps.Keys(keysOf(v))) {
			w.value(v.MapIndex(reflect.ValueOf(key)), f, v, join(at, key), join(path, key), join(pattern, "*"))
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			e := v.Index(i)
			if name := e.FieldByName("Name").String(); pattern != "tenants" || name != OpenTenant || w.wrote(at, i) {
				w.value(e, f, v, index(at, i), element(path, name), pattern+"[]")
			}
		}
	case within(path, w.under) || w.under == "":
		w.leaf(v, f, of, at, path)
	}
}

func (w *settingsWalk) wrote(at string, i int) bool {
	_, ok := w.origins[index(at, i)]
	return ok
}

func keysOf(v reflect.Value) map[string]bool {
	keys := map[string]bool{}
	for _, k := range v.MapKeys() {
		keys[k.String()] = true
	}
	return keys
}

func (w *settingsWalk) leaf(v reflect.Value, f reflect.StructField, of reflect.Value, at, path string) {
	s := Setting{Path: path, Source: SourceDefault}
	if change, written := w.origins[at]; change {
		s.Source = SourceChange
	} else if written {
		s.Source = SourceFile
	}
	if _, secret := of.Interface().(Key); secret && f.Tag.Get("yaml") == "hash" {
		return
	}
	value, kind, enum := written(v, rulesOf(f))
	if dep, ok := of.Interface().(Deployment); ok && f.Name == "Concurrency" && dep.Auto {
		value = Calls(0).word()
	}
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return // no value of the configuration is without a form
	}
	s.Value, s.Type, s.Enum = body, kind, enum
	s.Help = described(of.Type().Name(), f.Tag.Get("yaml"))
	w.list = append(w.list, s)
}

// written is a value as a change would set it; nil stands for none.
func written(v reflect.Value, r rules) (value any, kind SettingType, enum []string) {
	if x, ok := v.Interface().(worded); ok && v.Int() == wordSaid {
		_, kind, _ = written(reflect.Zero(v.Type()), r)
		return x.word(), kind, nil
	}
	set, closed := v.Interface().(closedSet)
	switch x := v.Interface().(type) {
	case admit.Class:
		return x.String(), TypeText, classNames()
	case admit.Balance:
		return x.String(), TypeText, balanceNames()
	case time.Duration:
		value, kind = duration(x), TypeDuration
	case Threshold:
		value, kind = duration(time.Duration(x)), TypeDuration
	case Bytes:
		value, kind = size(x), TypeSize
	case Percent:
		value, kind = int(x), TypePercent
	case Dollars:
		value, kind = jsontext.Value(x.String()), TypeDollars
	case Amount:
		value, kind = jsontext.Value(x.String()), TypeDollars
	case Fraction:
		value, kind = float64(x), TypeDecimal
	case Factor:
		value, kind = float64(x), TypeDecimal
	case Moment:
		value, kind = x.Time().Format(time.RFC3339), TypeTime
		if x == 0 {
			value = nil
		}
	case Quality:
		return quality(x), TypeObject, nil
	case bool:
		value, kind = x, TypeSwitch
	default:
		switch v.Kind() {
		case reflect.Slice:
			list := []any{}
			for i := range v.Len() {
				one, _, _ := written(v.Index(i), rules{})
				list = append(list, one)
			}
			_, _, enum = written(reflect.Zero(v.Type().Elem()), rules{})
			return list, TypeList, enum
		case reflect.String:
			value, kind = v.String(), TypeText
			if v.String() == "" {
				value = nil
			}
		default:
			value, kind = v.Int(), TypeNumber
		}
	}
	if closed {
		enum = set.choices()
	}
	// Where zero could not be written, it is what stands when nothing was.
	if v.CanInt() && v.Int() == 0 && r.check(0) != nil {
		value = nil
	}
	return value, kind, enum
}

func quality(q Quality) any {
	if len(q) == 0 {
		return nil
	}
	m := map[string]float64{}
	for task, x := range q {
		if task == "" {
			task = otherTasks
		}
		m[task] = float64(x)
	}
	return m
}

// duration writes a time as Go does, without zeros at the end.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func size(b Bytes) any {
	for _, u := range []struct {
		name string
		of   Bytes
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b >= u.of && b%u.of == 0 {
			return fmt.Sprintf("%d%s", b/u.of, u.name)
		}
	}
	return int64(b)
}

// descriptions are those of the schema, by type and key.
var descriptions = sync.OnceValue(func() map[string]map[string]string {
	type object struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
		OneOf []struct {
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
		} `json:"oneOf"`
	}
	var s struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	all := map[string]map[string]string{}
	if err := json.Unmarshal(schema, &s); err != nil {
		return all // a test reads it
	}
	s.Defs["Config"] = s.object
	for name, o := range s.Defs {
		all[name] = map[string]string{}
		for key, p := range o.Properties {
			all[name][key] = p.Description
		}
		for _, one := range o.OneOf {
			for key, p := range one.Properties {
				all[name][key] = p.Description
			}
		}
	}
	return all
})

func described(of, key string) string { return descriptions()[of][key] }
