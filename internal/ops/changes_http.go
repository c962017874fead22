package ops

import (
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

const (
	fewChanges = 50       // that are listed if nobody says how many
	maxChange  = 64 << 10 // bytes of a body; the last changes are kept in memory
)

// Proposal is the body of POST /admin/v1/changes.
type Proposal struct {
	Set     config.Overlay `json:"set"` // by path; null takes back what an earlier change set
	Why     string         `json:"why,omitzero"`
	Version string         `json:"version,omitzero"` // that the settings must be at; "" for any
	DryRun  bool           `json:"dry_run,omitzero"` // say what would change, and change nothing
}

// Why is the body of what needs no other: an empty one is fine too.
type Why struct {
	Why string `json:"why,omitzero"`
}

// read reads a body into v. Its error never repeats the body: it may hold a key.
func read(w http.ResponseWriter, r *http.Request, v any, example string) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxChange))
	if err != nil {
		return err
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := json.Unmarshal(body, v, json.RejectUnknownMembers(true)); err != nil {
		return bad("body", "the body is not what is wanted here, or has an unknown member", "send "+example)
	}
	return nil
}

// changeable gives the settings, if there is anything to change.
func (s *Surface) changeable() (*Settings, error) {
	if s.settings == nil {
		return nil, &problem{status: http.StatusConflict, detail: "this gateway was started without settings that can be changed", remedy: "start it with spillway serve"}
	}
	return s.settings, nil
}

func (s *Surface) listSettings(w http.ResponseWriter, r *http.Request, _ identity) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	list, err := all.List(r.URL.Query().Get("under"))
	if err != nil {
		return err
	}
	return writeJSON(w, list)
}

func (s *Surface) listChanges(w http.ResponseWriter, r *http.Request, _ identity) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	limit := fewChanges
	if text := r.URL.Query().Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostKept {
			return bad("limit", "not a number from 1 to "+strconv.Itoa(mostKept), "write limit=50")
		}
	}
	return writeJSON(w, all.last(limit))
}

func (s *Surface) changeSettings(w http.ResponseWriter, r *http.Request, who identity) error {
	var in Proposal
	if err := read(w, r, &in, `{"set": {"models.chat.queue.total": 200}, "why": "…"}`); err != nil {
		return err
	}
	return s.propose(w, &proposal{kind: KindChange, who: who.name, why: in.Why, version: in.Version, set: in.Set, dry: in.DryRun})
}

// propose answers with what became of a change.
func (s *Surface) propose(w http.ResponseWriter, p *proposal) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	c, err := all.change(p)
	if err != nil {
		return err
	}
	return writeJSON(w, c)
}

func (s *Surface) revertChange(w http.ResponseWriter, r *http.Request, who identity) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	var in Why
	if err := read(w, r, &in, `{"why": "…"} or nothing`); err != nil {
		return err
	}
	c, err := all.revert(r.PathValue("id"), who.name, in.Why)
	if err != nil {
		return err
	}
	return writeJSON(w, c)
}

func (s *Surface) reload(w http.ResponseWriter, _ *http.Request, who identity) error {
	all, err := s.changeable()
	if err != nil {
		return err
	}
	c, err := all.Reload(who.name)
	if err != nil {
		return &problem{status: http.StatusUnprocessableEntity, place: "the configuration file", detail: err.Error(), remedy: "nothing has changed; correct the file, and see spillway check"}
	}
	return writeJSON(w, c)
}
