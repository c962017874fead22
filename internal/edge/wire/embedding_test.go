package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"
)

func TestEncodeEmbeddings(t *testing.T) { // B154
	half := "AAAAPwAAgL8=" // 0.5, -1 as little-endian float32
	for _, c := range []struct{ name, body, want string }{
		{"one", `{"data":[{"index":0,"embedding":[0.5,-1]}],"model":"m"}`, `{"data":[{"index":0,"embedding":"` + half + `"}],"model":"m"}`},
		{"two, spaced", `{ "data" : [ {"embedding": [ 5e-1 , -1.0 ] } , {"embedding":[0.5,-1],"index":1} ] }`,
			`{ "data" : [ {"embedding": "` + half + `" } , {"embedding":"` + half + `","index":1} ] }`},
		{"encoded already", `{"data":[{"embedding":"AAAA"}]}`, `{"data":[{"embedding":"AAAA"}]}`},
		{"empty vector", `{"data":[{"embedding":[]}]}`, `{"data":[{"embedding":""}]}`},
		{"no numbers", `{"data":[{"embedding":["a"]}]}`, `{"data":[{"embedding":["a"]}]}`},
		{"nested", `{"data":[{"embedding":[[1]]}]}`, `{"data":[{"embedding":[[1]]}]}`},
		{"beyond float32", `{"data":[{"embedding":[1e99]}]}`, `{"data":[{"embedding":[1e99]}]}`},
		{"elsewhere", `{"embedding":[1],"data":[]}`, `{"embedding":[1],"data":[]}`},
		{"cut", `{"data":[{"embedding":[1,`, `{"data":[{"embedding":[1,`},
	} {
		if got := string(EncodeEmbeddings([]byte(c.body))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBase64IsRead(t *testing.T) {
	for body, want := range map[string]bool{
		`{"model":"m","input":"x","encoding_format":"base64"}`: true,
		`{"model":"m","input":"x","encoding_format":"float"}`:  false,
		`{"model":"m","input":"x","encoding_format":null}`:     false,
		`{"model":"m","input":"x"}`:                            false,
	} {
		e, err := Parse(Embeddings, []byte(body))
		if err != nil || e.Base64 != want {
			t.Errorf("%s: %v %v, want %v", body, e.Base64, err, want)
		}
	}
	if _, err := Parse(Embeddings, []byte(`{"model":"m","input":"x","encoding_format":1}`)); err == nil || err.Param != "encoding_format" {
		t.Errorf("%v, want a fault of encoding_format", err)
	}
}

// Whatever comes in, valid JSON stays valid, and a vector that was encoded
// holds the numbers that were there.
func FuzzEncodeEmbeddings(f *testing.F) {
	f.Add([]byte(`{"data":[{"embedding":[0.5,-1]},{"embedding":[1]}],"usage":{}}`))
	f.Add([]byte(`{"data":[{"embedding":[1,]}]}`))
	f.Add([]byte(`{"data":[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := EncodeEmbeddings(body)
		type answer struct {
			Data []struct{ Embedding json.RawMessage }
		}
		var before, after answer
		if json.Unmarshal(body, &before) != nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", body, got, err)
		}
		for i := range min(len(before.Data), len(after.Data)) {
			var floats []float32
			var text string
			if json.Unmarshal(before.Data[i].Embedding, &floats) != nil || json.Unmarshal(after.Data[i].Embedding, &text) != nil {
				continue
			}
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil || len(raw) != 4*len(floats) {
				t.Fatalf("%q became %q", before.Data[i].Embedding, text)
			}
			for k, x := range floats {
				if math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:])) != x {
					t.Fatalf("%q: number %d changed", before.Data[i].Embedding, k)
				}
			}
		}
	})
}
