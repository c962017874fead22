package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func featuresOf(text string) (f Features) {
	f.text([]byte(text))
	return f
}

// chatBody is a chat request of one message.
func chatBody(text string) []byte {
	b, err := json.Marshal(map[string]any{"model": "m", "messages": []any{map[string]string{"role": "user", "content": text}}})
	if err != nil {
		panic(err)
	}
	return b
}

// An escape must count as the character it stands for, wherever it stands.
func TestEscapes(t *testing.T) {
	for _, r := range "aZ7.éЖक今한\ue000，🙂\n\t\"\\" {
		var escape string
		if r > 0xFFFF {
			v := r - 0x10000
			escape = fmt.Sprintf(`\u%04x\u%04X`, 0xD800+v>>10, 0xDC00+v&0x3FF)
		} else {
			escape = fmt.Sprintf(`\u%04x`, r)
		}
		plain, err := json.Marshal(string(r))
		if err != nil {
			t.Fatal(err)
		}
		inside := string(plain[1 : len(plain)-1])
		for _, around := range []string{"%s", "a%sb", " %s ", "1%s2", "今%s天", "%[1]s%[1]s"} {
			if a, b := featuresOf(fmt.Sprintf(around, escape)), featuresOf(fmt.Sprintf(around, inside)); a != b {
				t.Errorf("%q in %q: %v escaped and %v plain", r, around, a, b)
			}
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		text string
		want Features
	}{
		{"", Features{}},
		{"Hello, world", Features{ofWords: 2, ofLowers: 9, ofUppers: 1, ofSigns: 1, ofClumps: 1}},
		{"getURL2", Features{ofWords: 1, ofLowers: 3, ofUppers: 3, ofHumps: 1, ofDigits: 1, ofNumbers: 1}},
		{`if x {\n\t\treturn\n}`, Features{ofWords: 3, ofLowers: 9, ofSigns: 2, ofClumps: 2, ofLines: 2, ofBlanks: 2}},
		{`a\r\n\r\n    b`, Features{ofWords: 2, ofLowers: 2, ofLines: 1, ofBlanks: 4}},
		{"学而时习之，不亦说乎", Features{ofHans: 9, ofKanas: 1}},
		{"été", Features{ofLowers: 1, ofMarks: 2}},
		{"Привет", Features{ofScripts: 6}},
		{"かな カナ", Features{ofKanas: 4}},
		{"하루", Features{ofHanguls: 2}},
		{"नम", Features{ofRares: 2}},
		{"🙂", Features{ofRares: 2}},
		{`say \"no\"`, Features{ofWords: 2, ofLowers: 5, ofSigns: 2, ofClumps: 2}},
		{strings.Repeat("a", 512), Features{ofWords: 1, ofLowers: 512, ofLongs: 255 - 24 + 255 - 12}},
	}
	for _, tt := range tests {
		if got := featuresOf(tt.text); got != tt.want {
			t.Errorf("%.40q: got %v, want %v", tt.text, got, tt.want)
		}
	}
}

// The counts of a pass by lanes are those of a count one by one.
func TestLanes(t *testing.T) {
	text := strings.Repeat("aB 1,2\u00e9Ж今か한न🙂", 500)
	f := featuresOf(text)
	want := map[int]int{ofHans: 500, ofKanas: 500, ofHanguls: 500, ofRares: 1500, ofDigits: 1000, ofHumps: 500, ofScripts: 500, ofMarks: 500}
	for feature, n := range want {
		if f[feature] != uint32(n) {
			t.Errorf("feature %d: %d, want %d", feature, f[feature], n)
		}
	}
}

// No body is measured as nothing, and none makes Measure fail.
func FuzzMeasure(f *testing.F) {
	f.Add([]byte(`{"messages":[{"content":"x\ud83d\ude42"}]}`))
	f.Add([]byte(`{"messages":[{"content":[{"image_url":{"url":"data:image/png;base64,iVBORw0KGgo="},"detail":"low"}]}`))
	f.Add([]byte(`{"input":"\u12`))
	f.Add([]byte(`{"system":"\`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m := Measure(body)
		if n := m.Tokens(); n < 3 {
			t.Fatalf("%d tokens of %q", n, body)
		}
		if n := m.Tokens(); utf8.Valid(body) && n > 4000*int64(len(body))+3 {
			t.Fatalf("%d tokens of %d bytes", n, len(body))
		}
	})
}
