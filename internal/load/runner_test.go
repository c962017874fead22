package load

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// upstream serves one request a slot for one second each, first come first served, and keeps accounts.
type upstream struct {
	slots   chan struct{}
	service time.Duration

	mu                sync.Mutex
	started, finished int
	busy              time.Duration
}

func newUpstream(slots int) *upstream {
	return &upstream{slots: make(chan struct{}, slots), service: time.Second}
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/stats" {
		u.mu.Lock()
		defer u.mu.Unlock()
		fmt.Fprintf(w, `{"slots":%d,"started":%d,"finished":%d,"busy_slot_seconds":%g,"wasted_slot_seconds":0.25,"max_inflight":%d,"inflight":0}`,
			cap(u.slots), u.started, u.finished, u.busy.Seconds(), cap(u.slots))
		return
	}
	io.Copy(io.Discard, r.Body)
	select {
	case u.slots <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-u.slots }()
	u.mu.Lock()
	u.started++
	u.mu.Unlock()
	if sleep(r.Context(), u.service) {
		u.mu.Lock()
		u.finished++
		u.busy += u.service
		u.mu.Unlock()
		w.Header().Set("Server-Timing", "queue;dur=40")
		answerJSON(w, u.service.Seconds())
	}
}

func runIn(t *testing.T, s Settings, h http.Handler, progress func(Progress), samples io.Writer) (Summary, error) {
	t.Helper()
	r := newRunner(planOf(t, s), serve(t, h), progress)
	if samples != nil {
		r.sampleTo(samples)
	}
	return r.run(t.Context())
}

func TestRunUnderLightLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last Progress
		calls := 0
		var samples bytes.Buffer
		s, err := runIn(t, Settings{Rate: 2, Arrivals: Constant, Duration: 20*time.Second + ms, Deadline: 5 * time.Second, Retries: 2}, newUpstream(4),
			func(p Progress) { last, calls = p, calls+1 }, &samples)
		if err != nil {
			t.Fatal(err)
		}
		if s.Offered != 40 || s.OnTime != 40 || s.Attempts != 40 || s.Errors != 0 {
			t.Errorf("%+v", s.Figures)
		}
		// 38 of the 40 seconds of work lie in the window: the last two arrivals come at 19.5 and 20 s.
		for name, v := range map[string]struct{ got, want float64 }{
			"goodput_ratio": {*s.GoodputRatio, 38.5 / 80}, "offered_ratio": {*s.OfferedRatio, 0.5}, "latency_p50_s": {*s.LatencyP50, 1},
			"queue_p95_s": {*s.QueueP95, 0.04}, "wasted": {*s.WastedSlotSeconds, 0}, "finished": {*s.Upstream.Finished, 40}, "jain": {*s.JainSlotSeconds, 1},
		} {
			if v.got < v.want*0.99-1e-9 || v.got > v.want*1.01+1e-9 {
				t.Errorf("%s is %v, want %v", name, v.got, v.want)
			}
		}
		if last.Offered != 40 || last.OnTime != 40 || last.InFlight != 0 || calls < 20 || calls > 23 {
			t.Errorf("progress after %d calls: %+v", calls, last)
		}
		rows, err := csv.NewReader(&samples).ReadAll()
		if err != nil || len(rows) < 21 || rows[0][0] != "t" {
			t.Fatalf("samples %v, %v", rows, err)
		}
		sum := 0
		for _, row := range rows[1:] {
			n, _ := strconv.Atoi(row[1])
			sum += n
		}
		if sum != 40 || rows[5][7] == "0" || rows[5][8] == "" {
			t.Errorf("samples add up to %d arrivals; the fifth is %v", sum, rows[5])
		}
	})
}

func TestRunUnderOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Four times what two slots can do, first come first served: soon everyone waits longer than 3 s.
		s, err := runIn(t, Settings{Rate: 8, Duration: 30 * time.Second, Deadline: 3 * time.Second, Seed: 3}, newUpstream(2), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Late < s.Offered/2 || s.OnTime == 0 || s.Offered != s.OnTime+s.Late {
			t.Errorf("%+v", s.Figures)
		}
		if *s.OfferedRatio != 1 || *s.GoodputRatio <= 0 || *s.GoodputRatio > 1 {
			t.Errorf("goodput %v of offered %v", *s.GoodputRatio, *s.OfferedRatio)
		}
	})
}

