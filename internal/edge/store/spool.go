package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/claim"
)

var (
	// ErrFull says that the spool has reached its bound; the row is lost.
	ErrFull = errors.New("the spool of the usage ledger is full")
	// ErrClosed says that the ledger was closed before; the row is lost.
	ErrClosed = errors.New("the usage ledger is closed")
)

const segmentSuffix = ".rows"

// position is a place in the spool: a segment by its number, and bytes from its
// beginning.
type position struct {
	segment uint64
	offset  int64
}

func (p position) before(q position) bool {
	return p.segment < q.segment || p.segment == q.segment && p.offset < q.offset
}

// segment is one file of the spool.
type segment struct {
	number uint64
	size   int64
	open   bool // rows are still added
}

// spool is a queue of rows in files. A process adds only to segments that it
// began itself, so what a killed process left unfinished is always at an end.
// It is safe for concurrent use.
type spool struct {
	dir         string
	bound       int64 // bytes of all segments
	segmentSize int64 // bytes from which a segment is followed by a new one
	claim       *claim.Claim
	own         uint64 // the first segment that this process may have begun

	// arrived is told of the next row after waits; full, of a whole batch since
	// took. They may also be told of what is long done.
	arrived, full chan struct{}

	mu       sync.Mutex
	buf      []byte     // of the frame that is written
	segments []segment  // in order; the last one may be open
	file     *os.File   // of the open segment
	bytes    int64      // of all segments
	next     uint64     // number of the next segment
	fresh    int        // rows added since a batch was read
	waiting  bool       // the next row is to be told
	oldest   time.Time  // when the oldest row ended that is not in the database; zero: all are
	dirty    bool       // something was written since the last sync
	newFile  bool       // the directory changed since the last sync
	retired  []*os.File // of segments that were followed, to be synced and closed
	closed   bool
}

// openSpool takes the directory for this process and lists what is there.
func openSpool(dir string, bound int64) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l, err := claim.Take(dir, "lock")
	if err != nil {
		return nil, err
	}
	s := &spool{dir: dir, bound: bound, segmentSize: min(4<<20, bound/8), claim: l, arrived: make(chan struct{}, 1), full: make(chan struct{}, 1), next: 1}
	if err := s.list(); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return s, nil
}

func (s *spool) list() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		n, err := strconv.ParseUint(number, 16, 64)
		if !ok || err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s.segments = append(s.segments, segment{number: n, size: info.Size()})
		s.bytes += info.Size()
		s.next = max(s.next, n+1)
	}
	slices.SortFunc(s.segments, func(a, b segment) int { return cmp.Compare(a.number, b.number) })
	s.own = s.next
	return nil
}

func (s *spool) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x%s", number, segmentSuffix))
}

// add writes a row with one write. When it returns nil, the row outlives the
// process; within about a second it outlives a failure of power.
func (s *spool) add(r *Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.buf = appendFrame(s.buf[:0], r)
	n := int64(len(s.buf))
	if s.bytes+n > s.bound {
		return ErrFull
	}
	if s.file == nil || s.last().size >= s.segmentSize {
		if err := s.beginLocked(); err != nil && s.file == nil {
			return fmt.Errorf("begin a segment of the spool: %w", err)
		}
	}
	if _, err := s.file.Write(s.buf); err != nil {
		// What was written of it is taken back, or left at the end of its
		// segment; the next row does not stand behind it.
		if s.file.Truncate(s.last().size) != nil {
			s.retireLocked()
		}
		return fmt.Errorf("write to the spool: %w", err)
	}
	s.last().size += n
	s.bytes += n
	s.dirty = true
	if s.oldest.IsZero() {
		s.oldest = r.ended()
	}
	if s.waiting {
		s.waiting = false
		tell(s.arrived)
	}
	if s.fresh++; s.fresh == batchRows {
		tell(s.full)
	}
	return nil
}

func (s *spool) last() *segment { return &s.segments[len(s.segments)-1] }

func (s *spool) beginLocked() error {
	f, err := os.OpenFile(s.path(s.next), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s.retireLocked()
	s.file = f
	s.segments = append(s.segments, segment{number: s.next, open: true})
	s.next++
	s.newFile = true
	return nil
}

// retireLocked ends the open segment, if there is one.
func (s *spool) retireLocked() {
	if s.file == nil {
		return
	}
	s.last().open = false
	s.retired = append(s.retired, s.file)
	s.file = nil
}

// sync makes durable what was written before.
func (s *spool) sync() error {
	s.mu.Lock()
	file, retired, newFile := s.file, s.retired, s.newFile
	if !s.dirty {
		file = nil
	}
	s.retired, s.newFile, s.dirty = nil, false, false
	s.mu.Unlock()

	var failed error
	for _, f := range retired {
		failed = errors.Join(failed, f.Sync(), f.Close())
	}
	if file != nil {
		// Only this goroutine closes files, so it is still open.
		failed = errors.Join(failed, file.Sync())
	}
	if newFile {
		failed = errors.Join(failed, syncDirectory(s.dir))
	}
	return failed
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// end is the place behind the last row.
func (s *spool) end() position {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.segments) == 0 {
		return position{segment: s.next}
	}
	return position{s.last().number, s.last().size}
}

// from gives the first segment with that number or a higher one.
func (s *spool) from(number uint64) (segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.segments {
		if g.number >= number {
			return g, true
		}
	}
	return segment{}, false
}

// holds tells whether there is anything at or behind a position.
func (s *spool) holds(at position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holdsLocked(at)
}

func (s *spool) holdsLocked(at position) bool {
	return len(s.segments) > 0 && at.before(position{s.last().number, s.last().size})
}

// waits has arrived told of the next row, if there is nothing at the position.
func (s *spool) waits(at position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = !s.holdsLocked(at)
	return s.waiting
}

// took says that a batch was read whose first row ended then.
func (s *spool) took(oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest, s.fresh = oldest, 0
}

// wrote says that all before a position is in the database: segments that hold
// nothing else are removed.
func (s *spool) wrote(at position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holdsLocked(at) {
		s.oldest = time.Time{}
	}
	var failed error
	s.segments = slices.DeleteFunc(s.segments, func(g segment) bool {
		if g.open || at.before(position{g.number, g.size}) {
			return false
		}
		if err := os.Remove(s.path(g.number)); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
		s.bytes -= g.size
		return true
	})
	return failed
}

// figures are the bytes on disk, and when the oldest row ended that is not in
// the database; zero if all are.
func (s *spool) figures() (bytes int64, oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.oldest
}

// refuse ends adding.
func (s *spool) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.retireLocked()
}

// close gives the directory free. What stands before the position is in the
// database.
func (s *spool) close(at position) error {
	return errors.Join(s.wrote(at), s.sync(), s.claim.Release())
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
