package ops

import (
	_ "embed"
	"net/http"
)

// openapi describes every route, as OpenAPI 3.1. It is made from the table of
// routes, their descriptions, the types of bodies and the comments of these, by
// the tests of this package.
//
//go:embed openapi.json
var openapi []byte

// describe answers with the description of this surface. It holds no data, but
// those who may not look need not learn what there is.
func (s *Surface) describe(w http.ResponseWriter, _ *http.Request, _ identity) error {
	w.Header().Set("Content-Type", "application/json")
	w.Write(openapi) // whoever asked may be gone, and there is nobody else to tell
	return nil
}
