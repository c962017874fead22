package mock

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// vocabulary is the text that every answer is cut from, a token an element. It
// has characters of several bytes, a quote and a line break, because those are
// where relays go wrong.
var vocabulary = strings.SplitAfter("The queue at the small harbour office moves slowly in the morning, "+
	"because every captain asks the same \"when\" and nobody likes the answer. "+
	"At noon the clerk opens a second window, pours a café crème, and the line is gone. "+
	"A ship from 北京 waits outside; its flag is red 🙂 and its papers are in order.\n "+
	"Nobody is turned away without being told when to come back. And so it goes on.\n", " ")

// encoded is the vocabulary as the inside of JSON strings.
var encoded = func() [][]byte {
	out := make([][]byte, len(vocabulary))
	for i, word := range vocabulary {
		quoted := gjson.AppendJSONString(nil, word)
		out[i] = quoted[1 : len(quoted)-1]
	}
	return out
}()

// word is the place in the vocabulary of one token of one choice.
func (j *job) word(choice, token int) int {
	return (j.offset + 17*choice + token) % len(vocabulary)
}

// appendText appends tokens [from,to) of a choice as the inside of a JSON string.
func (j *job) appendText(dst []byte, choice, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = append(dst, encoded[j.word(choice, i)]...)
	}
	return dst
}

// logprob is the made-up log probability of a word.
func logprob(word int) float64 { return -float64(word%9) / 8 }

// appendChatLogprobs appends the logprobs member of a chat choice for tokens [from,to).
func (j *job) appendChatLogprobs(dst []byte, top, choice, from, to int) []byte {
	dst = append(dst, `{"content":[`...)
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		word := j.word(choice, i)
		dst = appendLogprob(dst, word, logprob(word))
		dst = append(dst, `,"top_logprobs":[`...)
		for k := range top {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = appendLogprob(dst, (word+k)%len(vocabulary), logprob(word)-float64(k))
			dst = append(dst, '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, `],"refusal":null}`...)
}

// appendLogprob appends a token object without its closing brace.
func appendLogprob(dst []byte, word int, p float64) []byte {
	dst = append(dst, `{"token":"`...)
	dst = append(dst, encoded[word]...)
	dst = append(dst, `","logprob":`...)
	dst = strconv.AppendFloat(dst, p, 'f', -1, 64)
	dst = append(dst, `,"bytes":[`...)
	for i, b := range []byte(vocabulary[word]) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(b), 10)
	}
	return append(dst, ']')
}

// appendLegacyLogprobs appends the logprobs member of a completions choice.
func (j *job) appendLegacyLogprobs(dst []byte, choice, from, to int) []byte {
	offset := 0
	for i := range from {
		offset += utf8.RuneCountInString(vocabulary[j.word(choice, i)])
	}
	var words, probs, offsets []byte
	for i := from; i < to; i++ {
		if i > from {
			words, probs, offsets = append(words, ','), append(probs, ','), append(offsets, ',')
		}
		word := j.word(choice, i)
		words = append(append(append(words, '"'), encoded[word]...), '"')
		probs = strconv.AppendFloat(probs, logprob(word), 'f', -1, 64)
		offsets = strconv.AppendInt(offsets, int64(offset), 10)
		offset += utf8.RuneCountInString(vocabulary[word])
	}
	dst = append(append(dst, `{"tokens":[`...), words...)
	dst = append(append(dst, `],"token_logprobs":[`...), probs...)
	dst = append(append(dst, `],"top_logprobs":null,"text_offset":[`...), offsets...)
	return append(dst, "]}"...)
}

// fragments cuts a tool's arguments into pieces of about a token, never inside
// a character.
func fragments(args string) []string {
	var out []string
	for args != "" {
		end := min(4, len(args))
		for end < len(args) && !utf8.RuneStart(args[end]) {
			end++
		}
		out = append(out, args[:end])
		args = args[end:]
	}
	return out
}

// vector draws an embedding of length 1.
func (j *job) vector(dimensions int) []float32 {
	v := make([]float32, dimensions)
	sum := 0.0
	for i := range v {
		x := j.rng.Float64() - 0.5
		v[i] = float32(x)
		sum += x * x
	}
	norm := float32(1 / math.Sqrt(max(sum, 1e-12)))
	for i := range v {
		v[i] *= norm
	}
	return v
}
