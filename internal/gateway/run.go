package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	headerTime = 10 * time.Second  // for a caller to send its headers
	bodyTime   = 60 * time.Second  // and its body, from the first byte
	idleTime   = 120 * time.Second // an unused connection of a caller is kept
	answerTime = 60 * time.Second  // for a caller to take a small answer; each part of a long one has its own limit
	endTime    = 2 * time.Second   // for what is cut to write its last event
)

// Serve answers callers on public, and operators on ops with what the package
// ops makes of the gateway, on at most 256 connections, until ctx ends. Then
// it drains: it is not ready, refuses new requests, serves what waits and
// runs for as long as the configuration allows, and breaks off the rest with
// an error. It returns when all is over; the listeners are closed.
func (g *Gateway) Serve(ctx context.Context, public, ops net.Listener, surface http.Handler) error {
	c := g.state.Load().config
	callers := &http.Server{
		Handler: g.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: int(c.Limits.Headers), ErrorLog: g.errorLog(),
	}
	operators := &http.Server{Handler: surface, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, ErrorLog: g.errorLog()}
	newGuests(maxOperators).bound(operators)
	failed := make(chan error, 2)
	go func() { failed <- callers.Serve(public) }()
	go func() { failed <- operators.Serve(ops) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		callers.SetKeepAlivesEnabled(false)
		g.Drain(g.state.Load().config.Drain)
	}
	callers.Close()
	operators.Close()
	for range 2 {
		select {
		case e := <-failed:
			if err == nil && !errors.Is(e, http.ErrServerClosed) {
				err = e
			}
		case <-time.After(endTime):
		}
	}
	return err
}

// Drain stops taking requests and returns when all are done, at the latest a
// little after limit. It may be called once.
func (g *Gateway) Drain(limit time.Duration) {
	g.drained.Do(func() {
		g.drainEnd.Store(time.Now().Add(limit).UnixNano())
		close(g.draining)
	})
	g.log.Slog().Info("draining", "active", g.active.Load(), "limit", limit.String())
	if g.idle(limit) {
		return
	}
	g.stop(errDraining)
	if !g.idle(endTime) {
		g.log.Slog().Warn("requests were still running at the end of draining", "active", g.active.Load())
	}
}

// idle waits until no request is active, at most limit.
func (g *Gateway) idle(limit time.Duration) bool {
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for g.active.Load() > 0 {
		select {
		case <-look.C:
		case <-end.C:
			return g.active.Load() == 0
		}
	}
	return true
}
