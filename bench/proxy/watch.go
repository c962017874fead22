package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// scrapeEvery is fifteen times as often as is usual, as a round is short.
const scrapeEvery = time.Second

// watch reads the metrics of a gateway as Prometheus does, until stop, if they
// are to be read. stop tells whether they could be.
func (p *proxy) watch(ctx context.Context, child *process) (stop func() error) {
	if !p.scrape {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		var failed error
		for pause(ctx, scrapeEvery) == nil && failed == nil {
			if err := scrape(ctx, "http://"+child.ops+"/metrics"); ctx.Err() == nil {
				failed = err
			}
		}
		done <- failed
	}()
	return func() error { cancel(); return <-done }
}

func scrape(ctx context.Context, url string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	q.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// serveCollector takes traces and forgets them.
func serveCollector(addr string) error {
	go func() { untilOrphan(); os.Exit(0) }()
	err := http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
