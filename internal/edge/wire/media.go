package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
)

// Images are counted by their dimensions, which the first bytes of the file
// tell. Where they are not known, because the image is an address or a file
// kept by the provider, it is taken for one of 1024 by 1024.
const (
	unknownSide = 1024
	mostImage   = 1 << 14 // pixels a side; more is a damaged header
)

// Tokens of a file by its bytes, when all that is known is its size: a page of
// a PDF is taken to have 64 KB and 2,000 tokens, a second of sound 32 KB and
// ten tokens.
const (
	unknownDocument  = 2000
	bytesOfToken     = 32 // of a PDF or a film
	bytesOfTokenHear = 3200
	mostDocument     = 200_000 // 100 pages, the most that is accepted
)

// media counts a string inside of a medium: a data: URL, an address, the base64
// of a file, or what identifies one. Its name tells which.
func (f *Features) media(name string, s []byte, low bool) {
	switch name {
	case "url", "image_url", "data", "file_data", "file_id", "file_url", "file_uri", "fileUri", "video_url", "audio_url", "fileId":
	default:
		return // its type, its name
	}
	if rest, ok := bytes.CutPrefix(s, []byte("data:")); ok {
		at := bytes.IndexByte(rest[:min(len(rest), 256)], ',')
		if at < 0 {
			at = 0
		}
		kind := rest[:at]
		s = bytes.TrimPrefix(rest[at:], []byte(","))
		switch {
		case bytes.HasPrefix(kind, []byte("image")), at == 0 && name != "file_data" && name != "data":
			f.image(s, low)
		case bytes.HasPrefix(kind, []byte("audio")):
			f.file(s, bytesOfTokenHear)
		default:
			f.file(s, bytesOfToken)
		}
		return
	}
	switch name {
	case "url", "image_url":
		f.image(nil, low)
	case "data", "file_data":
		switch {
		case bytes.IndexByte(s[:min(len(s), 256)], ' ') >= 0: // Anthropic's documents of plain text
			f.text(s)
		case isImage(s):
			f.image(s, low)
		case bytes.HasPrefix(s, []byte("JVBERi")): // %PDF-
			f.file(s, bytesOfToken)
		default:
			f.file(s, bytesOfTokenHear)
		}
	default:
		f[ofDocuments] += unknownDocument
	}
}

// file counts a file of base64 by its size.
func (f *Features) file(s []byte, bytesOfToken int) {
	least := unknownDocument / 2
	if bytesOfToken == bytesOfTokenHear {
		least = 10
	}
	f[ofDocuments] += uint32(min(max(len(s)/4*3/bytesOfToken, least), mostDocument))
}

// image counts an image by the formulas of the providers, all at once: which
// of them applies is a matter of the model.
//
//   - OpenAI, tiles: 85 for the image and 170 for each tile of 512 pixels, after
//     it is made to fit 2048 by 2048 and its short side 768; 85 with low detail.
//   - OpenAI, patches: one for each 32 by 32 pixels, at most 1,536.
//   - Anthropic: pixels / 750, after its long side is made to fit 1568.
//   - Gemini: 258 for each crop of 768, or for all of it if no side is above 384.
func (f *Features) image(s []byte, low bool) {
	width, height := dimensions(s)
	if width == 0 || height == 0 || width > mostImage || height > mostImage {
		width, height = unknownSide, unknownSide
	}
	w, h := float64(width), float64(height)
	up := func(pixels, of float64) float64 { return math.Ceil(pixels/of - 1e-9) }
	fit := func(scale float64) (float64, float64) { return w * min(1, scale), h * min(1, scale) }

	f[ofImages]++
	if !low {
		tw, th := fit(2048 / max(w, h))
		if short := min(tw, th); short > 768 {
			tw, th = tw*768/short, th*768/short
		}
		f[ofTiles] += uint32(up(tw, 512) * up(th, 512))
	}
	f[ofPatches] += uint32(min(up(w, 32)*up(h, 32), 1536))
	aw, ah := fit(1568 / max(w, h))
	f[ofAreas] += uint32(min(up(aw*ah, 750), 1600))
	if max(w, h) <= 384 {
		f[ofCrops]++
	} else {
		f[ofCrops] += uint32(up(w, 768) * up(h, 768))
	}
}

// isImage says whether base64 begins as one of the formats that are read.
func isImage(s []byte) bool {
	for _, begin := range []string{"iVBORw0KGg", "/9j/", `\/9j\/`, "R0lGOD", "UklGR"} {
		if bytes.HasPrefix(s, []byte(begin)) {
			return true
		}
	}
	return false
}

// mostHead is how far into a JPEG its frame is looked for, in bytes: it comes
// after the metadata, which may hold a small picture of its own.
const mostHead = 1 << 20

// dimensions reads width and height from the begin of a PNG, GIF, WebP or JPEG
// in base64; zero if it cannot. It does not decode the image.
func dimensions(s []byte) (width, height int) {
	var small [48]byte
	head := decode(small[:], s)
	big, little := binary.BigEndian, binary.LittleEndian
	switch {
	case len(head) >= 24 && string(head[:8]) == "\x89PNG\r\n\x1a\n":
		return int(big.Uint32(head[16:]) & 0xFFFFFF), int(big.Uint32(head[20:]) & 0xFFFFFF)
	case len(head) >= 10 && string(head[:4]) == "GIF8":
		return int(little.Uint16(head[6:])), int(little.Uint16(head[8:]))
	case len(head) >= 30 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		switch string(head[12:16]) {
		case "VP8 ":
			return int(little.Uint16(head[26:]) & 0x3FFF), int(little.Uint16(head[28:]) & 0x3FFF)
		case "VP8L":
			bits := little.Uint32(head[21:])
			return int(bits&0x3FFF) + 1, int(bits>>14&0x3FFF) + 1
		case "VP8X":
			return int(little.Uint32(head[24:])&0xFFFFFF) + 1, int(little.Uint32(head[26:])>>8) + 1
		}
	case len(head) >= 4 && head[0] == 0xFF && head[1] == 0xD8:
		return jpegDimensions(s)
	}
	return 0, 0
}

// jpegDimensions walks the segments of a JPEG to its frame. Segments are
// decoded one head at a time, so that metadata is stepped over.
func jpegDimensions(s []byte) (width, height int) {
	var small [12]byte
	for at := 2; at < mostHead; {
		head := decode(small[:], s[min(len(s), at/3*4):])
		head = head[min(len(head), at%3):]
		if len(head) < 9 || head[0] != 0xFF {
			return 0, 0
		}
		switch m := head[1]; {
		case m == 0xFF: // fill
			at++
			continue
		case m >= 0xC0 && m <= 0xCF && m != 0xC4 && m != 0xC8 && m != 0xCC:
			return int(binary.BigEndian.Uint16(head[7:])), int(binary.BigEndian.Uint16(head[5:]))
		}
		at += 2 + int(binary.BigEndian.Uint16(head[2:]))
	}
	return 0, 0
}

// decode decodes as much base64 as dst holds, in whole groups of four. Some
// writers of JSON escape slashes.
func decode(dst, s []byte) []byte {
	var plain [64]byte
	n := 0
	for _, c := range s {
		if c == '\\' {
			continue
		}
		if n == min(len(dst)/3*4, len(plain)) || c == '=' {
			break
		}
		plain[n] = c
		n++
	}
	n, _ = base64.RawStdEncoding.Decode(dst, plain[:n/4*4])
	return dst[:n]
}
