package ops

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// problem is an error for an operator, as RFC 9457 writes it: what was wrong,
// where, and what to do about it.
type problem struct {
	status int
	detail string
	place  string // the member or setting it is about; "" is the request as a whole
	remedy string
	retry  time.Duration
}

func (p *problem) Error() string { return p.detail }

// Problem is the body of an answer that is an error, application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Place  string `json:"place,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

func problemOf(err error) *problem {
	var p *problem
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return &problem{status: http.StatusRequestEntityTooLarge, detail: "the body is larger than " + strconv.FormatInt(large.Limit, 10) + " bytes", remedy: "send a smaller one"}
	}
	return &problem{status: http.StatusInternalServerError, detail: err.Error()}
}

func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.retry+time.Second-1)/time.Second)))
	}
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="spillway"`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		body, _ := json.Marshal(Problem{"about:blank", http.StatusText(p.status), p.status, p.detail, p.place, p.remedy}, jsontext.AllowInvalidUTF8(true)) // a path may be anything; so strings always have a form
		w.Write(body)
	}
}

// bad is a fault of what was sent.
func bad(place, detail, remedy string) *problem {
	return &problem{status: http.StatusBadRequest, detail: detail, place: place, remedy: remedy}
}
