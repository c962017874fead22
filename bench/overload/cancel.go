package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/load"
	"github.com/spillway-llm/spillway/internal/mock"
)

// cancelRounds is how often all slots are filled and left again.
const cancelRounds = 5

// cancelLimit is what the upstream may at most work on for a caller that left.
const cancelLimit = 0.1 // seconds

// cancelled measures for how long the upstream works on for callers that left:
// it fills every slot, lets all callers leave at once, and reads how much slot
// time passes until the upstream is idle.
func (b *bench) cancelled(ctx context.Context) error {
	b.report.head("Callers that leave")
	var rows [][]string
	for _, s := range []system{direct, haproxy, spillway} {
		mean, err := b.cancelLatency(ctx, s)
		if errors.Is(err, errNoHAProxy) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		rows = append(rows, []string{string(s), fmt.Sprint(cancelRounds * slots), fmt.Sprintf("%.1f ms", 1000*mean)})
		if s == spillway {
			b.report.atMost("cancel", "slot time after the caller left", 1000*mean, 1000*cancelLimit, "ms")
		}
	}
	b.report.table([]string{"system", "callers that left", "slot time after that, each"}, rows)
	return nil
}

func (b *bench) cancelLatency(ctx context.Context, s system) (mean float64, err error) {
	who := tenant("leaver", 1)
	u, err := b.start(ctx, s, []load.Tenant{who}, "cancel")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, u.stop()) }()
	var total float64
	for range cancelRounds {
		after, err := leaveAll(ctx, u, who.Key)
		if err != nil {
			return 0, err
		}
		total += after
	}
	return total / (cancelRounds * slots), nil
}

// leaveAll fills the slots and leaves them. It returns the slot seconds after that.
func leaveAll(ctx context.Context, u *setup, key string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	calls, leave := context.WithCancel(ctx)
	var callers sync.WaitGroup
	defer callers.Wait()
	defer leave()
	for range slots {
		callers.Go(func() { call(calls, u.target, key) })
	}
	if _, err := until(ctx, u.upstream, func(s mock.Stats) bool { return s.Inflight == slots }); err != nil {
		return 0, err
	}
	before, err := stats(ctx, u.upstream)
	if err != nil {
		return 0, err
	}
	leave()
	after, err := until(ctx, u.upstream, func(s mock.Stats) bool { return s.Inflight == 0 })
	return after.BusySlotSeconds - before.BusySlotSeconds, err
}

// call makes a request and does not care for the answer.
func call(ctx context.Context, target, key string) {
	body := strings.NewReader(`{"model":"chat","messages":[{"role":"user","content":"Hello"}]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"/chat/completions", body)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

// until asks for the upstream's accounts again and again, until they are as wanted.
func until(ctx context.Context, upstream string, wanted func(mock.Stats) bool) (mock.Stats, error) {
	for {
		s, err := stats(ctx, upstream)
		if err != nil || wanted(s) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, fmt.Errorf("the upstream has %d calls running and %d waiting: %w", s.Inflight, s.Queued, ctx.Err())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func stats(ctx context.Context, upstream string) (s mock.Stats, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream+"/stats", nil)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, fmt.Errorf("ask for the upstream's accounts: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return s, fmt.Errorf("read the upstream's accounts: %w", err)
	}
	return s, nil
}
