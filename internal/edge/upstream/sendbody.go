package upstream

import (
	"io"
	"net/http"
	"sync"
)

// sendBody is the body of a request on its way. The transport keeps the
// request until the answer has ended, but closes its body when it is sent: from
// then on the bytes are not held here, so that a long prompt does not stay in
// memory as long as the stream that answers it.
//
// HTTP/2 may close it while it is read.
type sendBody struct {
	mu     sync.Mutex
	rest   []byte
	closed bool
}

func newSendBody(b []byte) *sendBody { return &sendBody{rest: b} }

func (s *sendBody) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *sendBody) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest, s.closed = nil, true
	return nil
}
