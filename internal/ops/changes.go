package ops

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/telemetry"
)

// ChangeReport is something that was changed while the gateway ran, or is to be.
type ChangeReport struct {
	ID       string                    `json:"id,omitempty"` // "" for what was only tried
	Kind     ChangeKind                `json:"kind"`
	At       time.Time                 `json:"at"`
	Who      string                    `json:"who"` // name of the token; file or signal for readings of the file
	Why      string                    `json:"why,omitempty"`
	Version  string                    `json:"version"` // of the settings after it
	Set      map[string]jsontext.Value `json:"set"`     // by path; null takes back
	Before   map[string]jsontext.Value `json:"before"`  // what was in force, of each value that is another now
	After    map[string]jsontext.Value `json:"after"`
	Warnings []string                  `json:"warnings"`
}

// ChangeKind is what kind of change it was.
type ChangeKind string

const (
	KindChange   ChangeKind = "change"
	KindRevert   ChangeKind = "revert"
	KindReload   ChangeKind = "reload"
	KindTenant   ChangeKind = "tenant"
	KindKey      ChangeKind = "key"
	KindUpstream ChangeKind = "upstream"
)

func (k ChangeKind) String() string { return string(k) }

// proposal is a change that somebody asks for.
type proposal struct {
	kind    ChangeKind
	who     string
	why     string
	version string // "" for whatever is in force
	set     config.Overlay
	dry     bool
}

const maxWhy = 1000 // bytes

// hashes of keys, with what may be shown of them.
var hashes = regexp.MustCompile(`((?i:sha256:)[0-9a-fA-F]{12})[0-9a-fA-F]{52}`)

// change puts a proposal in force, or says why not; then nothing has changed.
func (s *Settings) change(p *proposal) (ChangeReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changeLocked(p)
}

func (s *Settings) changeLocked(p *proposal) (ChangeReport, error) {
	e, err := s.tryLocked(p)
	result := telemetry.ChangeApplied
	switch {
	case err != nil:
		result = telemetry.ChangeRefused
		s.options.Log.Warn("a change was refused", "who", p.who, "paths", line(strings.Join(paths(p.set), " ")), "error", line(err.Error()))
	case p.dry:
		result = telemetry.ChangeTried
	}
	s.gateway.Changed(result)
	if err != nil {
		return ChangeReport{}, err
	}
	return e.ChangeReport, nil
}

// paths of a set, as the log may have them.
func paths(set config.Overlay) (list []string) {
	for _, path := range slices.Sorted(maps.Keys(set)) {
		list = append(list, config.Shown(path))
	}
	return list
}

func (s *Settings) tryLocked(p *proposal) (*entry, error) {
	if err := s.mayLocked(p); err != nil {
		return nil, err
	}
	overlay, missing, err := s.overlay.With(p.set)
	if err != nil {
		return nil, problemsOf(err)
	}
	c, err := overlay.Apply(s.options.Name, s.file, s.options.Env)
	aside := ""
	if err != nil && s.aside != "" && p.kind == KindKey && len(p.set.Endings()) == len(p.set) {
		// A key can be shut out, whatever else does not fit.
		base, fault := config.Parse(s.options.Name, s.file, s.options.Env)
		if fault != nil {
			return nil, problemsOf(fault)
		}
		c, err, aside = s.endedLocked(base, overlay), nil, s.aside
	}
	if err != nil {
		return nil, s.unfitLocked(problemsOf(err))
	}
	old := s.gateway.Config()
	if err := stayEnded(old, c, time.Now()); err != nil {
		return nil, err
	}
	e := s.entryLocked(p.kind, p.who, p.why)
	e.Set = hide(p.set)
	e.Before, e.After = differences(old, c, slices.Sorted(maps.Keys(p.set)))
	e.Was, e.Left = touched(s.overlay, overlay), touched(overlay, s.overlay)
	e.Warnings = s.warningsLocked(old, c, e, missing)
	if aside != "" {
		e.Warnings = append(e.Warnings, asideWarning+aside)
	}
	if p.dry {
		return e, nil
	}
	before := s.snapLocked()
	s.overlay, s.aside, s.broken = overlay, aside, ""
	s.versionLocked()
	e.Version = s.version
	s.numberLocked(e)
	s.saveLocked(e)
	if err := s.gateway.Apply(c); err != nil {
		s.restoreLocked(before)
		s.saveLocked(nil)
		return nil, fmt.Errorf("apply the change: %w", err)
	}
	s.gateway.ChangesAside(aside != "")
	s.keepLocked(e)
	s.options.Log.Info("settings changed", "change", e.ID, "kind", e.Kind.String(), "who", e.Who, "why", e.Why, "set", line(shown(e.Set)))
	return e, nil
}

