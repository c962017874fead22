package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

func TestLadderState(t *testing.T) {
	m, reg := setup(t)
	chat := LadderState{Model: "chat", Rungs: []RungState{
		{Name: "no-tools", Served: 40, Took: 800 * time.Millisecond, Usual: 2 * time.Second},
		{Name: "half-context", Served: 25, Took: 2 * time.Second, Usual: 2 * time.Second, Asleep: true},
		{Name: "small"},
		{Name: "no-tools", Served: 1}, // a name twice must not spoil the scrape
	}}
	chat.Classes[admit.Interactive] = LevelState{Pressure: 0.1, Held: [admit.NumLevels]time.Duration{time.Hour}}
	chat.Classes[admit.Batch] = LevelState{Level: 2, Pressure: 0.75, Held: [admit.NumLevels]time.Duration{10 * time.Second, 20 * time.Second, 5 * time.Second}}
	m.WatchStates(func() States {
		return States{Ladders: []LadderState{chat, {Model: "embed"}, {Model: "chat"}}}
	})
	expect(t, reg, `
		spillway_ladder_level{class="interactive",model="chat"} 0
		spillway_ladder_pressure{class="interactive",model="chat"} 0.1
		spillway_ladder_seconds_total{class="interactive",level="0",model="chat"} 3600
		spillway_ladder_level{class="batch",model="chat"} 2
		spillway_ladder_pressure{class="batch",model="chat"} 0.75
		spillway_ladder_seconds_total{class="batch",level="0",model="chat"} 10
		spillway_ladder_seconds_total{class="batch",level="1",model="chat"} 20
		spillway_ladder_seconds_total{class="batch",level="2",model="chat"} 5
		spillway_ladder_seconds_total{class="batch",level="3",model="chat"} 0
		spillway_rung_seconds{model="chat",rung="no-tools",what="took"} 0.8
		spillway_rung_seconds{model="chat",rung="no-tools",what="usual"} 2
		spillway_rung_asleep{model="chat",rung="no-tools"} 0
		spillway_rung_asleep{model="chat",rung="half-context"} 1
		spillway_rung_asleep{model="chat",rung="small"} 0
	`)
	for s := range gather(t, reg) {
		switch {
		case strings.Contains(s, "standard"):
			t.Errorf("%s, but nobody asked with that class", s)
		case strings.Contains(s, "embed"):
			t.Errorf("%s, but it has no ladder", s)
		case strings.Contains(s, "spillway_rung_seconds") && strings.Contains(s, "small"):
			t.Errorf("%s, but nothing was measured", s)
		}
	}
	chat.Classes[admit.Batch].Level = 3 // asked anew at each scrape
	expect(t, reg, `spillway_ladder_level{class="batch",model="chat"} 3`)
	lint(t, reg)
}

func TestStepsOfTheLadder(t *testing.T) {
	m, reg := setup(t)
	m.LadderStepped("chat", admit.Batch, 0, 1)
	m.LadderStepped("chat", admit.Batch, 1, 2)
	m.LadderStepped("chat", admit.Batch, 2, 1)
	m.LadderStepped("made-up", admit.Batch, 0, 1)
	expect(t, reg, `
		spillway_ladder_steps_total{class="batch",direction="down",model="chat"} 2
		spillway_ladder_steps_total{class="batch",direction="up",model="chat"} 1
		spillway_ladder_steps_total{class="batch",direction="down",model="other"} 1
	`)
	m.Configure(Names{Models: []string{"embed"}})
	for s := range gather(t, reg) {
		if strings.Contains(s, `"chat"`) {
			t.Errorf("a model that is gone is still exported: %s", s)
		}
	}
}
