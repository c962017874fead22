package dialect

import "strconv"

// respWriter writes one stream. The last event repeats the whole answer, so the
// writer keeps it: the text of a block as the inside of a JSON string, a
// finished item as its JSON.
type respWriter struct {
	o    WriterOptions
	head respHead
	seq  int64

	begun, over bool
	items       []respItem  // by output_index
	blocks      []respBlock // the open ones, in the order of their opening
	message     int         // output_index of the open message; -1 if there is none
	refusal     bool        // there was a refusal in words
	stop        StopReason
	usage       Usage
}

// respItem is an item of the output.
type respItem struct {
	id    string
	parts int    // of a message, so far
	raw   []byte // its JSON; of an open message, that of its finished parts
}

// respBlock is an open block.
type respBlock struct {
	index    int // in the neutral form
	kind     PartKind
	item     int // output_index
	part     int // content_index
	id, name string
	text     []byte
	sealed   []byte // encrypted_content
}

func newRespWriter(o WriterOptions) *respWriter { return &respWriter{o: o, message: -1} }

func (w *respWriter) Write(dst []byte, e *Event) []byte {
	if w.over {
		return dst
	}
	if e.Kind == Ping {
		return append(dst, ": ping\n"...) // no blank line: some clients take it for an empty event
	}
	dst = w.begin(dst, e)
	switch e.Kind {
	case Begin:
		w.use(&e.Usage)
	case BlockBegin:
		dst = w.open(dst, e)
	case Delta:
		if b := w.find(e.Index); b != nil {
			dst = w.delta(dst, b, e.Text)
		}
	case Sign:
		if b := w.find(e.Index); b != nil {
			b.sealed = append(b.sealed, e.Text...)
		}
	case BlockEnd:
		if b := w.find(e.Index); b != nil {
			dst = w.closeBlock(dst, b, "completed")
		}
	case Finish:
		w.stop = e.Stop
		status, _ := respEnd(e.Stop, w.refusal)
		dst = w.closeAll(dst, status)
	case Used:
		w.use(&e.Usage)
	case End:
		dst = w.end(dst)
	case Fault:
		dst = w.fault(dst, e)
	}
	return dst
}

func (w *respWriter) use(u *Usage) {
	if u.Known {
		w.usage = *u
	}
}

// begin opens the stream, at its first event whatever that is.
func (w *respWriter) begin(dst []byte, e *Event) []byte {
	if w.begun {
		return dst
	}
	w.begun = true
	id, model, created := w.o.ID, w.o.Model, e.Created
	if id == "" || len(e.ID) > len("resp_") && e.ID[:len("resp_")] == "resp_" {
		id = e.ID
	}
	if model == "" {
		model = e.Model
	}
	if created == 0 {
		created = w.o.Created
	}
	w.head = newRespHead(id, model, created)
	dst = w.response(dst, "response.created", &respState{status: "in_progress"}, nil)
	return w.response(dst, "response.in_progress", &respState{status: "in_progress"}, nil)
}

func (w *respWriter) find(index int) *respBlock {
	for i := range w.blocks {
		if w.blocks[i].index == index {
			return &w.blocks[i]
		}
	}
	return nil
}

// event writes the beginning of an event; finish with respDone.
func (w *respWriter) event(dst []byte, name string) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: {\"type\":\""...), name...)
	dst = strconv.AppendInt(append(dst, `","sequence_number":`...), w.seq, 10)
	w.seq++
	return dst
}

func respDone(dst []byte) []byte { return append(dst, "}\n\n"...) }

// response writes an event that holds the response object.
func (w *respWriter) response(dst []byte, name string, s *respState, output func([]byte) []byte) []byte {
	dst = append(w.event(dst, name), `,"response":`...)
	return respDone(w.head.append(dst, s, output))
}

// output writes the items, as far as they are finished.
func (w *respWriter) output(dst []byte) []byte {
	for i := range w.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, w.items[i].raw...)
	}
	return dst
}

// end says that the answer is whole, or what cut it.
func (w *respWriter) end(dst []byte) []byte {
	dst = w.closeAll(dst, "completed")
	w.over = true
	s := w.final()
	return w.response(dst, "response."+s.status, &s, w.output)
}

func (w *respWriter) final() respState {
	s := respState{usage: w.usage}
	s.status, s.reason = respEnd(w.stop, w.refusal)
	return s
}

// fault says that the answer failed: error, for clients that look for it
// alone, and response.failed, without which others take the stream for cut. It
// repeats what there was.
func (w *respWriter) fault(dst []byte, e *Event) []byte {
	seq := w.seq
	w.closeAll(nil, "incomplete") // for the items; the events of it are not sent
	w.seq, w.over = seq, true
	s := respState{status: "failed", code: respFaultCode(e.Code), text: string(e.Text), usage: w.usage}
	if s.text == "" {
		s.text = "the answer failed"
	}
	dst = respQuote(append(w.event(dst, "error"), `,"code":`...), s.code)
	dst = respQuote(append(dst, `,"message":`...), s.text)
	dst = respDone(append(dst, `,"param":null`...))
	return w.response(dst, "response.failed", &s, w.output)
}

// respFaultCode is the word of this dialect for the code of a Fault.
func respFaultCode(code string) string {
	switch code {
	case "overloaded":
		return "server_is_overloaded"
	case "rate_limit":
		return "rate_limit_exceeded"
	case "invalid_request":
		return "invalid_prompt"
	}
	return "server_error"
}
