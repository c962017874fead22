package gateway

import (
	"net/http"
	"slices"

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
	list := struct {
		Object string       `json:"object"`
		Data   []modelEntry `json:"data"`
	}{Object: "list", Data: []modelEntry{}}
	for name := range s.config.Models {
		if name != config.CatchAll {
			list.Data = append(list.Data, entry(name))
		}
	}
	slices.SortFunc(list.Data, func(a, b modelEntry) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	writeJSON(w, list)
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
		e.RequestID = requestID()
		e.Write(w)
		return
	}
	writeJSON(w, entry(name))
}

func (g *Gateway) known(w http.ResponseWriter, r *http.Request, s *state) bool {
	if callerOf(s, r) != nil {
		return true
	}
	e := wrongKey()
	e.RequestID = requestID()
	e.Write(w)
	return false
}

func wrongKey() *wire.Error {
	return &wire.Error{
		Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key",
		Message: "no tenant has this key; send one as: Authorization: Bearer KEY",
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.MarshalWrite(w, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
