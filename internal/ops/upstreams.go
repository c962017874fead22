package ops

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

// UpstreamWish is the body of POST /admin/v1/upstreams/{name}: an action, a weight,
// or both.
type UpstreamWish struct {
	Action Action `json:"action,omitzero"`
	Weight int    `json:"weight,omitzero"` // for balance: weighted
	Why    string `json:"why,omitzero"`
}

// Action is what is done with a deployment.
type Action string

const (
	ActionDrain   Action = "drain"   // no new calls; those that run end
	ActionDisable Action = "disable" // the same, and its slots count as missing
	ActionEnable  Action = "enable"
)

func (a Action) String() string { return string(a) }

var states = map[Action]config.Use{ActionDrain: config.Drained, ActionDisable: config.Disabled, ActionEnable: config.Enabled}

// changeUpstream takes a deployment out of use, back, or gives it another share.
// These are settings like others, so that they outlive a restart.
func (s *Surface) changeUpstream(w http.ResponseWriter, r *http.Request, who identity) error {
	var in UpstreamWish
	if err := read(w, r, &in, `{"action": "drain"} or {"weight": 3}`); err != nil {
		return err
	}
	at, err := s.deploymentPath(r.PathValue("name"))
	if err != nil {
		return err
	}
	set := config.Overlay{}
	if in.Action != "" {
		state, ok := states[in.Action]
		if !ok {
			return bad("action", "is none of drain, disable and enable", `send {"action": "drain"}`)
		}
		set[at+".state"] = quoted(state.String())
	}
	if in.Weight != 0 {
		set[at+".weight"] = jsontext.Value(strconv.Itoa(in.Weight))
	}
	if len(set) == 0 {
		return bad("action", "neither an action nor a weight", `send {"action": "drain"} or {"weight": 3}`)
	}
	return s.propose(w, &proposal{kind: KindUpstream, who: who.name, why: in.Why, set: set})
}

func (s *Surface) deploymentPath(name string) (string, error) {
	for model, m := range s.gateway.Config().Models {
		for i := range m.Deployments {
			if m.Deployments[i].Name == name {
				return config.Element(config.Below("models", model)+".deployments", name), nil
			}
		}
	}
	return "", &problem{status: http.StatusNotFound, place: "name", detail: fmt.Sprintf("no deployment is called %q", name), remedy: "GET /admin/v1/upstreams lists them"}
}
