package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// line is a connection that was only opened.
type line struct {
	net.Conn
	from   string
	closed bool
}

func (v *line) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(v.from), Port: 1} }

func (v *line) Close() error { v.closed = true; return nil }

func TestWhoMakesRoom(t *testing.T) {
	t0 := time.Unix(0, 0)
	all := newGuests(4)
	come := func(second int, from string) *line {
		v := &line{from: from}
		all.arrive(t0.Add(time.Duration(second)*time.Second), v)
		return v
	}
	prober := come(0, "10.0.0.1")
	first, second, third := come(1, "10.6.6.6"), come(2, "10.6.6.6"), come(3, "10.6.6.6")
	come(4, "10.6.6.6")
	if prober.closed || !first.closed || second.closed || third.closed {
		t.Error("who has most connections loses the oldest of its own, not the oldest of all")
	}
	all.set(all.all[second], true)
	come(5, "10.0.0.2")
	if second.closed || !third.closed || prober.closed {
		t.Error("one that is being answered stays")
	}
	for _, g := range all.all {
		g.busy = true
	}
	if late := come(6, "10.0.0.3"); !late.closed || len(all.all) != 4 {
		t.Errorf("all are being answered: the new one is closed; %d", len(all.all))
	}
	all.leave(second)
	if v := come(7, "10.0.0.3"); v.closed {
		t.Error("there is room again")
	}
	for conn := range all.all {
		all.leave(conn)
	}
	if all.leave(second); len(all.all) != 0 || len(all.from) != 0 {
		t.Errorf("%d connections of %d addresses are left", len(all.all), len(all.from))
	}
}

// Somebody opens connections and says nothing on them, or half a request. Probes
// are answered, and so is whoever was being answered before.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	const most = 8
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all, begun, end := newGuests(most), make(chan struct{}), make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			begun <- struct{}{}
			<-end
		}
	})}
	all.bound(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	defer func() { s.Close(); <-served }()

	long := make(chan error, 1)
	go func() { long <- probe(listener.Addr(), "/long") }()
	<-begun
	for i := range 3 * most {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			io.WriteString(conn, "GET /healthz HT")
		}
	}
	for range 3 {
		if err := probe(listener.Addr(), "/healthz"); err != nil {
			t.Errorf("a probe: %v", err)
		}
	}
	all.mu.Lock()
	if n := len(all.all); n > most {
		t.Errorf("%d connections, at most %d", n, most)
	}
	all.mu.Unlock()
	close(end)
	if err := <-long; err != nil {
		t.Errorf("an answer that took long: %v", err)
	}
}

// probe asks on a connection of its own.
func probe(to net.Addr, path string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + to.String() + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}