// unfitLocked adds to a fault what to do where it may be one of earlier changes,
// which count again only all together.
func (s *Settings) unfitLocked(err error) error {
	var p *problem
	if s.aside != "" && errors.As(err, &p) {
		p.remedy = "nothing has changed; earlier changes do not fit the file any more: correct the file, or set what is named to null, which takes back all that is below it, too; GET /admin/v1/settings lists them under overlay"
	}
	return err
}

// mayLocked says whether anything may be changed, by this proposal.
func (s *Settings) mayLocked(p *proposal) error {
	switch {
	case s.mode == config.ChangesFile:
		return &problem{
			status: http.StatusConflict, place: "admin.changes", detail: "the configuration says that its file alone counts",
			remedy: "change the file, which is read again when it is saved or at POST /admin/v1/reload; or write admin: {changes: durable}",
		}
	case len(p.set) == 0:
		return bad("set", "nothing is set", `send {"set": {"models.chat.queue.total": 200}}`)
	case len(p.why) > maxWhy:
		return bad("why", fmt.Sprintf("is longer than %d bytes", maxWhy), "say it in a sentence")
	case p.version != "" && p.version != s.version:
		return &problem{
			status: http.StatusConflict, place: "version", detail: "the settings were changed since: they are at version " + s.version,
			remedy: "look at GET /admin/v1/changes and GET /admin/v1/settings, and send the change again with that version",
		}
	}
	return nil
}

// saveLocked writes what is in force, with the last entry. What cannot be written
// counts all the same, until the process ends: a full disk is when somebody needs
// to turn a knob.
func (s *Settings) saveLocked(e *entry) {
	if s.disk == nil {
		return
	}
	state := &stored{Format: formatNow, Last: e, Settings: s.overlay}
	if e == nil && len(s.list) > 0 {
		state.Last = &s.list[len(s.list)-1]
	}
	s.unsaved = ""
	if err := s.disk.save(state); err != nil {
		s.unsaved = "the last change is not on the disk: " + err.Error()
		s.options.Log.Error("a change is in force, but not on the disk; make room, or let the directory be written by this gateway alone, and send it again", "directory", s.disk.dir, "error", err.Error())
		if e != nil {
			e.Warnings = append(e.Warnings, "it is not on the disk and ends with the process: "+err.Error())
		}
	}
}

// warningsLocked is what is not wrong with a change, and yet may not be meant.
func (s *Settings) warningsLocked(old, c *config.Config, e *entry, missing []string) []string {
	list := []string{}
	for _, path := range missing {
		list = append(list, path+": no earlier change set it, so there was nothing to take back")
	}
	if s.volatile != "" {
		list = append(list, "it is kept in memory only and ends with the process: "+s.volatile)
	}
	if old.Open() && !c.Open() {
		list = append(list, "there were no tenants: from now on every caller needs a key")
	}
	if c.Open() && !old.Open() {
		list = append(list, "there are no tenants left: from now on no caller needs a key")
	}
	for _, path := range slices.Sorted(maps.Keys(e.Set)) {
		if strings.HasPrefix(path, "models") && strings.HasSuffix(path, ".weight") && !strings.Contains(strings.Join(balances(c, path), ""), "weighted") {
			list = append(list, path+": counts only with balance: weighted")
		}
	}
	return list
}

