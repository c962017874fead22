package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// chunk is what a cursor reads at once, in bytes: some hundred rows.
const chunk = 256 << 10

// cursor reads a spool in order. It is for one goroutine.
type cursor struct {
	spool *spool
	log   *slog.Logger
	at    position
	file  *os.File // of segment at.segment, nil if not open
	buf   []byte
}

// read appends rows that are there now, up to most in all.
func (c *cursor) read(rows []Row, most int) (_ []Row, err error) {
	for len(rows) < most {
		g, ok := c.spool.from(c.at.segment)
		if !ok {
			break
		}
		if g.number > c.at.segment {
			c.moveTo(g.number)
		}
		if c.at.offset >= g.size {
			if g.open {
				break
			}
			c.moveTo(g.number + 1)
			continue
		}
		if rows, err = c.readSegment(rows, most, g); err != nil {
			return rows, fmt.Errorf("read the spool: %w", err)
		}
	}
	return rows, nil
}

func (c *cursor) moveTo(segment uint64) {
	c.close()
	c.at = position{segment: segment}
}

func (c *cursor) close() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

// readSegment reads at least one row of a segment, if there is a whole one in
// the next chunk, or goes on behind what is not whole.
func (c *cursor) readSegment(rows []Row, most int, g segment) ([]Row, error) {
	if c.file == nil {
		f, err := os.Open(c.spool.path(g.number))
		if errors.Is(err, os.ErrNotExist) {
			c.log.Error("usage ledger: a segment of the spool was removed by somebody; its rows are lost", "segment", c.spool.path(g.number), "bytes", g.size-c.at.offset)
			c.at.offset = g.size
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		c.file = f
	}
	if c.buf == nil {
		c.buf = make([]byte, chunk)
	}
	b := c.buf[:min(chunk, g.size-c.at.offset)]
	n, err := c.file.ReadAt(b, c.at.offset)
	if err != nil && err != io.EOF {
		return rows, err
	}
	if n < len(b) { // somebody cut it short; the rest is not to be waited for
		c.leaveOut(g.size-c.at.offset-int64(n), "cut off")
		defer func() { c.at.offset = max(c.at.offset, g.size) }()
	}
	last := n < len(b) || c.at.offset+int64(n) >= g.size
	for b = b[:n]; len(b) > 0 && len(rows) < most && (last || len(b) >= maxFrame); {
		body, skipped, end, ok := nextFrame(b)
		if !ok && !last {
			// One may begin near the end of the chunk.
			skipped = len(b) - maxFrame + 1
			end = skipped
		}
		c.leaveOut(int64(skipped), "not whole")
		if ok {
			row, err := decode(body)
			if err != nil {
				c.leaveOut(int64(len(body)), err.Error())
			} else {
				rows = append(rows, row)
			}
		}
		b = b[end:]
		c.at.offset += int64(end)
	}
	return rows, nil
}

func (c *cursor) leaveOut(bytes int64, why string) {
	if bytes > 0 {
		c.log.Warn("usage ledger: a part of the spool cannot be read and is left out; after a crash that is a row which nobody was told is kept", "segment", c.spool.path(c.at.segment), "offset", c.at.offset, "bytes", bytes, "why", why)
	}
}
