package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// picture returns an image file in base64.
func picture(t testing.TB, format string, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch m := image.NewGray(image.Rect(0, 0, width, height)); format {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// webp returns the head of a WebP file: a chunk and its first bytes.
func webp(chunk string, head ...byte) string {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk+"\x00\x00\x00\x00"), head...)
	return base64.StdEncoding.EncodeToString(append(b, make([]byte, 40)...))
}

func TestDimensions(t *testing.T) {
	long := func() string { // a JPEG whose frame comes after 60 KB and 10 bytes of metadata
		plain, _ := base64.StdEncoding.DecodeString(picture(t, "jpeg", 123, 77))
		b := []byte{0xFF, 0xD8}
		for _, n := range []int{60000, 10} {
			b = append(b, 0xFF, 0xE1)
			b = binary.BigEndian.AppendUint16(b, uint16(n+2))
			b = append(b, make([]byte, n)...)
		}
		return base64.StdEncoding.EncodeToString(append(b, plain[2:]...))
	}
	tests := []struct {
		name, data    string
		width, height int
	}{
		{"png", picture(t, "png", 1025, 300), 1025, 300},
		{"gif", picture(t, "gif", 40, 50), 40, 50},
		{"jpeg", picture(t, "jpeg", 1920, 1080), 1920, 1080},
		{"jpeg with metadata", long(), 123, 77},
		{"webp, lossy", webp("VP8 ", 0, 0, 0, 0x9D, 0x01, 0x2A, 0x20, 0x03, 0x58, 0x02), 800, 600},
		{"webp, lossless", webp("VP8L", 0x2F, 0x1F, 0xC3, 0x95, 0x00), 800, 600},
		{"webp, extended", webp("VP8X", 0, 0, 0, 0, 0x1F, 0x03, 0x00, 0x57, 0x02, 0x00), 800, 600},
		{"cut", picture(t, "png", 1025, 300)[:20], 0, 0},
		{"jpeg cut", picture(t, "jpeg", 1920, 1080)[:24], 0, 0},
		{"not base64", "!!!!", 0, 0},
		{"empty", "", 0, 0},
	}
	for _, tt := range tests {
		if w, h := dimensions([]byte(tt.data)); w != tt.width || h != tt.height {
			t.Errorf("%s: %d by %d, want %d by %d", tt.name, w, h, tt.width, tt.height)
		}
	}
}

// The examples of the providers' pages on images, and the edges of the formulas.
func TestImageTokens(t *testing.T) {
	cost := func(how Images, width, height int, low bool) int64 {
		var f Features
		w, h := width-1, height-1
		f.image([]byte(webp("VP8X", 0, 0, 0, 0, byte(w), byte(w>>8), 0, byte(h), byte(h>>8), 0)), low)
		weights := priorOf(how)
		return weights.tokens(&f)
	}
	tests := []struct {
		how           Images
		width, height int
		low           bool
		want          int64
	}{
		{ImageTiles, 1024, 1024, false, 765},  // OpenAI's first example: 768 by 768 is four tiles
		{ImageTiles, 2048, 4096, false, 1105}, // its second: 768 by 1536 is six
		{ImageTiles, 4096, 8192, true, 85},
		{ImageTiles, 100, 100, false, 255},
		{ImagePatches, 1024, 1024, false, 1024}, // OpenAI's example
		{ImagePatches, 1800, 2400, false, 1536}, // at most; its example has 1,452 after it is shrunk
		{ImageAreas, 200, 200, false, 54},       // Anthropic's table
		{ImageAreas, 1000, 1000, false, 1334},
		{ImageAreas, 1092, 1092, false, 1590},
		{ImageAreas, 8000, 8000, false, 1600}, // no image costs more
		{ImageCrops, 384, 384, false, 258},
		{ImageCrops, 1536, 768, false, 516},
	}
	for _, tt := range tests {
		if got := cost(tt.how, tt.width, tt.height, tt.low); got != tt.want {
			t.Errorf("%d by %d, counting %d: %d tokens, want %d", tt.width, tt.height, tt.how, got, tt.want)
		}
	}
}

// Media is found in every dialect, and its base64 is never taken for text.
func TestMedia(t *testing.T) {
	png := picture(t, "png", 1024, 1024)
	four := Features{ofImages: 1, ofTiles: 4, ofPatches: 1024, ofAreas: 1399, ofCrops: 4}
	unknown := four
	low := four
	low[ofTiles] = 0
	sound := strings.Repeat("AAAA", 10_000)
	tests := []struct {
		name, content string
		want          Features
	}{
		{"chat", `[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}]`, four},
		{"chat, low", `[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `","detail":"low"}}]`, low},
		{"chat, low said first", `[{"type":"image_url","image_url":{"detail":"low","url":"data:image/png;base64,` + png + `"}}]`, low},
		{"chat, address", `[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]`, unknown},
		{"chat, escaped slashes", `[{"type":"image_url","image_url":{"url":"data:image\/png;base64,` + strings.ReplaceAll(png, "/", `\/`) + `"}}]`, four},
		{"responses", `[{"type":"input_image","image_url":"data:image/png;base64,` + png + `"}]`, four},
		{"messages", `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]`, four},
		{"messages, address", `[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]`, unknown},
		{"gemini", `[{"inline_data":{"mime_type":"image/png","data":"` + png + `"}}]`, four},
		{"text of a document", `[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"two words"}}]`, Features{ofWords: 2, ofLowers: 8}},
		{"pdf", `[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0x` + strings.Repeat("A", 128<<10) + `"}}]`, Features{ofDocuments: (128<<10 + 8) / 4 * 3 / 32}},
		{"file", `[{"type":"file","file":{"file_id":"file-abc"}}]`, Features{ofDocuments: 2000}},
		{"sound", `[{"type":"input_audio","input_audio":{"data":"` + sound + `","format":"wav"}}]`, Features{ofDocuments: 10}},
		{"a cited address is not shown", `[{"text":"yes","annotations":[{"type":"url_citation","url":"https://example.com"}]}]`, Features{ofWords: 1, ofLowers: 3}},
	}
	for _, tt := range tests {
		got := Measure([]byte(`{"messages":[{"role":"user","content":` + tt.content + `}]}`))
		got[ofRequests], got[ofMessages] = 0, 0
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
