package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// EncodeEmbeddings returns the answer to an embeddings request with its vectors
// as base64 of little-endian float32, for a caller that asked for that
// (Envelope.Base64) and an upstream that did not listen. Everything else stays
// byte for byte the same; vectors that are no list of numbers stay too.
func EncodeEmbeddings(body []byte) []byte {
	var out, raw []byte
	at := 0
	for m := membersOf(body); m.next(); {
		if string(m.name) != "data" || body[m.value.from] != '[' {
			continue
		}
		for i := skipSpace(body, m.value.from+1); i < m.value.to; {
			end := skipValue(body, i)
			if end < 0 {
				break
			}
			for item := membersOf(body[i:end]); item.next(); {
				v := span{i + item.value.from, i + item.value.to}
				if string(item.name) != "embedding" || body[v.from] != '[' {
					continue
				}
				var ok bool
				if raw, ok = appendFloats(raw[:0], v.of(body)); !ok {
					continue
				}
				out = append(append(out, body[at:v.from]...), '"')
				out = append(base64.StdEncoding.AppendEncode(out, raw), '"')
				at = v.to
			}
			if i = skipSpace(body, end); i < m.value.to && body[i] == ',' {
				i = skipSpace(body, i+1)
			} else {
				break
			}
		}
	}
	if at == 0 {
		return body
	}
	return append(out, body[at:]...)
}

// appendFloats appends the numbers of a JSON array as float32. ok is false if
// the array holds anything else.
func appendFloats(dst, array []byte) (_ []byte, ok bool) {
	i := skipSpace(array, 1)
	if array[i] == ']' {
		return dst, true
	}
	for {
		end := skipLiteral(array, i)
		f, err := strconv.ParseFloat(string(array[i:end]), 32)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return dst, false
		}
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f)))
		switch i = skipSpace(array, end); {
		case i >= len(array):
			return dst, false
		case array[i] == ']':
			return dst, true
		case array[i] != ',':
			return dst, false
		}
		i = skipSpace(array, i+1)
	}
}
