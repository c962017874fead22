package admit

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// forgets are types that forget with time whenever they are asked, and come to
// the same in as many steps as one likes.
var forgets = map[reflect.Type]bool{
	reflect.TypeFor[meter.Window](): true, reflect.TypeFor[meter.Recent](): true, reflect.TypeFor[meter.Purse](): true, reflect.TypeFor[meter.Day](): true,
}

// scratch are fields that mean nothing from one event to the next.
var scratch = map[string]bool{
	"Controller.payers": true, "Controller.asked": true, "Controller.plan": true, "Controller.out": true, "Controller.victims": true, "Controller.spare": true,
	"pool.demands": true, "pool.picks": true, "pool.peers": true, "pool.cands": true, "pool.fit": true,
}

// portrait is all that a controller holds, field by field in a fixed order, so
// that a look which changes anything at all is seen at once and not only where it
// leads to another decision. A field that is new is in it by itself.
type portrait struct {
	values []uint64
	seen   map[seen]int
	find   int    // the value whose place is wanted; -1 for none
	place  string // of it
}

type seen struct {
	at uintptr
	of reflect.Type
}

func portraitOf(c *Controller) *portrait { return draw(c, -1) }

func draw(c *Controller, find int) *portrait {
	p := &portrait{seen: map[seen]int{}, find: find}
	p.walk(reflect.ValueOf(c), "")
	return p
}

// changed is where a controller differs from its portrait; "" if nowhere.
func (p *portrait) changed(c *Controller) string {
	now := draw(c, -1)
	if slices.Equal(p.values, now.values) {
		return ""
	}
	at := 0
	for at < min(len(p.values), len(now.values))-1 && p.values[at] == now.values[at] {
		at++
	}
	return fmt.Sprintf("%s: %d to %d, %d to %d values", draw(c, at).place, p.values[at], now.values[at], len(p.values), len(now.values))
}

func (p *portrait) add(x uint64, path string) {
	if len(p.values) == p.find {
		p.place = path
	}
	p.values = append(p.values, x)
}

func (p *portrait) walk(v reflect.Value, path string) {
	below := func(v reflect.Value, name string) {
		if p.find >= 0 { // else nobody asks for the place
			name = path + name
		}
		p.walk(v, name)
	}
	switch v.Kind() {
	case reflect.Bool:
		x := uint64(0)
		if v.Bool() {
			x = 1
		}
		p.add(x, path)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.add(uint64(v.Int()), path)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.add(v.Uint(), path)
	case reflect.Float32, reflect.Float64:
		p.add(math.Float64bits(v.Float()), path)
	case reflect.String:
		p.add(hashOf(v.String()), path)
	case reflect.Pointer:
		if v.IsNil() {
			p.add(0, path)
			return
		}
		key := seen{v.Pointer(), v.Type()}
		n, known := p.seen[key]
		if !known {
			n = len(p.seen) + 1
			p.seen[key] = n
		}
		p.add(uint64(n), path)
		if !known && !forgets[v.Type().Elem()] {
			below(v.Elem(), "")
		}
	case reflect.Interface:
		if !v.IsNil() {
			below(v.Elem(), "")
		}
	case reflect.Struct:
		switch {
		case forgets[v.Type()]:
			return
		case v.Type() == reflect.TypeFor[time.Time](): // without its place
			p.add(v.Field(0).Uint(), path)
			p.add(uint64(v.Field(1).Int()), path)
			return
		}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !scratch[v.Type().Name()+"."+name] {
				below(v.Field(i), "."+name)
			}
		}
	case reflect.Slice, reflect.Array:
		p.add(uint64(v.Len()), path)
		for i := range v.Len() {
			below(v.Index(i), "["+strconv.Itoa(i)+"]")
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(nameOf(a), nameOf(b)) })
		p.add(uint64(len(keys)), path)
		for _, k := range keys {
			name := nameOf(k)
			p.add(hashOf(name), path)
			below(v.MapIndex(k), "["+name+"]")
		}
	case reflect.Func: // of heaps: always the same
	default:
		panic("what is a " + v.Kind().String() + " at " + path + " for?")
	}
}

// nameOf gives maps an order.
func nameOf(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Uint64:
		return fmt.Sprintf("%020d", v.Uint())
	case reflect.Struct:
		s := ""
		for i := range v.NumField() {
			s += nameOf(v.Field(i)) + "\x00"
		}
		return s
	}
	panic("a map by " + v.Type().String() + " has no order here")
}
