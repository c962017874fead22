package mock

import (
	"net"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"
)

// appendError appends an error object in the shape of the OpenAI API.
func appendError(dst []byte, message, kind, code string) []byte {
	dst = gjson.AppendJSONString(append(dst, `{"error":{"message":`...), message)
	dst = gjson.AppendJSONString(append(dst, `,"type":`...), kind)
	dst = gjson.AppendJSONString(append(dst, `,"param":null,"code":`...), code)
	return append(dst, "}}"...)
}

func writeError(w http.ResponseWriter, status int, message, kind, code string) {
	writeJSON(w, status, appendError(nil, message, kind, code))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that left is no matter
}

// set sets a header unless its value is empty.
func set(h http.Header, key, value string) {
	if value != "" {
		h.Set(key, value)
	}
}

// reset breaks the connection with a TCP reset before any byte of an answer.
// Where there is no TCP connection to take over (HTTP/2, tests) it aborts the
// exchange, which resets the stream.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the caller sees an orderly end, still before any byte
	}
	_ = conn.Close() // the connection is gone either way
}
