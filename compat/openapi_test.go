package compat

import (
	"io"
	"net/http"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
)

// The description of the operators' surface is a sound OpenAPI 3.1 document, as
// others read it. That the surface answers so is tested beside it.
func TestOpenAPI(t *testing.T) {
	resp, err := http.Get(start(t, setup{}).ops + "/admin/v1/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	model, err := doc.BuildV3Model() // follows every reference
	if err != nil {
		t.Fatal(err)
	}
	if n := model.Model.Paths.PathItems.Len(); n < 8 {
		t.Errorf("only %d paths are read", n)
	}
	v, faults := validator.NewValidator(doc)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if ok, faults := v.ValidateDocument(); !ok {
		for _, f := range faults {
			t.Errorf("%s: %s", f.Message, f.Reason)
			for _, s := range f.SchemaValidationErrors {
				t.Errorf("%s: %s", s.KeywordLocation, s.Reason)
			}
		}
	}
}
