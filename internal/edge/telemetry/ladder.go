package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spillway-llm/spillway/internal/core/admit"
)

// LadderState is the ladder of one model at the moment of a scrape.
type LadderState struct {
	Model   string
	Classes [admit.NumClasses]LevelState
	Rungs   []RungState
}

// LevelState is how far down the ladder one class is. The zero value is a class
// that nobody has asked with yet.
type LevelState struct {
	Level    int                            // 0 to 3
	Pressure float64                        // predicted wait over what it may be at most, smoothed
	Held     [admit.NumLevels]time.Duration // time spent at each level, so far
}

// RungState is what was measured of one rung.
type RungState struct {
	Name   string
	Served int64         // good calls whose lowest rung it was; Took and Usual mean nothing without any
	Took   time.Duration // their mean slot time
	Usual  time.Duration // what they would have taken as asked, by prediction
	Asleep bool          // it did not help, and is left out for a while
}

func newLadderCollector() *ladderCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("spillway_"+name, help, append([]string{"model"}, labels...), nil)
	}
	return &ladderCollector{
		level:    desc("ladder_level", "How far down its ladder a model is for a class: 0 nothing, 1 features, 2 compute, 3 another model. Classes that nobody has asked with are left out.", "class"),
		pressure: desc("ladder_pressure", "What moves the level: the predicted wait over what it may be at most, smoothed.", "class"),
		held:     desc("ladder_seconds_total", "Time spent at each level.", "class", "level"),
		took:     desc("rung_seconds", "Mean slot time of calls whose lowest rung it was, as it was (took) and as predicted without the ladder (usual).", "rung", "what"),
		asleep:   desc("rung_asleep", "1 while the rung is left out because it did not help.", "rung"),
	}
}

// ladderCollector tells of ladders.
type ladderCollector struct {
	level, pressure, held, took, asleep *prometheus.Desc
}

func (c *ladderCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.level, c.pressure, c.held, c.took, c.asleep} {
		ch <- d
	}
}

// tell skips a second model or rung of the same label, which would spoil the
// whole scrape.
func (c *ladderCollector) tell(ch chan<- prometheus.Metric, list []LadderState) {
	seen := map[string]bool{}
	for _, l := range list {
		model := label(l.Model)
		if seen[model] {
			continue
		}
		seen[model] = true
		put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, kind, v, append([]string{model}, labels...)...)
		}
		for i, s := range l.Classes {
			if s == (LevelState{}) {
				continue
			}
			class := admit.Class(i).String()
			put(c.level, prometheus.GaugeValue, float64(s.Level), class)
			put(c.pressure, prometheus.GaugeValue, s.Pressure, class)
			for level, d := range s.Held {
				put(c.held, prometheus.CounterValue, d.Seconds(), class, strconv.Itoa(level))
			}
		}
		rungs := map[string]bool{}
		for _, r := range l.Rungs {
			rung := label(r.Name)
			if rungs[rung] {
				continue
			}
			rungs[rung] = true
			asleep := 0.0
			if r.Asleep {
				asleep = 1
			}
			put(c.asleep, prometheus.GaugeValue, asleep, rung)
			if r.Served > 0 {
				put(c.took, prometheus.GaugeValue, r.Took.Seconds(), rung, "took")
				put(c.took, prometheus.GaugeValue, r.Usual.Seconds(), rung, "usual")
			}
		}
	}
}

// LadderStepped counts a change of level.
func (m *Metrics) LadderStepped(model string, class admit.Class, from, to uint8) {
	direction := "down"
	if to < from {
		direction = "up"
	}
	m.steps.WithLabelValues(m.names.Load().model(model).label, class.String(), direction).Inc()
}
