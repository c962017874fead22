package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
)

// echoes finds what an upstream's error repeats of the secrets that it was
// called with: whole or in parts, also in base64, in hexadecimal and escaped for a URL. It is
// not changed once made.
type echoes struct {
	parts map[string]struct{} // every part of echoPart bytes of a long secret
	whole [][]byte            // secrets that are too short to be known by a part
}

const (
	// Eight bytes of a random key are no coincidence, and of less than that a
	// key cannot be made out. Masked keys show four at an end.
	echoPart = 8
	// A shorter secret may be a word or two, whose parts are in any text.
	echoLong = 16
	// Below this it is a word or a number in a header, such as "eu-1".
	echoLeast = 8
)

var redacted = []byte("[redacted]")

// newEchoes is for the keys of a provider and the values of its headers.
func newEchoes(p *Provider) *echoes {
	e := &echoes{parts: map[string]struct{}{}}
	for _, key := range append([]string{p.APIKey}, p.APIKeys...) {
		e.add(key)
	}
	for _, value := range p.Headers {
		if _, rest, ok := strings.Cut(value, " "); ok { // a scheme, such as Bearer, is no secret
			value = rest
		}
		e.add(value)
	}
	return e
}

func (e *echoes) add(secret string) {
	if len(secret) < echoLeast {
		return
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	// In base64 a secret looks different by where it begins in what was encoded,
	// such as user:password. The first and last digits depend on what is around it.
	for before := range 3 {
		text := append(make([]byte, before), secret...)
		text = text[:len(text)/3*3]
		for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			digits := code.EncodeToString(text)
			forms = append(forms, digits[min((before*8+5)/6, len(digits)):])
		}
	}
	for _, form := range forms {
		if len(secret) < echoLong {
			if len(form) >= echoLeast {
				e.whole = append(e.whole, []byte(form))
			}
			continue
		}
		for i := range len(form) - echoPart + 1 {
			e.parts[form[i:i+echoPart]] = struct{}{}
		}
	}
}

// without returns text with each echo replaced. It may return text itself.
func (e *echoes) without(text []byte) []byte {
	for _, secret := range e.whole {
		text = bytes.ReplaceAll(text, secret, redacted)
	}
	if len(e.parts) == 0 {
		return text
	}
	var out []byte
	kept := 0 // of text, up to here it is in out
	for i := 0; i+echoPart <= len(text); {
		end := i
		for j := i; j <= end && j+echoPart <= len(text); j++ {
			if _, ok := e.parts[string(text[j:j+echoPart])]; ok {
				end = j + echoPart
			}
		}
		if end == i {
			i++
			continue
		}
		out = append(append(out, text[kept:i]...), redacted...)
		i, kept = end, end
	}
	if kept == 0 {
		return text
	}
	return append(out, text[kept:]...)
}

// WithoutSecrets is what f has of the body without the secrets of the provider
// that it may repeat, so that it can be shown to a caller.
func (c *Client) WithoutSecrets(f *Failure) []byte { return c.echoes.without(f.Body) }
