package gateway

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted counts the connections that it accepts.
type counted struct {
	net.Listener
	n atomic.Int32
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// A provider's connections are replaced when they are old, and are kept where
// that is switched off.
func TestConnectionAge(t *testing.T) {
	for setting, renewed := range map[string]bool{"connection_age: 10s": true, "connection_age: off": false, "": false} {
		t.Run(setting, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := &wires{}
				far := &counted{Listener: n.listen(upstreamAddr)}
				r := start(t, timeouts(setting), reply(200, "application/json", wholeAnswer), n, n.listen("gateway:80"), n.listen("ops:80"), far)
				for range 40 { // 40 s, and no pause in which an unused connection is closed
					if a := r.ask(chatPath, plainAsk); a.status != http.StatusOK {
						t.Fatalf("%d %s", a.status, a.body)
					}
					time.Sleep(time.Second)
				}
				synctest.Wait()
				if got := far.n.Load(); (got > 1) != renewed {
					t.Errorf("%d connections in 40 s", got)
				}
			})
		})
	}
}

// A new age makes a new client; the connections of the old one end with their calls.
func TestReloadOfConnectionAge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := setup(t, timeouts("connection_age: 10s"), reply(200, "application/json", wholeAnswer))
		before := r.g.state.Load().targets["up/vendor/m-2026"].client
		r.apply(strings.Replace(timeouts("connection_age: 10s"), "10s", "20s", 1))
		after := r.g.state.Load().targets["up/vendor/m-2026"].client
		if before == after {
			t.Error("the client is the old one")
		}
		if a := r.ask(chatPath, plainAsk); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// A provider without a key is called without one.
func TestProviderWithoutKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		up := inTurn(reply(200, "application/json", wholeAnswer))
		r := setup(t, strings.Replace(one(1), "api_key: upstream-secret, ", "", 1), up)
		if a := r.ask(chatPath, plainAsk, secret...); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if got := up.headers[0]["Authorization"]; got != nil {
			t.Errorf("it was sent %q", got)
		}
	})
}
