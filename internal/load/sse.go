package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 8 << 20

// eventReader cuts a stream into server-sent events. Comments and blocks without data are skipped; an event that the
// end of the stream cuts off is dropped, as the standard asks.
type eventReader struct {
	in   *bufio.Reader
	line []byte // a line longer than the buffer of in
	data []byte // of the event being read
	bom  bool   // the first line has been looked at
}

// event is one event. data is valid until the next call.
type event struct {
	name string
	data []byte
}

// next returns the next event. The error is io.EOF at the end of the stream.
func (r *eventReader) next() (event, error) {
	var e event
	has := false
	r.data = r.data[:0]
	for {
		line, err := r.readLine()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if has {
				e.data = r.data
				return e, nil
			}
			e.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "data":
			if has {
				r.data = append(r.data, '\n')
			}
			has = true
			if r.data = append(r.data, value...); len(r.data) > maxEvent {
				return event{}, fmt.Errorf("event of more than %d bytes", maxEvent)
			}
		case "event":
			e.name = string(value)
		}
	}
}

// readLine returns a line without its end, which is LF or CRLF. The result is valid until the next call.
func (r *eventReader) readLine() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.line = r.line[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if r.line = append(r.line, line...); len(r.line) > maxEvent {
				return nil, fmt.Errorf("line of more than %d bytes", maxEvent)
			}
			line, err = r.in.ReadSlice('\n')
		}
		r.line = append(r.line, line...)
		line = r.line
	}
	if err != nil {
		return nil, err
	}
	line = bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
	if !r.bom {
		r.bom = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, nil
}

// newEventReader reads the events of body.
func newEventReader(body io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(body, 4<<10)}
}
