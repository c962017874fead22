package gateway

import (
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/wire"
)

// modelEntry is one model as the OpenAI API lists it.
type modelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func entry(name string) modelEntry {
	return modelEntry{ID: name, Object: "model", OwnedBy: "spillway"}
}

// models lists what callers may name. It takes no place in any queue.
func (g *Gateway) models(w http.ResponseWriter, r *http.Request) {
	s := g.state.Load()
	if !g.known(w, r, s) {
		return
	}
	var names []string
	for name := range s.config.Models {
		if name != config.CatchAll {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if surfaceOf(r) == wire.Messages {
		writeJSON(w, claudeList(names))
		return
	}
	list := struct {
		Object string       `json:"object"`
		Data   []modelEntry `json:"data"`
	}{Object: "list", Data: []modelEntry{}}
	for _, name := range names {
		list.Data = append(list.Data, entry(name))
	}
	writeJSON(w, list)
}

// claudeEntry is one model as Anthropic's API lists it.
type claudeEntry struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	DisplayName string    `json:"display_name"`
	CreatedAt   time.Time `json:"created_at"`
}

func claudeModel(name string) claudeEntry {
	return claudeEntry{Type: "model", ID: name, DisplayName: name, CreatedAt: time.Unix(0, 0).UTC()}
}

func claudeList(names []string) any {
	list := struct {
		Data    []claudeEntry `json:"data"`
		HasMore bool          `json:"has_more"`
		FirstID *string       `json:"first_id"`
		LastID  *string       `json:"last_id"`
	}{Data: []claudeEntry{}}
	for i := range names {
		list.Data = append(list.Data, claudeModel(names[i]))
		if list.LastID = &names[i]; i == 0 {
			list.FirstID = &names[i]
		}
	}
	return list
}

// model answers for one name.
func (g *Gateway) model(w http.ResponseWriter, r *http.Request) {
	s := g.state.Load()
	if !g.known(w, r, s) {
		return
	}
	name := r.PathValue("model")
	if _, ok := s.config.Pool(name); !ok {
		e := unknownModel(name)
		e.RequestID, e.Surface = requestID(time.Now()), surfaceOf(r)
		e.Write(w)
		return
	}
	if surfaceOf(r) == wire.Messages {
		writeJSON(w, claudeModel(name))
		return
	}
	writeJSON(w, entry(name))
}

func (g *Gateway) known(w http.ResponseWriter, r *http.Request, s *state) bool {
	if t, _ := callerOf(s, r); t != nil {
		return true
	}
	e := wrongKey()
	e.RequestID, e.Surface = requestID(time.Now()), surfaceOf(r)
	e.Write(w)
	return false
}

func wrongKey() *wire.Error {
	return wire.CodeInvalidKey.New("no tenant has this key; send one as: Authorization: Bearer KEY")
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.MarshalWrite(w, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
