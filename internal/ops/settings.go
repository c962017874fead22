package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/gateway"
)

const (
	maxFile    = 8 << 20 // bytes of the configuration file, as config has it
	mostListed = 20_000  // settings in one answer, of about two hundred tenants
)

// SettingsOptions say where a configuration comes from.
type SettingsOptions struct {
	// File is the path of the configuration; "" takes Text, which has no place on a
	// disk. What is changed beside it is then kept in memory only.
	File string
	Text []byte
	Name string // of Text, in errors
	// Env looks up variables of the file. Default those of the process.
	Env func(string) (string, bool)
	Log *slog.Logger
}

// Settings are the configuration file and what was changed beside it while the
// gateway runs. One change or reload happens at a time, so that none is lost. It
// is safe for concurrent use. The order is: Load, then Use, then the rest.
type Settings struct {
	options SettingsOptions

	mu       sync.Mutex
	gateway  *gateway.Gateway
	reloaded func([]config.AdminToken) // told who may look, whenever the file was read again; may be nil
	disk     *disk                     // nil: in memory only
	opened   bool                      // the directory was looked at
	unsaved  string                    // why the last change is not on the disk; "" if it is
	volatile string                    // why changes are not on the disk; "" if they are
	file     []byte
	mode     config.Changes
	overlay  config.Overlay // in force, if not aside
	aside    string         // why the overlay does not count; "" if it does
	broken   string         // what was wrong with the directory's state
	seq      int64
	list     []entry // the last, oldest first
	version  string
}

// NewSettings reads nothing yet.
func NewSettings(o SettingsOptions) *Settings {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.File != "" {
		o.Name = o.File
	}
	return &Settings{options: o}
}

// Close lets another process have the directory of changes. Nothing is changed
// after it.
func (s *Settings) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disk == nil {
		return nil
	}
	return s.disk.close()
}

// Load reads the file and what was changed beside it, at the start. If both
// together are not right, the file alone counts, and that is said.
func (s *Settings) Load() (*config.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loadLocked()
}

// Use gives the gateway that changes apply to. It has what Load returned.
func (s *Settings) Use(g *gateway.Gateway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway = g
	g.ChangesAside(s.aside != "")
}

// whenReloaded has a function told who may look after each reading of the file.
func (s *Settings) whenReloaded(tell func([]config.AdminToken)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reloaded = tell
}

// Today is what is in force: the file, what errors call it, and the changes beside
// it. None of it may be changed.
func (s *Settings) Today() (name string, file []byte, changes config.Overlay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Name, s.file, s.inForceLocked()
}

// Env looks up a variable of the file, for config.Overlay.Apply.
func (s *Settings) Env(name string) (string, bool) { return s.options.Env(name) }

func (s *Settings) inForceLocked() config.Overlay {
	if s.aside != "" || s.mode == config.ChangesFile {
		return nil
	}
	return s.overlay
}

func (s *Settings) readLocked() ([]byte, error) {
	if s.options.File == "" {
		return s.options.Text, nil
	}
	f, err := os.Open(s.options.File)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("read configuration: %s is larger than %d bytes", s.options.File, maxFile)
	}
	return data, nil
}

// loadLocked leaves everything as it was if the file is not right.
func (s *Settings) loadLocked() (*config.Config, error) {
	file, err := s.readLocked()
	if err != nil {
		return nil, err
	}
	c, err := config.Parse(s.options.Name, file, s.options.Env)
	if err != nil {
		return nil, err
	}
	s.openLocked(&c.Admin)
	s.file, s.mode, s.aside = file, c.Admin.Changes, s.broken
	if s.mode == config.ChangesFile {
		if len(s.overlay) > 0 {
			s.options.Log.Warn("changes do not count, because admin.changes is file; they are kept", "changes", len(s.overlay))
		}
	} else if len(s.overlay) > 0 {
		switch whole, err := s.overlay.Apply(s.options.Name, file, s.options.Env); {
		case err != nil:
			s.aside = err.Error()
			c = s.endedLocked(c, s.overlay)
			s.options.Log.Error("the changes beside the file do not fit it any more: the file alone counts, with the ends of keys, and they are kept; correct the file, or take back what is named", "error", s.aside)
		default:
			c = whole
		}
	}
	s.versionLocked()
	return c, nil
}

