package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spillway-llm/spillway/internal/mock"
)

type mockCmd struct {
	Listen string `default:"127.0.0.1:9001" help:"Address to listen on, host:port."`
	mock.Settings
}

func (c *mockCmd) Help() string {
	return "Faults for --faults and --schedule:\n" + mock.FaultWords()
}

func (c *mockCmd) Run(ctx context.Context) error {
	if err := c.Settings.Validate(); err != nil {
		return usageError{err}
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("mock: %w", err)
	}
	fmt.Printf("simulated model server on http://%s/v1 (counters: http://%s/stats)\n", l.Addr(), l.Addr())
	stop, err := startMock(c.Settings, l)
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	return nil
}

// startMock serves a simulated model server on l until stop is called.
func startMock(s mock.Settings, l net.Listener) (stop func(), err error) {
	m, err := mock.New(s)
	if err != nil {
		l.Close()
		return nil, err
	}
	srv := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return func() {
		m.Close()
		srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			fmt.Println("mock:", err)
		}
	}, nil
}
