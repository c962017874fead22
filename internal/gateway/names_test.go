package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/spillway-llm/spillway/internal/core/admit"
	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// TestNamesOfRequests: whatever callers write into the places where names go, in
// a hundred thousand requests through the handler, there are no more series and
// no more memory than after the first of them, which fill the bounded tables.
func TestNamesOfRequests(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 40_000
	}
	c, err := config.Parse("names.yaml", []byte(`
providers: {up: {base_url: "http://127.0.0.1:1/v1"}}
models: {chat: {deployments: [{provider: up, concurrency: 1, price: free}]}}
`+tenantsOf(`{name: shop, keys: [KEY], budget: {day: 10}, budgets: {user: {day: 1}, session: {day: 1}}}`)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(c, Options{Log: telemetry.NewLogger(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	now := time.Now()
	if d, _ := g.gate.Offer(&admit.Request{Tenant: "shop", Model: "chat", Arrived: now, Deadline: now.Add(time.Hour)}); d.Verdict != admit.Run {
		t.Fatalf("%+v", d) // takes the slot, so that nobody calls the upstream
	}
	h := g.Handler()
	statuses := map[int]int{}
	ask := func(i int) {
		model, key := "chat", "secret"
		switch i % 10 {
		case 0:
			model = fmt.Sprintf("made-up-model-%d", i)
		case 1:
			key = fmt.Sprintf("made-up-key-%d", i)
		}
		body := fmt.Sprintf(`{"model":%q,"user":"made-up-user-%d","service_tier":"made-up-tier-%d","messages":[{"role":"user","content":"hello"}]}`, model, i, i)
		r := httptest.NewRequest(http.MethodPost, chatPath, strings.NewReader(body))
		for name, value := range map[string]string{
			"Authorization": "Bearer " + key, "X-Spillway-Deadline-Ms": "1", "X-Spillway-Session": fmt.Sprintf("made-up-session-%d", i),
			"X-Spillway-Task": fmt.Sprintf("made-up-task-%d", i), fmt.Sprintf("X-Made-Up-%d", i): "made-up", "User-Agent": fmt.Sprintf("made-up/%d", i),
		} {
			r.Header.Set(name, value)
		}
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d:%d", i%250, 1024+i%60000)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		statuses[w.Code]++
	}
	// size is what is held beside the traffic that is remembered, which has its bound.
	size := func() (lines int, heap uint64) {
		var s runtime.MemStats
		body := scrape(t, g)
		if bytes.Contains(body, []byte("made-up")) {
			t.Fatal("a name that a request brought is in the metrics")
		}
		lines = bytes.Count(body, []byte("\nspillway_"))
		runtime.GC()
		runtime.ReadMemStats(&s)
		for _, c := range g.passed.chunks {
			s.HeapAlloc -= uint64(cap(c)) * uint64(unsafe.Sizeof(Passed{}))
		}
		return lines, s.HeapAlloc
	}
	for i := range n / 4 {
		ask(i)
	}
	lines, heap := size()
	for i := n / 4; i < n; i++ {
		ask(i)
	}
	linesNow, heapNow := size()
	if linesNow > lines+20 { // on a slow machine a further stage or status may come up, each a closed set
		t.Errorf("%d series became %d", lines, linesNow)
	}
	if heapNow > heap+2<<20 {
		t.Errorf("%d bytes in use became %d", heap, heapNow)
	}
	if statuses[404] != n/10 || statuses[401] != n/10 || statuses[429]+statuses[504] != n*8/10 {
		t.Errorf("%v: the rest should be refused for want of time", statuses)
	}
	p := g.Picture()
	if len(p.Tenants) != 1 || len(p.Lanes) != 0 || len(p.Models) != 1 {
		t.Errorf("%+v", p)
	}
}
