package ops

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/edge/claim"
	"github.com/spillway-llm/spillway/internal/edge/config"
)

const (
	stateName  = "changes.json"
	brokenName = "changes.broken.json"
	auditName  = "changes.jsonl"
	oldAudit   = "changes.1.jsonl"
	lockName   = "changes.lock"
	maxAudit   = 4 << 20 // bytes of the audit; then it takes the place of the one that was put aside before
	mostKept   = 1000    // changes in memory
	formatNow  = 1
)

// disk keeps what was changed in a directory: the state, one file that is replaced
// as a whole, and the audit, to which lines are added. The state is written first
// and holds the last change too, so that after a kill at any point the audit can be
// made to agree with what is in force. The directory belongs to one process: another
// one reads what is there at its start, and writes nothing. It belongs to one
// goroutine at a time.
type disk struct {
	dir   string
	claim *claim.Claim // nil while it is not ours, or not there
	seen  []byte       // the state as this process read or wrote it last; nil for none
	// before is asked before each step, and its error is one of the step. Tests fail
	// steps by it; nil lets all pass.
	before func(step string) error
}

// stored is the state.
type stored struct {
	Format   int            `json:"format"`
	Last     *entry         `json:"last,omitempty"`
	Settings config.Overlay `json:"settings"`
}

// entry is a line of the audit: a change, and what is needed to revert it.
type entry struct {
	ChangeReport
	Seq  int64                     `json:"seq"`
	Was  map[string]jsontext.Value `json:"was,omitempty"`  // what was changed before at the paths it touched; null for nothing
	Left map[string]jsontext.Value `json:"left,omitempty"` // and as it left them
}

var (
	errTaken = errors.New("another gateway keeps its changes there; give each an admin.directory of its own")
	errMoved = errors.New("another gateway has kept changes there since this one began; restart this one to take them over, or give it an admin.directory of its own")
)

// openDisk takes the directory, and so finds out whether it can be written, if it
// is there. It is made by the first change: most gateways never see one. That
// another gateway has it is no error yet: it may end before anything is changed.
func openDisk(dir string) (*disk, error) {
	d := &disk{dir: dir}
	if !d.there() {
		return d, nil
	}
	var err error
	if d.claim, err = claim.Take(dir, lockName); err != nil && !errors.Is(err, claim.ErrTaken) {
		return nil, err
	}
	return d, nil
}

// own takes the directory, if it is not ours. What another process left there
// since we read it must not be written over.
func (d *disk) own() error {
	if d.claim != nil {
		return nil
	}
	c, err := claim.Take(d.dir, lockName)
	if errors.Is(err, claim.ErrTaken) {
		return errTaken
	}
	if err != nil {
		return err
	}
	now, err := os.ReadFile(d.path(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && !bytes.Equal(now, d.seen) {
		err = errMoved
	}
	if err != nil {
		return errors.Join(err, c.Release())
	}
	d.claim = c
	return nil
}

// ours says that the directory is there and belongs to this process.
func (d *disk) ours() bool { return d.claim != nil }

func (d *disk) close() error {
	if d.claim == nil {
		return nil
	}
	defer func() { d.claim = nil }()
	return d.claim.Release()
}

func (d *disk) there() bool {
	_, err := os.Stat(d.dir)
	return err == nil
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) step(name string) error {
	if d.before == nil {
		return nil
	}
	return d.before(name)
}

// load reads the state and the last changes, oldest first. A state that cannot be
// read does not count and is put aside under another name; said tells so. Nothing is
// written where the directory is another's.
func (d *disk) load() (s stored, list []entry, said error) {
	data, err := os.ReadFile(d.path(stateName))
	if err == nil {
		d.seen = data
		if err = json.Unmarshal(data, &s); err == nil && s.Format != formatNow {
			err = fmt.Errorf("it has format %d, not %d", s.Format, formatNow)
		}
		switch {
		case err != nil && !d.ours():
			s, said = stored{}, fmt.Errorf("%s cannot be read and does not count: %w", d.path(stateName), err)
		case err != nil:
			s, d.seen = stored{}, nil
			said = errors.Join(fmt.Errorf("%s cannot be read and does not count; it is kept as %s: %w", d.path(stateName), brokenName, err), os.Rename(d.path(stateName), d.path(brokenName)))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		said = err
	}
	for _, name := range []string{oldAudit, auditName} {
		list = append(list, d.read(name)...)
	}
	if s.Last != nil && (len(list) == 0 || list[len(list)-1].Seq < s.Last.Seq) {
		list = append(list, *s.Last) // a kill came between the state and the audit
		if d.ours() {
			said = errors.Join(said, d.audit(s.Last))
		}
	}
	return s, list[max(0, len(list)-mostKept):], said
}

// read gives the lines of an audit. One that a kill cut off is passed over.
func (d *disk) read(name string) (list []entry) {
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxBody)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Seq > 0 {
			list = append(list, e)
		}
	}
	return list
}

// save puts a state in the place of the one before. After an error one of the two
// is there, whole.
func (d *disk) save(s *stored) error {
	body, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return err
	}
	temp := d.path(stateName + ".new")
	if err := d.step("create"); err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	if err := d.own(); err != nil {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	half := len(body) / 2
	_, err = f.Write(body[:half])
	if err == nil {
		err = d.step("write")
	}
	if err == nil {
		_, err = f.Write(body[half:])
	}
	if err == nil {
		err = d.step("sync")
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.step("rename"); err != nil {
		return err
	}
	if err := os.Rename(temp, d.path(stateName)); err != nil {
		return err
	}
	d.seen = body
	return d.sync()
}

// sync makes what was renamed outlive a failure of power.
func (d *disk) sync() error {
	if err := d.step("sync directory"); err != nil {
		return err
	}
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// audit adds a line.
func (d *disk) audit(e *entry) error {
	line, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := d.step("audit"); err != nil {
		return err
	}
	path := d.path(auditName)
	if info, err := os.Stat(path); err == nil && info.Size()+int64(len(line)) > maxAudit {
		if err := os.Rename(path, d.path(oldAudit)); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var last [1]byte
	if end > 0 {
		if _, err := f.ReadAt(last[:], end-1); err != nil {
			return err
		}
		if last[0] != '\n' { // a kill cut the line before off
			line = append([]byte("\n"), line...)
		}
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Sync()
}
