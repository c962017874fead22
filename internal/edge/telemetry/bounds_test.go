package telemetry

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// TestAMillionNames: what requests and providers call things makes no series and
// is not kept.
func TestAMillionNames(t *testing.T) {
	m, reg := setup(t)
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	live := func(i int) {
		made := fmt.Sprintf("made-up-%d", i)
		r := &Record{
			ID: made, Tenant: made, Model: made, AskedModel: made, UpstreamModel: made, User: made, Session: made, Key: made, Path: made, ClientIP: made,
			Class: admit.Class(i % admit.NumClasses), Arrived: t0, Depth: i, Attempt: i % 3, Stream: true, Rungs: []string{made}, Lowest: admit.RungCompute,
		}
		m.Arrived(r)
		m.Decided(r, &runIt)
		m.Attempted(r, &Attempt{Deployment: made, Kind: made, Status: i % 1000, Model: made, Provider: made, Service: time.Duration(i)})
		r.Outcome, r.Input, r.Output, r.Cost, r.Total, r.TTFT = Outcome(i%int(numOutcomes)), int64(i), int64(i), int64(i), time.Duration(i), time.Duration(i)
		m.Finished(r)
		m.BreakerOpened(made, "errors")
	}
	size := func() (series int, heap uint64) {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return len(gather(t, reg)), s.HeapAlloc
	}
	for i := range n / 50 {
		live(i)
	}
	series, heap := size()
	for i := n / 50; i < n; i++ {
		live(i)
	}
	seriesNow, heapNow := size()
	if seriesNow != series {
		t.Errorf("%d series became %d", series, seriesNow)
	}
	if heapNow > heap+1<<20 {
		t.Errorf("%d bytes in use became %d", heap, heapNow)
	}
	for s := range gather(t, reg) {
		if strings.Contains(s, "made-up") {
			t.Fatalf("%s", s)
		}
	}
}

// TestPairsAreBounded: of too many pairs of tenant and model the first have
// series of their own, over reloads too, and sums by model are right.
func TestPairsAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	n := Names{Kinds: []string{"ok"}}
	for i := range 100 {
		n.Tenants = append(n.Tenants, fmt.Sprintf("tenant-%d", i))
	}
	for i := range 20 {
		n.Models = append(n.Models, fmt.Sprintf("model-%d", i))
	}
	serve := func() {
		for _, model := range n.Models {
			for _, tenant := range n.Tenants {
				m.Finished(&Record{Tenant: tenant, Model: model, Outcome: Answered, Priced: true})
			}
		}
	}
	count := func() (own int, other, sum float64) {
		for s, text := range gather(t, reg) {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !strings.HasPrefix(s, "spillway_requests_total{") || !strings.Contains(s, `model="model-19"`) && !strings.Contains(s, "tenant-"):
			case strings.Contains(s, `tenant="other"`):
				other = v
			default:
				own++
			}
			if strings.HasPrefix(s, "spillway_requests_total{") && strings.Contains(s, `model="model-19"`) {
				sum += v
			}
		}
		return own, other, sum
	}
	m.Configure(n)
	serve()
	if own, other, sum := count(); own != mostPairs || other != 100 || sum != 100 {
		t.Errorf("%d pairs of their own, %v of another in model-19, %v in all", own, other, sum)
	}
	m.Configure(n)
	serve()
	if own, other, sum := count(); own != mostPairs || other != 200 || sum != 200 {
		t.Errorf("after a reload: %d pairs of their own, %v of another in model-19, %v in all", own, other, sum)
	}
	n.Models = append([]string{}, n.Models[10:]...) // the first ten are gone, and their places are free
	m.Configure(n)
	serve()
	if own, _, sum := count(); own != mostPairs || sum != 300 {
		t.Errorf("after half of the models are gone: %d pairs of their own, %v in all", own, sum)
	}
}
