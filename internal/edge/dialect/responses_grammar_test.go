package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// respGrammar checks a stream for what clients rely on: framing, names equal to
// types, rising sequence numbers, the nesting of items and parts, deltas that
// add up to what done says, and a last object that repeats everything.
type respGrammar struct {
	names  []string // of all events, in order
	status string   // "" until created
	over   bool
	failed bool // error was sent
	items  []gjson.Result
	open   map[int]*respOpenItem
	last   gjson.Result // the last response object
}

type respOpenItem struct {
	item  gjson.Result
	parts []gjson.Result
	part  int // the open part; -1 if there is none
	text  string
}

// respCheckStream reads a whole stream and gives what is wrong with it.
func respCheckStream(stream []byte) (*respGrammar, error) {
	g := &respGrammar{open: map[int]*respOpenItem{}}
	stream = bytes.ReplaceAll(stream, []byte(": ping\n"), nil)
	if len(stream) == 0 {
		return g, nil
	}
	if !bytes.HasSuffix(stream, []byte("\n\n")) {
		return g, fmt.Errorf("the stream ends inside an event")
	}
	for i, frame := range strings.Split(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		event, data, ok := strings.Cut(frame, "\ndata: ")
		name, isEvent := strings.CutPrefix(event, "event: ")
		if !ok || !isEvent || strings.Contains(data, "\n") || !gjson.Valid(data) {
			return g, fmt.Errorf("event %d is not framed: %q", i, frame)
		}
		v := gjson.Parse(data)
		if v.Get("type").Str != name || v.Get("sequence_number").Raw != fmt.Sprint(i) {
			return g, fmt.Errorf("event %d is named %s, of type %s and number %s", i, name, v.Get("type"), v.Get("sequence_number"))
		}
		g.names = append(g.names, name)
		if err := g.event(name, v); err != nil {
			return g, fmt.Errorf("event %d, %s: %w\n%s", i, name, err, data)
		}
	}
	return g, nil
}

func (g *respGrammar) event(name string, v gjson.Result) error {
	if g.over {
		return fmt.Errorf("after the end")
	}
	if r := v.Get("response"); r.Exists() {
		return g.response(name, r)
	}
	if name == "error" {
		g.failed = true
		return respHas(v, "code", "message", "param")
	}
	if g.status != "in_progress" || g.failed {
		return fmt.Errorf("not while the response is %q", g.status)
	}
	out := int(v.Get("output_index").Int())
	if err := respHas(v, "output_index"); err != nil {
		return err
	}
	switch name {
	case "response.output_item.added":
		if out != len(g.items) || v.Get("item.id").Str == "" {
			return fmt.Errorf("item %d follows %d", out, len(g.items))
		}
		for _, o := range g.open {
			if o.item.Get("type").Str != "function_call" || v.Get("item.type").Str != "function_call" {
				return fmt.Errorf("only calls may be open together")
			}
		}
		g.items = append(g.items, gjson.Result{})
		g.open[out] = &respOpenItem{item: v.Get("item"), part: -1}
		return nil
	}
	o := g.open[out]
	if o == nil {
		return fmt.Errorf("item %d is not open", out)
	}
	if name == "response.output_item.done" {
		return g.itemDone(out, o, v.Get("item"))
	}
	if v.Get("item_id").Str != o.item.Get("id").Str {
		return fmt.Errorf("item_id is not of item %d", out)
	}
	return o.event(name, v)
}

// respHas says which of the members is missing.
func respHas(v gjson.Result, names ...string) error {
	for _, n := range names {
		if !v.Get(n).Exists() {
			return fmt.Errorf("%s is missing", n)
		}
	}
	return nil
}

