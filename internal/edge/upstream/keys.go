package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// keyring holds the values of the key's header, made once, so that a call only
// picks one. Errors about it never show a key.
type keyring struct {
	header string // canonical
	values [][]string
}

func newKeyring(p *Provider) (keyring, error) {
	k := keyring{header: http.CanonicalHeaderKey(p.AuthHeader)}
	keys := p.APIKeys
	if p.APIKey != "" {
		if len(keys) > 0 {
			return k, errors.New("both APIKey and APIKeys are set, use one of them")
		}
		keys = []string{p.APIKey}
	}
	for i, key := range keys {
		if key == "" {
			return k, fmt.Errorf("key %d of %d is empty", i+1, len(keys))
		}
		if strings.EqualFold(p.AuthHeader, "Authorization") {
			key = "Bearer " + key
		}
		if !httpguts.ValidHeaderFieldName(p.AuthHeader) || !httpguts.ValidHeaderFieldValue(key) {
			return k, fmt.Errorf("key %d or its header %q is not valid", i+1, p.AuthHeader)
		}
		k.values = append(k.values, []string{key})
	}
	return k, nil
}

// set puts the key of the given index into h: the first one for an index that
// is out of range, nothing where there is no key.
func (k *keyring) set(h http.Header, index int) {
	if len(k.values) == 0 {
		return
	}
	if index < 0 || index >= len(k.values) {
		index = 0
	}
	h[k.header] = k.values[index]
}
