package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// board is a dashboard. It asks one job, in a data source of the reader's choice.
type board struct {
	id, title, about string
	panels           []panel
}

// panel is one picture, a third of the page wide if not said otherwise.
type panel struct {
	title, about string
	kind         string // timeseries (the default), stat or heatmap
	unit         string // as Grafana calls it; short if empty
	wide         int    // of 24
	queries      []query
}

type query struct{ expr, legend string }

const (
	pageWidth   = 24
	panelWidth  = 8
	panelHeight = 8
)

// object is JSON that Grafana defines, with its members in the order of names.
type object = map[string]any

// grafana writes the board as Grafana imports it, one panel a line.
func (b *board) grafana(t *testing.T) []byte {
	t.Helper()
	source := object{"type": "prometheus", "uid": "${source}"}
	var panels [][]byte
	x, y := 0, 0
	for i, p := range b.panels {
		if p.kind == "" {
			p.kind = "timeseries"
		}
		if p.unit == "" {
			p.unit = "short"
		}
		if p.wide == 0 {
			p.wide = panelWidth
		}
		if x+p.wide > pageWidth {
			x, y = 0, y+panelHeight
		}
		var targets []object
		for n, q := range p.queries {
			target := object{"refId": string(rune('A' + n)), "datasource": source, "expr": q.expr, "legendFormat": q.legend}
			if p.kind == "heatmap" {
				target["format"] = "heatmap"
			}
			targets = append(targets, target)
		}
		o := object{
			"id": i + 1, "type": p.kind, "title": p.title, "description": p.about, "datasource": source, "targets": targets,
			"gridPos":     object{"x": x, "y": y, "w": p.wide, "h": panelHeight},
			"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []any{}},
		}
		if p.kind == "heatmap" {
			o["options"] = object{"calculate": false, "yAxis": object{"unit": p.unit}}
		}
		panels = append(panels, marshal(t, o))
		x += p.wide
	}
	variables := []object{
		{"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
		{"name": "job", "type": "query", "datasource": source, "query": "label_values(spillway_build_info, job)", "refresh": 2},
	}
	head := marshal(t, object{
		"uid": "spillway-" + b.id, "title": "Spillway / " + b.title, "description": b.about, "tags": []string{"spillway"},
		"schemaVersion": 38, "refresh": "30s", "time": object{"from": "now-3h", "to": "now"}, "templating": object{"list": variables},
	})
	return fmt.Appendf(nil, "%s,\"panels\":[\n%s\n]}\n", bytes.TrimSuffix(head, []byte("}")), bytes.Join(panels, []byte(",\n")))
}

func marshal(t *testing.T, o object) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// The files are what boards says.
func TestDashboardsAreAsWritten(t *testing.T) {
	kept := map[string]bool{}
	for _, b := range boards {
		file := filepath.Join("grafana", b.id+".json")
		kept[file] = true
		made := b.grafana(t)
		if !json.Valid(made) {
			t.Errorf("%s is no JSON", b.id)
		}
		if *update {
			if err := os.WriteFile(file, made, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if is, err := os.ReadFile(file); err != nil || !bytes.Equal(is, made) {
			t.Errorf("%s differs from deploy/boards_test.go (%v): go test ./deploy -update writes it", file, err)
		}
	}
	for _, file := range files(t, "grafana/*.json") {
		if !kept[file] {
			t.Errorf("%s is no dashboard of deploy/boards_test.go", file)
		}
	}
}

func TestDashboardsNameWhatExists(t *testing.T) {
	v := words(t, rules(t))
	for _, b := range boards {
		for _, p := range b.panels {
			if len(p.queries) == 0 || p.about == "" {
				t.Errorf("%s, %s: asks nothing, or does not say what it shows", b.id, p.title)
			}
			for _, q := range p.queries {
				for _, u := range v.unknown(q.expr) {
					t.Errorf("%s, %s asks for %s, which is not in docs/metrics.md", b.id, p.title, u)
				}
			}
		}
	}
}
