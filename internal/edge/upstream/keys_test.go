package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const key1, key2 = "sk-first-secret", "sk-second-secret"

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Provider
		want map[int]string // what arrives, by Call.Key
	}{
		{"two", Provider{APIKeys: []string{key1, key2}}, map[int]string{0: "Bearer " + key1, 1: "Bearer " + key2, 2: "Bearer " + key1, -1: "Bearer " + key1}},
		{"one", Provider{APIKey: key1}, map[int]string{0: "Bearer " + key1, 1: "Bearer " + key1}},
		{"none", Provider{}, map[int]string{0: "", 1: ""}},
		{"in a header of its own", Provider{APIKeys: []string{key1, key2}, AuthHeader: "x-api-key"}, map[int]string{0: key1, 1: key2}},
		{"a key beats a header", Provider{APIKeys: []string{key1, key2}, Headers: map[string]string{"authorization": "other"}}, map[int]string{1: "Bearer " + key2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := "Authorization"
			if tt.p.AuthHeader != "" {
				header = tt.p.AuthHeader
			}
			var got http.Header
			c := serve(t, tt.p, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header
				answer(200, jsonBody, "{}")(w, r)
			})
			for key, want := range tt.want {
				if _, err := take(c, Call{Key: key, Header: http.Header{"Authorization": {"caller's"}, "X-Api-Key": {"caller's"}}}); err != nil {
					t.Fatal(err)
				}
				if got.Get(header) != want || len(got.Values(header)) > 1 || strings.Contains(fmt.Sprint(got), "caller") {
					t.Errorf("key %d: %v, want %q in %s", key, got, want, header)
				}
			}
		})
	}
}

// No error shows a key, be it one of the settings, of the network, or of a
// provider that repeats it.
func TestKeysAreNotInErrors(t *testing.T) {
	var failed []error
	keys := []string{key1, key2}
	for _, p := range []Provider{
		{BaseURL: "http://a.example", APIKeys: keys, APIKey: key1},
		{BaseURL: "http://a.example", APIKeys: []string{key1, ""}},
		{BaseURL: "http://a.example", APIKeys: []string{key1 + "\n", key2}},
		{BaseURL: "http://a.example", APIKeys: keys, AuthHeader: "a b"},
		{BaseURL: "http://a.example", Headers: map[string]string{"x-api-key": key1 + "\n"}},
		{BaseURL: "ftp://a.example?key=" + key1},
		{BaseURL: "http://?key=" + key1},
		{BaseURL: "http://user:" + key1 + "@a.example"},
		{BaseURL: "ftp://user:" + key1 + "@a.example"},
		{BaseURL: "http://a.example/%zz?key=" + key1},
	} {
		_, err := NewClient(p)
		failed = append(failed, err)
	}
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			answer(status, jsonBody, `{"error":{"message":"Incorrect API key provided: `+r.Header.Get("Authorization")+`"}}`)(w, r)
		}
	}
	for _, h := range []http.HandlerFunc{echo(200), echo(401), echo(500), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }} {
		c := serve(t, Provider{APIKeys: keys}, h)
		for key := range keys {
			_, err := take(c, Call{Key: key})
			failed = append(failed, err)
		}
	}
	nobody, err := NewClient(Provider{Name: "p", BaseURL: "http://127.0.0.1:1?key=" + key1, APIKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	_, err = take(nobody, Call{Key: 1})
	for _, err := range append(failed, err) {
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(fmt.Sprintf("%v", err), "secret") {
			t.Errorf("got %v, want an error without a key", err)
		}
	}
}
