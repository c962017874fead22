package wire

import (
	"fmt"
	"strings"
	"testing"
)

// The bands hold the counts of common tokenizers with room on both sides: the
// estimate has to be of the right size, and is corrected by what is learned.
func TestEstimate(t *testing.T) {
	msg := func(text string) string {
		return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	english := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 100)         // about 10 tokens each
	code := strings.Repeat(`for i := 0; i < len(b); i++ {\n\tsum += int(b[i])\n}\n`, 100)   // about 25 each
	chinese := strings.Repeat("今天天气很好我们去公园散步吧", 100)                                        // 14 characters each
	russian := strings.Repeat("Сегодня хорошая погода, пойдём гулять. ", 100)               // about 12 each
	escaped := strings.Repeat(`\u4eca\u5929\u5929\u6c14\u5f88\u597d`, 100)                  // 6 characters each
	emoji := strings.Repeat("🙂", 100)                                                       // about 2 each
	image := `[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:` + // one image
		strings.Repeat("A", 1<<20) + `","detail":"low"}}]`
	tests := []struct {
		name, body string
		least      int64
		most       int64
	}{
		{"english", msg(english), 900, 1500},
		{"code", msg(code), 1500, 3500},
		{"chinese", msg(chinese), 800, 1800},
		{"russian", msg(russian), 900, 2000},
		{"escaped chinese", msg(escaped), 350, 800},
		{"emoji", msg(emoji), 100, 300},
		{"escaped emoji", msg(strings.Repeat(`\ud83d\ude42`, 100)), 100, 300},
		{"B090 image", `{"model":"m","messages":[{"role":"user","content":` + image + `}]}`, 800, 900},
		{"tools", `{"model":"m","messages":[{}],"tools":[` + strings.Repeat(`{"a":1},`, 99) + `{"a":1}]}`, 190, 220},
		{"tool call", `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"call_abcdefgh","type":"function","function":{"name":"f","arguments":"` + english + `"}}]}]}`, 900, 1500},
		{"text behind a blob", `{"model":"m","messages":[{"content":[{"image_url":{"url":"x"}},"` + english + `"]}]}`, 1700, 2400},
		{"parts are no messages", `{"model":"m","messages":[{"content":[{"text":""}` + strings.Repeat(`,{"text":""}`, 99) + `]}]}`, 4, 4},
		{"many empty messages", `{"model":"m","messages":[{}` + strings.Repeat(`,{}`, 99) + `]}`, 400, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := Parse(ChatCompletions, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if e.Input < tt.least || e.Input > tt.most {
				t.Errorf("estimated %d tokens, want %d to %d", e.Input, tt.least, tt.most)
			}
		})
	}
}

// An escape must weigh as much as the character it stands for.
func TestEstimateEscapes(t *testing.T) {
	for _, r := range "éЖक今한\ue000🙂" {
		var esc string
		if r > 0xFFFF {
			v := r - 0x10000
			esc = fmt.Sprintf(`\u%04x\u%04X`, 0xD800+v>>10, 0xDC00+v&0x3FF)
		} else {
			esc = fmt.Sprintf(`\u%04x`, r)
		}
		if a, b := estimateString([]byte(esc)), estimateString([]byte(string(r))); a != b {
			t.Errorf("%q weighs %d escaped and %d plain", r, a, b)
		}
	}
}
