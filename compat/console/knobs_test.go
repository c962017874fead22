package console_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// settings are those of the canned gateway, with what was changed.
func (d *desk) settings() map[string]any {
	list := []map[string]any{}
	add := func(path string, value any, kind, help string, enum ...string) {
		s := map[string]any{"path": path, "value": value, "source": "file", "type": kind, "help": help}
		if enum != nil {
			s["enum"] = enum
		}
		list = append(list, s)
	}
	add("admission", "enforce", "text", "whether refusals are made or only counted", "enforce", "observe")
	add("log.level", "info", "text", "what is logged", "debug", "info", "warn", "error")
	add("classes.interactive.max_wait", "6s", "duration", "the longest predicted wait that is let in")
	add("ledger.enabled", true, "switch", "whether usage is kept")
	for i := range d.canned.models {
		m := "models." + d.canned.model(i)
		add(m+".queue.total", 200, "number", "requests that may wait, of all tenants")
		add(m+".queue.per_tenant", 50, "number", "requests that may wait of one tenant")
		add(m+fmt.Sprintf(".deployments[gpu-%da].concurrency", i+1), 20, "number", "calls at once")
	}
	for i := range d.canned.tenants {
		t := "tenants[" + d.canned.tenant(i) + "]"
		add(t+".limits.rpm", 600, "number", "requests in any minute")
		add(t+".weight", 1, "decimal", "its share beside others")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range slices.Backward(d.changes) {
		for path, value := range c["after"].(map[string]any) {
			for _, s := range list {
				if s["path"] == path {
					s["value"], s["source"] = value, "change"
				}
			}
		}
	}
	changes := "durable"
	if d.file {
		changes = "file"
	}
	return map[string]any{"version": fmt.Sprintf("v%d", len(d.changes)+1), "changes": changes, "settings": list}
}

func (d *desk) change(w http.ResponseWriter, r *http.Request, role string) {
	body, ok := d.read(w, r)
	switch {
	case !ok:
		return
	case role != "admin":
		problem(w, 403, "token max may look only")
		return
	}
	set := body["set"].(map[string]any)
	before := map[string]any{}
	for _, s := range d.settings()["settings"].([]map[string]any) {
		if path := s["path"].(string); set[path] != nil {
			before[path] = s["value"]
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := map[string]any{"id": fmt.Sprintf("chg_%d", len(d.changes)+1), "version": "v9", "at": time.Now(), "who": "eve", "kind": "change", "why": body["why"], "set": set, "before": before, "after": maps.Clone(set), "warnings": []string{}}
	d.changes = slices.Insert(d.changes, 0, c)
	send(w, c)
}

func (d *desk) revert(w http.ResponseWriter, role, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.changes, func(c map[string]any) bool { return c["id"] == id })
	switch {
	case role != "admin":
		problem(w, 403, "token max may look only")
	case i < 0:
		problem(w, 404, "no change has this id")
	default:
		old := d.changes[i]
		c := map[string]any{"id": fmt.Sprintf("chg_%d", len(d.changes)+1), "version": "v9", "at": time.Now(), "who": "eve", "kind": "revert", "why": "takes " + id + " back", "set": old["before"], "before": old["after"], "after": old["before"], "warnings": []string{}}
		d.changes = slices.Insert(d.changes, 0, c)
		send(w, c)
	}
}

var uses = map[string]string{"drain": "drained", "disable": "disabled", "enable": "enabled"}

func (d *desk) turnUpstream(w http.ResponseWriter, r *http.Request, role, name string) {
	var wish struct{ Action string }
	switch err := json.NewDecoder(r.Body).Decode(&wish); {
	case err != nil || uses[wish.Action] == "":
		problem(w, 400, "no action")
	case role != "admin":
		problem(w, 403, "token max may look only")
	default:
		d.mu.Lock()
		d.use[name] = uses[wish.Action]
		d.mu.Unlock()
		send(w, map[string]any{})
	}
}

func (d *desk) whatIf(w http.ResponseWriter, r *http.Request, _ string) {
	if _, ok := d.read(w, r); !ok {
		return
	}
	outcome := func(good, refused, wait float64) map[string]any {
		return map[string]any{
			"offered": 24_000, "served": good + 200, "on_time": good, "refused": refused, "degraded": 400, "late": 200, "goodput_per_s": good / 300,
			"wait_p50_s": wait / 4, "wait_p99_s": wait, "ttft_p50_s": 0.5, "ttft_p99_s": 2.1 + wait, "cost_dollars": good * 0.004,
		}
	}
	now, then := outcome(17_800, 6000, 8.2), outcome(18_900, 4900, 5.1)
	pair := func(key, name string) map[string]any { return map[string]any{key: name, "now": now, "then": then} }
	send(w, map[string]any{
		"from": time.Now().Add(-5 * time.Minute), "to": time.Now(), "requests": 24_000, "now": now, "then": then, "measured": outcome(17_650, 6150, 8.4), "took_ms": 840, "warnings": []string{"retries of callers are as they were"},
		"classes": []any{pair("class", "interactive"), pair("class", "batch")}, "tenants": []any{pair("tenant", d.canned.tenant(0)), pair("tenant", d.canned.tenant(1))},
	})
}

// read keeps the body of a request, for tests to look at.
func (d *desk) read(w http.ResponseWriter, r *http.Request) (body map[string]any, ok bool) {
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body["set"] == nil {
		problem(w, 400, "the body has no set")
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.posted = append(d.posted, body)
	return body, true
}
