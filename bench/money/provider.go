package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// maxRequests bounds the requests of one experiment.
const maxRequests = 1 << 20

// provider is a fake upstream of two kinds, whole and streamed, that knows how
// long it took for each request. What a request costs follows from its number.
type provider struct {
	server *http.Server
	addr   string
	took   []atomic.Int64 // nanoseconds by the number of the request; 0 means that it was never here
	calls  atomic.Int64   // begun
}

const (
	answerTime = 20 * time.Millisecond
	pieces     = 4 // of a streamed answer
)

func newProvider() (*provider, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &provider{addr: l.Addr().String(), took: make([]atomic.Int64, maxRequests)}
	p.server = &http.Server{Handler: p}
	go func() { _ = p.server.Serve(l) }() // it ends with close
	return p, nil
}

func (p *provider) close() { _ = p.server.Close() }

// Prices in micro-dollars of a token, which are dollars of a million.
const (
	inputPrice  = 1
	outputPrice = 10
)

// usage is what a request takes: its number decides, and its own bound.
func usage(n, most int) (input, output int) {
	output = 40 + int(uint32(n)*2654435761>>16)%160
	if most > 0 {
		output = min(output, most)
	}
	return 50 + n%17, output
}

func costOf(n, most int) int64 {
	input, output := usage(n, most)
	return int64(input*inputPrice + output*outputPrice)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.calls.Add(1)
	n := after(body, "request number ")
	if n < 0 || n >= maxRequests {
		http.Error(w, "no number", http.StatusBadRequest)
		return
	}
	defer func() { p.took[n].Store(int64(time.Since(began))) }()
	input, output := usage(n, max(after(body, `"max_tokens":`), 0))
	form := chatForm
	if strings.HasSuffix(r.URL.Path, "/messages") {
		form = messagesForm
	}
	if !bytes.Contains(body, []byte(`"stream":true`)) {
		time.Sleep(answerTime)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, form.whole, input, output)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	fmt.Fprintf(w, form.begin, input)
	for range pieces {
		time.Sleep(answerTime / pieces)
		if _, err := io.WriteString(w, form.piece); err != nil || rc.Flush() != nil {
			return
		}
	}
	fmt.Fprintf(w, form.end, input, output)
}

// after is the number behind a mark, -1 if there is none.
func after(body []byte, mark string) int {
	_, rest, ok := bytes.Cut(body, []byte(mark))
	if !ok {
		return -1
	}
	end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if n, err := strconv.Atoi(string(rest[:max(end, 0)])); err == nil {
		return n
	}
	return -1
}

// form is how an API answers. Formats take the tokens of input and of output.
type form struct{ whole, begin, piece, end string }

var chatForm = form{
	whole: `{"id":"c1","object":"chat.completion","created":1764000000,"model":"chat","choices":[{"index":0,"message":{"role":"assistant","content":"An answer."},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
	begin: "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1764000000,\"model\":\"chat\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n%.0d",
	piece: "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1764000000,\"model\":\"chat\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" words\"},\"finish_reason\":null}]}\n\n",
	end: "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1764000000,\"model\":\"chat\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" +
		"data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1764000000,\"model\":\"chat\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n",
}

var messagesForm = form{
	whole: `{"id":"m1","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"An answer."}],"stop_reason":"end_turn","stop_sequence":null,` +
		`"usage":{"input_tokens":%d,"output_tokens":%d}}`,
	begin: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null," +
		"\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
	piece: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" words\"}}\n\n",
	end: "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"input_tokens\":%d,\"output_tokens\":%d}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
}