func TestRunSaturated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := runIn(t, Settings{Rate: 10, Arrivals: Constant, Duration: time.Second + ms, MaxInFlight: 3, Stats: "none"}, newUpstream(100), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Offered != 10 || s.OnTime != 3 || s.Errors != 7 || s.Attempts != 3 || len(s.FirstErrors) != 1 || !strings.Contains(s.FirstErrors[0], "load generator saturated") {
			t.Errorf("%+v %q", s.Figures, s.FirstErrors)
		}
		if s.GoodputRatio != nil || s.Upstream != nil || len(s.Notes) != 1 {
			t.Errorf("notes %q", s.Notes)
		}
	})
}

func TestRunEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		s, err := runIn(t, Settings{Rate: 1, Arrivals: Constant, Duration: 5 * time.Second, Grace: 7 * time.Second, Stats: "none"}, silent, nil, nil)
		if err != nil || s.Errors != 4 || !strings.Contains(s.FirstErrors[0], "no end 7s after the last arrivals") {
			t.Errorf("%+v %q %v", s.Figures, s.FirstErrors, err)
		}
		if took := time.Since(start); took != 12*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestRunInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(4500*ms, func() { cancel(enough) })
		r := newRunner(planOf(t, Settings{Rate: 1, Arrivals: Constant, Duration: time.Hour, Stats: "none"}), serve(t, newUpstream(1)), nil)
		s, err := r.run(ctx)
		if !errors.Is(err, enough) || s.Offered != 4 || s.OnTime != 3 || s.Errors != 1 || s.Duration != 4.5 {
			t.Errorf("%+v, %v", s.Figures, err)
		}
		if s.GoodputRPS != 3/4.5 {
			t.Errorf("goodput %v is not over the time that ran", s.GoodputRPS)
		}
	})
}

func TestRunWithoutAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stats" {
				http.NotFound(w, r)
				return
			}
			answerJSON(w, 1)
		})
		s, err := runIn(t, Settings{Duration: 2 * time.Second}, none, nil, nil)
		if err != nil || s.GoodputRatio != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "/stats has no accounts of an upstream: status 404") {
			t.Errorf("a guessed address: %q, %v", s.Notes, err)
		}
		if _, err = runIn(t, Settings{Duration: time.Second, Stats: "http://upstream.test/stats"}, none, nil, nil); err == nil {
			t.Error("a given address without accounts must be an error")
		}
	})
}

// Run itself, over real sockets.
func TestRun(t *testing.T) {
	u := newUpstream(50)
	u.service = 2 * ms
	server := httptest.NewServer(u)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "samples.csv")
	s, err := Run(t.Context(), Settings{Target: server.URL + "/v1/", Rate: 200, Duration: 500 * ms, Deadline: 2 * time.Second, Sample: 100 * ms, CSV: file}, nil)
	if err != nil || s.Offered == 0 || s.OnTime != s.Offered || s.Upstream == nil {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Run(t.Context(), Settings{Target: server.URL, CSV: filepath.Join(file, "no")}, nil); err == nil {
		t.Error("a sample file that cannot be made must be an error")
	}
	if _, err := Run(t.Context(), Settings{}, nil); err == nil {
		t.Error("settings without a target must be an error")
	}
}

func TestBarIsQuietWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	Bar(&out)(Progress{Duration: time.Second})
	if out.Len() != 0 {
		t.Errorf("wrote %q", out.String())
	}
}

// One operation is one caller: schedule, request, answer and tally, together with a bare server in the same process.
func BenchmarkCaller(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		answerJSON(w, 0.001)
	}))
	defer server.Close()
	p := planOf(b, Settings{Target: server.URL, Deadline: 10 * time.Second})
	transport := newTransport(100)
	defer transport.CloseIdleConnections()
	r := newRunner(p, transport, nil)
	b.ReportAllocs()
	for b.Loop() {
		c := &caller{tenant: p.tenants[0], make: r.makers[0], transport: transport, plan: &p, arrival: arrival{input: 16}, intended: time.Now()}
		r.tally.settle(0, c.live(b.Context()))
	}
}
