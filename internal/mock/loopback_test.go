package mock

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve puts the server on a loopback port.
func serve(t *testing.T, settings Settings) (*Server, *http.Client, string) {
	t.Helper()
	s := setup(t, settings)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return s, h.Client(), h.URL
}

func request(ctx context.Context, t *testing.T, url, body, fault string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "POST", url+chatPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(FaultHeader, fault)
	return r
}

func TestResetOnTheWire(t *testing.T) { // as in B012, before headers
	_, client, url := serve(t, Settings{})
	for _, fault := range []string{"reset", "outage"} {
		res, err := client.Do(request(t.Context(), t, url, plainAsk, fault))
		if err == nil {
			_ = res.Body.Close()
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v, want a connection reset", fault, err)
		}
	}
}

func TestCutOnTheWire(t *testing.T) { // as in B066: a part is delivered, then the connection breaks
	_, client, url := serve(t, Settings{ServiceMean: 20 * time.Millisecond})
	for _, body := range []string{streamed, plainAsk} {
		res, err := client.Do(request(t.Context(), t, url, body, "cut=2"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) == 0 {
			t.Errorf("%d bytes, then %v; want an unexpected end", len(got), err)
		}
		if body == streamed && strings.Count(string(got), "data: ") != 2 {
			t.Errorf("two events were asked for:\n%s", got)
		}
	}
}

func TestEmptyOnTheWire(t *testing.T) { // as in B094
	_, client, url := serve(t, Settings{})
	res, err := client.Do(request(t.Context(), t, url, plainAsk, "empty"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || len(got) != 0 || res.StatusCode != 200 {
		t.Errorf("%d, %q, %v", res.StatusCode, got, err)
	}
}

// A client that closes its connection frees the slot at once, in every
// phase (B032, B177).
func TestDisconnectOnTheWire(t *testing.T) {
	settings := Settings{Slots: 1, ServiceMean: 30 * time.Second, Noise: new(0.0), OutputMean: 3000}
	for _, test := range []struct {
		name, body, fault string
		events            int // read before leaving
	}{
		{"not streamed", plainAsk, "", 0},
		{"before the first token", streamed, "", 0},
		{"in the stream", streamed, "slow=0.02", 3},
		{"in a stall", streamed, "stall=0", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, client, url := serve(t, settings)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			ended := make(chan error, 1)
			read := make(chan struct{})
			go func() {
				res, err := client.Do(request(ctx, t, url, test.body, test.fault))
				if err != nil {
					ended <- err
					return
				}
				defer res.Body.Close() // read to its end below
				lines := bufio.NewScanner(res.Body)
				for n := 0; lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "data: ") {
						if n++; n == test.events {
							close(read)
						}
					}
				}
				ended <- lines.Err()
			}()
			until(t, "the request runs", func() bool { return s.Stats().Inflight == 1 })
			if test.events > 0 {
				<-read
			}
			left := time.Now()
			leave()
			until(t, "the slot is free", func() bool { return s.Stats().Inflight == 0 })
			if took := time.Since(left); took > 500*time.Millisecond {
				t.Errorf("the slot was free after %v", took)
			}
			if err := <-ended; err == nil {
				t.Error("the answer ended cleanly")
			}
			if st := s.Stats(); st.Aborted != 1 || st.WastedSlotSeconds <= 0 {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

// until polls a condition; the real network gives no signal to wait for.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("not reached: %s", what)
		}
	}
}