// endedLocked is the file, which makes c, with those changes that end keys and fit
// it: a key that was revoked must not be let in again because something else
// does not fit.
func (s *Settings) endedLocked(c *config.Config, changes config.Overlay) *config.Config {
	ends := changes.Endings()
	for len(ends) > 0 {
		ended, err := ends.Apply(s.options.Name, s.file, s.options.Env)
		if err == nil {
			return ended
		}
		before := len(ends)
		var faults config.Problems
		errors.As(err, &faults)
		for i := range faults {
			maps.DeleteFunc(ends, func(path string, _ jsontext.Value) bool { return strings.HasPrefix(path, faults[i].Path) })
		}
		if len(ends) == before {
			s.options.Log.Error("keys that were ended by changes are valid again; take them out of the file", "error", err.Error())
			return c
		}
	}
	return c
}

// openLocked finds what was changed before, once: the directory does not change
// while the process runs.
func (s *Settings) openLocked(a *config.Admin) {
	if s.opened || a.Changes == config.ChangesFile {
		return
	}
	s.opened = true
	if s.options.File == "" {
		s.volatile = "there is no configuration file"
		return
	}
	d, err := openDisk(a.Directory)
	if err != nil {
		s.volatile = "the directory of changes cannot be written: " + err.Error()
		s.options.Log.Error("changes are kept in memory only, and what was changed before does not count: the directory cannot be written; set admin.directory to one that can, or admin.changes to file", "directory", a.Directory, "error", err.Error())
		return
	}
	if d.there() && !d.ours() {
		s.unsaved = errTaken.Error()
		s.options.Log.Warn("what is changed from here on is kept in memory only: another gateway keeps its changes in the directory; give each an admin.directory of its own", "directory", a.Directory)
	}
	state, list, err := d.load()
	if err != nil {
		s.broken = err.Error()
		s.options.Log.Error("changes made before are not in force", "error", s.broken)
	}
	s.disk, s.overlay, s.list = d, state.Settings, list
	if n := len(list); n > 0 {
		s.seq = list[n-1].Seq
	}
}

// versionLocked names what is in force by its content.
func (s *Settings) versionLocked() {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d ", s.mode, len(s.file))
	h.Write(s.file)
	h.Write(s.overlay.JSON())
	s.version = "v" + hex.EncodeToString(h.Sum(nil)[:8])
}

// Reload reads the file again and puts it in force with the changes beside it. A
// faulty file changes nothing. who is written down, unless it is ByFile and the
// text is the same: an editor saves twice, and a reload that was asked for is
// seen by the watch as well.
func (s *Settings) Reload(who string) (ChangeReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := *s.snapLocked()
	c, err := s.loadLocked()
	if err == nil {
		if err = s.gateway.Apply(c); err != nil {
			s.restoreLocked(&before)
		}
	}
	s.gateway.Reloaded(err)
	s.gateway.ChangesAside(s.aside != "")
	if err != nil {
		s.options.Log.Error("configuration not applied; the one before stays in force", "error", err.Error())
		return ChangeReport{}, err
	}
	s.options.Log.Info("configuration applied")
	if s.reloaded != nil {
		s.reloaded(c.Admin.Tokens)
	}
	e := s.entryLocked(KindReload, who, "")
	if who == ByFile && before.version == s.version && before.aside == s.aside {
		return e.ChangeReport, nil
	}
	if s.aside != "" {
		e.Warnings = append(e.Warnings, asideWarning+s.aside)
	}
	s.recordLocked(e)
	return e.ChangeReport, nil
}

// ByFile is who reloads when the file was seen to change.
const ByFile = "file"

const asideWarning = "the changes beside the file do not fit it and do not count, but for the ends of keys: "

// snap is what a failed step puts back.
type snap struct {
	file           []byte
	mode           config.Changes
	overlay        config.Overlay
	aside, version string
}

