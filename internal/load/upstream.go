package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tidwall/gjson"
)

// Upstream is what the upstream's own accounts say about the run. A nil field was not in them.
type Upstream struct {
	Slots           *float64 `json:"slots"`
	Started         *float64 `json:"started"`           // during the run
	Finished        *float64 `json:"finished"`          // during the run
	BusySlotSeconds *float64 `json:"busy_slot_seconds"` // during the run
	MaxInflight     *float64 `json:"max_inflight"`      // since the upstream's counters were last zeroed
}

// accounts is one reading of the upstream's accounts.
type accounts struct {
	slots, started, finished, busy, wasted, maxInflight *float64
	working                                             bool // requests are running or waiting
}

// readAccounts asks the upstream. It takes at most two seconds.
func readAccounts(ctx context.Context, transport http.RoundTripper, url string) (accounts, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return accounts{}, fmt.Errorf("ask for the upstream's accounts: %w", err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return accounts{}, fmt.Errorf("ask %s for the upstream's accounts: %w", url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return accounts{}, fmt.Errorf("read the upstream's accounts from %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK || !gjson.ValidBytes(body) {
		return accounts{}, fmt.Errorf("%s has no accounts of an upstream: status %d", url, resp.StatusCode)
	}
	number := func(name string) *float64 {
		if v := gjson.GetBytes(body, name); v.Type == gjson.Number {
			return &v.Num
		}
		return nil
	}
	a := accounts{
		slots: number("slots"), started: number("started"), finished: number("finished"), busy: number("busy_slot_seconds"),
		wasted: number("wasted_slot_seconds"), maxInflight: number("max_inflight"),
		working: gjson.GetBytes(body, "inflight").Num+gjson.GetBytes(body, "queued").Num > 0,
	}
	if a.slots == nil {
		return accounts{}, fmt.Errorf("%s has no accounts of an upstream: no slots", url)
	}
	return a, nil
}

// since returns what happened between two readings.
func (a accounts) since(before accounts) *Upstream {
	return &Upstream{
		Slots: a.slots, Started: minus(a.started, before.started), Finished: minus(a.finished, before.finished),
		BusySlotSeconds: minus(a.busy, before.busy), MaxInflight: a.maxInflight,
	}
}

func minus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return ptr(*a - *b)
}