// event checks what happens inside an item.
func (o *respOpenItem) event(name string, v gjson.Result) error {
	kind := o.item.Get("type").Str
	index := v.Get("content_index")
	if kind == "reasoning" {
		index = v.Get("summary_index")
	}
	if kind != "function_call" && (!index.Exists() || int(index.Int()) != max(o.part, 0) && !strings.HasSuffix(name, "part.added")) {
		return fmt.Errorf("its index is %s, and part %d is open", index, o.part)
	}
	whole := v.Get("text").Str + v.Get("refusal").Str + v.Get("arguments").Str
	switch kind + " " + name {
	case "message response.content_part.added", "reasoning response.reasoning_summary_part.added":
		if o.part >= 0 || int(index.Int()) != len(o.parts) {
			return fmt.Errorf("part %s, after %d parts", index, len(o.parts))
		}
		o.part, o.text = len(o.parts), ""
		return respHas(v, "part.type")
	case "message response.output_text.delta", "message response.output_text.done":
		if err := respHas(v, "logprobs"); err != nil {
			return err
		}
	case "message response.refusal.delta", "message response.refusal.done", "reasoning response.reasoning_summary_text.delta", "reasoning response.reasoning_summary_text.done":
	case "function_call response.function_call_arguments.delta":
		o.part = 0
	case "function_call response.function_call_arguments.done":
		if o.text == "" && whole == "{}" {
			o.text = whole
		}
		o.part = 0
	case "message response.content_part.done", "reasoning response.reasoning_summary_part.done":
		part := v.Get("part")
		if said := part.Get("text").Str + part.Get("refusal").Str; o.part < 0 || said != o.text {
			return fmt.Errorf("part %d said %q, now %q", o.part, o.text, said)
		}
		o.parts = append(o.parts, part)
		o.part = -1
		return nil
	default:
		return fmt.Errorf("not inside a %s", kind)
	}
	if o.part < 0 {
		return fmt.Errorf("no part is open")
	}
	if d := v.Get("delta"); d.Exists() {
		o.text += d.Str
	} else if whole != o.text {
		return fmt.Errorf("it said %q, now %q", o.text, whole)
	}
	return nil
}

func (g *respGrammar) itemDone(out int, o *respOpenItem, item gjson.Result) error {
	if item.Get("id").Str != o.item.Get("id").Str || item.Get("type").Str != o.item.Get("type").Str {
		return fmt.Errorf("it is not the item that was added")
	}
	if item.Get("status").Str == "in_progress" {
		return fmt.Errorf("it is still in progress")
	}
	raw := func(v []gjson.Result) (s string) {
		for _, p := range v {
			s += p.Raw + "\n"
		}
		return s
	}
	switch item.Get("type").Str {
	case "message":
		if o.part >= 0 || raw(item.Get("content").Array()) != raw(o.parts) {
			return fmt.Errorf("it does not repeat its parts")
		}
	case "reasoning":
		if o.part >= 0 || raw(item.Get("summary").Array()) != raw(o.parts) {
			return fmt.Errorf("it does not repeat its summary")
		}
	case "function_call":
		if item.Get("arguments").Str != o.text || item.Get("call_id").Str == "" {
			return fmt.Errorf("it does not repeat its arguments, %q", o.text)
		}
	}
	g.items[out] = item
	delete(g.open, out)
	return nil
}

func (g *respGrammar) response(name string, r gjson.Result) error {
	for _, m := range respRequired {
		if !r.Get(m).Exists() {
			return fmt.Errorf("%s is missing", m)
		}
	}
	status := r.Get("status").Str
	if g.last.Exists() && g.last.Get("id").Str != r.Get("id").Str {
		return fmt.Errorf("another response")
	}
	g.last = r
	switch name {
	case "response.created", "response.in_progress":
		if want := len(g.names) - 1; want > 1 || status != "in_progress" || name != [...]string{"response.created", "response.in_progress"}[want] {
			return fmt.Errorf("not here, with status %s", status)
		}
		g.status = status
		return nil
	case "response.completed", "response.incomplete", "response.failed":
	default:
		return fmt.Errorf("not known")
	}
	if len(g.names) < 3 || "response."+status != name {
		return fmt.Errorf("not here, with status %s", status)
	}
	g.over, g.status = true, status
	if g.failed != (status == "failed") || g.failed != r.Get("error").IsObject() {
		return fmt.Errorf("an error is told once with each end, if it failed")
	}
	output := r.Get("output").Array()
	if len(output) != len(g.items) {
		return fmt.Errorf("it has %d items of %d", len(output), len(g.items))
	}
	if status == "failed" {
		return nil // with what there was, also of open items
	}
	if len(g.open) > 0 {
		return fmt.Errorf("%d items are open", len(g.open))
	}
	if !slices.EqualFunc(output, g.items, func(a, b gjson.Result) bool { return a.Raw == b.Raw }) {
		return fmt.Errorf("it does not repeat its items")
	}
	return nil
}
