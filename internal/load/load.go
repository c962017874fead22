// Package load is an open-loop load generator for OpenAI-compatible endpoints. It measures what callers experience.
//
// Callers arrive when the schedule says so, whether or not earlier ones were answered, and every time is counted from
// the intended start, so a slow server cannot hide its waits by slowing the generator down. Each caller has a deadline,
// retries as the official SDKs do, and gives up when its time is over.
//
// The package knows nothing of the gateway it is pointed at: it sends what any client may send and reads what any
// client may read. Where the upstream publishes its own accounts (see Settings.Stats) the summary also says how much of
// the possible work reached its caller in time.
package load

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Run offers the load that s describes and returns what the callers experienced. It ends by itself: at the latest
// s.Grace after the last arrival. progress, if not nil, is called about once a second and once at the end, always from
// one goroutine.
//
// If ctx ends early, Run cancels what is in flight and returns the summary of the part that ran together with the
// cause. Any other error means that no load was offered.
func Run(ctx context.Context, s Settings, progress func(Progress)) (Summary, error) {
	p, err := newPlan(s)
	if err != nil {
		return Summary{}, err
	}
	var csv *os.File
	if p.CSV != "" {
		if csv, err = os.Create(p.CSV); err != nil {
			return Summary{}, fmt.Errorf("create the sample file: %w", err)
		}
		defer csv.Close()
	}
	transport := newTransport(p.MaxInFlight)
	defer transport.CloseIdleConnections()
	r := newRunner(p, transport, progress)
	if csv != nil {
		r.sampleTo(csv)
	}
	return r.run(ctx)
}

// newTransport keeps every connection it opened: a caller that arrives a second later must not pay for a handshake
// that the measured server did not cause.
func newTransport(maxInFlight int) *http.Transport {
	return &http.Transport{
		MaxIdleConns:        maxInFlight,
		MaxIdleConnsPerHost: maxInFlight,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
		ReadBufferSize:      4 << 10,
		WriteBufferSize:     4 << 10,
	}
}
