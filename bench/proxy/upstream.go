package main

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// event is one event of a stream, as a model server sends it.
var event = []byte(`data: {"id":"chatcmpl-5f2b8a6e9d1c4f07b3a2","object":"chat.completion.chunk","created":1764000000,"model":"chat",` +
	`"system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" tokens"},"logprobs":null,"finish_reason":null}]}` + "\n\n")

var answer = []byte(`{"id":"chatcmpl-5f2b8a6e9d1c4f07b3a2","object":"chat.completion","created":1764000000,"model":"chat","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"` + strings.Repeat("An answer of some words. ", 30) + `"},"logprobs":null,"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":64,"completion_tokens":180,"total_tokens":244}}`)

// paceHeader says how many microseconds lie between two events of a stream; a
// call without it is answered at once. The name is one that every proxy passes on.
const paceHeader = "Idempotency-Key"

const maxStream = 2 * time.Minute

// serveUpstream answers every call alike, with as little work as can be.
func serveUpstream(addr string) error {
	go func() { untilOrphan(); os.Exit(0) }()
	s := http.Server{Addr: addr, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		pace, _ := strconv.Atoi(r.Header.Get(paceHeader))
		if pace <= 0 {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		// Uneven, so that the events of different streams are not in step: how
		// many come at once decides what one of them costs.
		next := func() time.Duration { return time.Duration(pace/2+rand.IntN(pace)) * time.Microsecond }
		tick := time.NewTimer(next())
		defer tick.Stop()
		// The first event takes its time, too: one that overtakes the end of its
		// request makes a ReverseProxy break the stream now and then.
		for end := time.Now().Add(maxStream); time.Now().Before(end); {
			select {
			case <-tick.C:
				tick.Reset(next())
			case <-r.Context().Done():
				return
			}
			if _, err := w.Write(event); err != nil {
				return
			}
			if err := rc.Flush(); err != nil {
				return
			}
		}
	})}
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func threads() int { return runtime.GOMAXPROCS(0) }