// balances is how the model of a path chooses.
func balances(c *config.Config, path string) (list []string) {
	model, _, ok := strings.Cut(path, ".deployments[")
	if !ok {
		return nil
	}
	all, _ := c.Settings(model + ".balance")
	for _, x := range all {
		list = append(list, string(x.Value))
	}
	return list
}

// differences are the values in force that a change of these paths makes others,
// there and beside them: a smaller total, for one, lowers per_tenant too.
func differences(old, c *config.Config, paths []string) (before, after map[string]jsontext.Value) {
	before, after = map[string]jsontext.Value{}, map[string]jsontext.Value{}
	none := jsontext.Value("null")
	sections := map[string]bool{}
	for _, path := range paths {
		sections[config.Section(path)] = true
	}
	for _, path := range slices.Sorted(maps.Keys(sections)) {
		was, _ := old.Settings(path) // of an element that is not there: none
		is, _ := c.Settings(path)
		had := map[string]jsontext.Value{}
		for _, x := range was {
			had[x.Path] = x.Value
		}
		for _, x := range is {
			v, ok := had[x.Path]
			if delete(had, x.Path); !ok {
				v = none
			}
			if string(v) != string(x.Value) && (ok || x.Source != config.SourceDefault) || slices.Contains(paths, x.Path) {
				before[x.Path], after[x.Path] = v, x.Value
			}
		}
		for gone, v := range had {
			if string(v) != "null" {
				before[gone], after[gone] = v, none
			}
		}
	}
	return before, after
}

// touched is what o says where it differs from the other; null for nothing.
func touched(o, other config.Overlay) map[string]jsontext.Value {
	t := map[string]jsontext.Value{}
	for path, v := range o {
		if string(other[path]) != string(v) {
			t[path] = v
		}
	}
	for path := range other {
		if _, ok := o[path]; !ok {
			t[path] = jsontext.Value("null")
		}
	}
	for _, v := range t {
		if hashes.Match(v) {
			return nil // it cannot be reverted, as hashes are written nowhere else
		}
	}
	return t
}

// line bounds what a change puts into a line of the log; the audit has all of it.
func line(s string) string {
	const most = 2000
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// shown is values in a line.
func shown(values map[string]jsontext.Value) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", path, values[path])
	}
	return b.String()
}

// ChangesList is the answer of GET /admin/v1/changes.
type ChangesList struct {
	Changes []ChangeReport `json:"changes"`
}

// last gives the last changes, newest first.
func (s *Settings) last(limit int) ChangesList {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := ChangesList{Changes: []ChangeReport{}}
	for i := len(s.list) - 1; i >= 0 && len(out.Changes) < limit; i-- {
		out.Changes = append(out.Changes, s.list[i].ChangeReport)
	}
	return out
}

// revert puts back what a change changed, if nobody has changed it again.
func (s *Settings) revert(id, who, why string) (ChangeReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(e entry) bool { return e.ID == id })
	if i < 0 {
		return ChangeReport{}, &problem{status: http.StatusNotFound, place: "id", detail: fmt.Sprintf("no change of this id is among the last %d", mostKept), remedy: "GET /admin/v1/changes lists them; set the values yourself"}
	}
	e := s.list[i]
	if e.Kind == KindReload || e.Kind == KindKey || len(e.Was) == 0 {
		return ChangeReport{}, &problem{status: http.StatusConflict, place: "id", detail: "a change of this kind (" + e.Kind.String() + "), or one with keys in it, cannot be reverted", remedy: "make the opposite change: edit the file, or make another key"}
	}
	for _, path := range slices.Sorted(maps.Keys(e.Left)) {
		now, ok := s.overlay[path]
		if !ok {
			now = jsontext.Value("null")
		}
		if string(now) != string(e.Left[path]) {
			return ChangeReport{}, &problem{status: http.StatusConflict, place: path, detail: "it was changed again since", remedy: "revert what came later first, or set the value yourself"}
		}
	}
	if why == "" {
		why = "revert of " + id
	}
	return s.changeLocked(&proposal{kind: KindRevert, who: who, why: why, set: config.Overlay(e.Was)})
}
