package config

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of the file, for editors. It
// is made from the types and comments of this package by its tests.
func Schema() []byte { return append([]byte(nil), schema...) }