func (s *Settings) snapLocked() *snap { return &snap{s.file, s.mode, s.overlay, s.aside, s.version} }

func (s *Settings) restoreLocked(b *snap) {
	s.file, s.mode, s.overlay, s.aside, s.version = b.file, b.mode, b.overlay, b.aside, b.version
}

func (s *Settings) entryLocked(kind ChangeKind, who, why string) *entry {
	return &entry{ChangeReport: ChangeReport{Kind: kind, At: time.Now().UTC().Truncate(time.Millisecond), Who: who, Why: why, Version: s.version}}
}

// recordLocked gives an entry its number and writes it down.
func (s *Settings) recordLocked(e *entry) {
	s.numberLocked(e)
	s.keepLocked(e)
}

func (s *Settings) numberLocked(e *entry) {
	s.seq++
	e.Seq, e.ID = s.seq, fmt.Sprintf("c%d", s.seq)
}

func (s *Settings) keepLocked(e *entry) {
	if s.disk != nil && s.disk.ours() { // a reading of the file alone makes no directory
		if err := s.disk.audit(e); err != nil {
			e.Warnings = append(e.Warnings, "it is not in the audit on the disk: "+err.Error())
			s.options.Log.Error("a change is not in the audit on the disk; make room, or let the directory be written", "change", e.ID, "error", err.Error())
		}
	}
	s.list = append(s.list, *e)
	if n := len(s.list) - mostKept; n > 0 {
		s.list = slices.Delete(s.list, 0, n)
	}
}

// SettingsList is the answer of GET /admin/v1/settings.
type SettingsList struct {
	Version  string           `json:"version"`                  // of all settings together; for POST /admin/v1/changes
	Changes  config.Changes   `json:"changes"`                  // durable or file
	Volatile string           `json:"in_memory_only,omitempty"` // why changes do not outlive a restart
	Aside    string           `json:"overlay_error,omitempty"`  // why earlier changes are not in force
	Kept     config.Overlay   `json:"overlay,omitempty"`        // these changes
	Settings []config.Setting `json:"settings"`
	LeftOut  int              `json:"left_out,omitempty"` // further ones: ask for those under a path
}

// volatileLocked is why changes end with the process, as far as that is known.
func (s *Settings) volatileLocked() string {
	if s.disk == nil {
		return s.volatile
	}
	return s.unsaved
}

// List gives what can be changed below a path, or with "" all of it.
func (s *Settings) List(under string) (SettingsList, error) {
	s.mu.Lock()
	out := SettingsList{Version: s.version, Changes: s.mode, Volatile: s.volatileLocked(), Aside: s.aside}
	if s.aside != "" {
		out.Kept = config.Overlay(hide(s.overlay))
	}
	c := s.gateway.Config()
	s.mu.Unlock() // there may be many tenants, and a change must not wait for whoever looks
	list, err := c.Settings(under)
	if err != nil {
		return SettingsList{}, bad("under", err.Error(), "write a path such as models.chat or tenants[shop]")
	}
	out.LeftOut = max(len(list)-mostListed, 0)
	out.Settings = list[:len(list)-out.LeftOut]
	if out.Settings == nil {
		out.Settings = []config.Setting{}
	}
	return out, nil
}

// hide is values without secrets: hashes of keys are shortened.
func hide(values map[string]jsontext.Value) map[string]jsontext.Value {
	shown := maps.Clone(values)
	for path, v := range shown {
		shown[path] = hashes.ReplaceAll(v, []byte("$1…"))
	}
	return shown
}

// problemsOf are the faults of a configuration for an operator; the place is that
// of the first.
func problemsOf(err error) error {
	var list config.Problems
	if !errors.As(err, &list) || len(list) == 0 {
		return err
	}
	p := &problem{status: 422, place: list[0].Path, detail: list.Error(), remedy: "nothing has changed; correct what is named and send it again"}
	if !list[0].Changed() {
		p.remedy = "nothing has changed; what is set does not fit what stands in the file at the place named: change both, or the file"
	}
	return p
}
