package gateway

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

const (
	requestPrefix = "req_"
	requestBytes  = 16
	arrivalBytes  = 7 // of the micro-seconds since 1970, until the year 4253
)

// requestID names a request that arrived now. It begins with the time, so that
// rows of the ledger which come one after another stand side by side in the
// index of their IDs: with IDs in no order each row of a batch goes to a page of
// its own. The other nine bytes are random. They are the last ones, by whose
// digits traces are sampled.
func requestID(now time.Time) string {
	var b [1 + requestBytes]byte // time has eight, of which the first is zero
	binary.BigEndian.PutUint64(b[:], uint64(now.UnixMicro()))
	rand.Read(b[1+arrivalBytes:])
	id := make([]byte, 0, len(requestPrefix)+2*requestBytes)
	return string(hex.AppendEncode(append(id, requestPrefix...), b[1:]))
}
