package upstream

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
)

const echoKey = "0a9/8b+7c6d5e4f3Zq1W=x2"

func echoing(t *testing.T, p Provider) *Client {
	t.Helper()
	if p.BaseURL == "" {
		p.BaseURL = "http://127.0.0.1:1/v1"
	}
	c, err := NewClient(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A provider that repeats the key in its error, in whatever form.
func TestAnErrorDoesNotRepeatTheKey(t *testing.T) { // B132
	c := echoing(t, Provider{Name: "up", APIKeys: []string{"another-key-of-1-2-3-4", echoKey}, Headers: map[string]string{"X-Account": "Token 77aa66bb55cc44dd", "X-Pin": "pin-4711", "X-Region": "eu-1"}})
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", `{"error":{"message":"no such model in eu-1"}}`, `{"error":{"message":"no such model in eu-1"}}`},
		{"nothing at all", "", ""},
		{"whole", "bad key " + echoKey + ", sorry", "bad key [redacted], sorry"},
		{"the other key", "another-key-of-1-2-3-4", "[redacted]"},
		{"twice", echoKey + " and " + echoKey, "[redacted] and [redacted]"},
		{"its beginning", "key 0a9/8b+7c6d5****", "key [redacted]****"},
		{"its end", "key ***f3Zq1W=x2.", "key ***[redacted]."},
		{"its midst", "key ***8b+7c6d5e4f***", "key ***[redacted]***"},
		{"less than can be made out", "key ***W=x2", "key ***W=x2"},
		{"in a URL", "GET /?key=" + url.QueryEscape(echoKey) + "&x=1", "GET /?key=[redacted]&x=1"},
		{"in hexadecimal", "<" + hex.EncodeToString([]byte(echoKey)) + "> <" + strings.ToUpper(hex.EncodeToString([]byte(echoKey))) + ">", "<[redacted]> <[redacted]>"},
		{"a header's value", "token 77aa66bb55cc44dd", "token [redacted]"},
		{"a short one", "pin-4711 is wrong; so is " + url.QueryEscape("pin-4711"), "[redacted] is wrong; so is [redacted]"},
	} {
		if got := string(c.WithoutSecrets(&Failure{Body: []byte(tt.text)})); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	// In base64 up to two digits at an end depend on what stands beside the key.
	for _, around := range []string{"%", "Bearer %", "u:%", "us:%", "use:%", "user:%@h"} {
		text := b64(strings.Replace(around, "%", echoKey, 1))
		got := string(c.WithoutSecrets(&Failure{Body: []byte(text)}))
		left := strings.Split(got, "[redacted]")
		if len(left) != 2 || len(left[0]) > (len(around)*8+5)/6+2 || len(left[1]) > 6 {
			t.Errorf("%q in base64: %q of %q", around, got, text)
		}
	}
}

// The body of a failure keeps its form where nothing is repeated, whatever the
// keys are.
func TestAnErrorWithoutEchoStaysAsItIs(t *testing.T) {
	body := []byte(`{"error":{"message":"the model is overloaded","code":"overloaded"}}`)
	for _, key := range []string{"", "a", "short", "sixsix", "a-usual-key-of-some-length"} {
		if got := echoing(t, Provider{Name: "up", APIKey: key}).WithoutSecrets(&Failure{Body: body}); string(got) != string(body) {
			t.Errorf("key %q: %s", key, got)
		}
	}
}

func FuzzEcho(f *testing.F) {
	f.Add("sk-proj-Zq4vT7wLm2Xy9Rb3", "before ", " after")
	f.Add(echoKey, `{"error":"`, `"}`)
	f.Fuzz(func(t *testing.T, key, before, after string) {
		c, err := NewClient(Provider{Name: "up", BaseURL: "http://127.0.0.1:1", APIKey: key})
		if err != nil || len(key) < echoLeast {
			t.Skip()
		}
		defer c.Close()
		if strings.Contains(string(redacted), key) || strings.Contains(before+after, key) {
			t.Skip()
		}
		for _, form := range []string{key, url.QueryEscape(key), hex.EncodeToString([]byte(key))} {
			if got := string(c.WithoutSecrets(&Failure{Body: []byte(before + form + after)})); strings.Contains(got, form) && !strings.Contains(before+after, form) {
				t.Errorf("%q has %q", got, form)
			}
		}
	})
}

func BenchmarkEcho(b *testing.B) {
	c, err := NewClient(Provider{Name: "up", BaseURL: "http://127.0.0.1:1", APIKeys: []string{echoKey, "another-key-of-1-2-3-4"}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	body := []byte(`{"error":{"message":"` + strings.Repeat("the model is overloaded ", 20) + `"}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		c.WithoutSecrets(&Failure{Body: body})
	}
}
