package gateway

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever holds a connection of the operators' listener without asking anything
// loses it: a head must come within ten seconds, a body within a minute, and what
// is kept for the next request two minutes.
func TestSlowOperators(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				w.WriteHeader(http.StatusRequestTimeout)
			}
		})
		g := setup(t, one(1), quick()).g
		n := &wires{}
		public, ops := n.listen("slow-gateway:80"), n.listen("slow-ops:80")
		ctx, served := t.Context(), make(chan error, 1)
		go func() { served <- g.Serve(ctx, public, ops, reads) }()
		t.Cleanup(func() {
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		for _, tt := range []struct {
			name, first, drop string // drop is sent every five seconds
			within            time.Duration
		}{
			{"says nothing", "", "", headerTime},
			{"a head by drops", "GET /healthz HTTP/1.1\r\n", "X-A: b\r\n", headerTime},
			{"a body by drops", "POST /admin/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", "x", bodyTime},
			{"asks once and stays", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "", idleTime},
		} {
			conn, err := n.dial(t.Context(), "tcp", "slow-ops:80")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			closed := make(chan time.Duration, 1)
			go func() { // until the other side closes
				_, _ = io.Copy(io.Discard, conn)
				closed <- time.Since(began)
			}()
			stop := make(chan struct{})
			go drip(conn, tt.first, tt.drop, stop)
			took := <-closed
			if close(stop); took > tt.within+time.Second || took < tt.within/2 {
				t.Errorf("%s: held for %v, want about %v", tt.name, took, tt.within)
			}
			conn.Close()
			synctest.Wait()
		}
	})
}

// drip writes slowly until it cannot, or need not.
func drip(conn net.Conn, first, drop string, stop <-chan struct{}) {
	if _, err := io.WriteString(conn, first); err != nil || drop == "" {
		return
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, err := io.WriteString(conn, drop); err != nil {
				return
			}
		case <-stop:
			return
		}
	}
}
