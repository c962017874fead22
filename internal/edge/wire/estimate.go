package wire

// Token estimates are sums of weights a byte, in parts of a token, so that they
// cost one table look-up a byte and never a tokenizer. They are wrong by a factor
// that depends on model and language, which the gateway learns from the usage
// that upstreams report.

const (
	// unit is one token, in the parts that weights are written in.
	unit = 64
	// mediaUnits stands for one image, sound or file: its bytes say little about its tokens.
	mediaUnits = 800 * unit
	// messageUnits is what the chat template adds around each message.
	messageUnits = 4 * unit
	// schemaBytes is how many bytes of a tool description make a token.
	schemaBytes = 4
)

// weights holds the parts of a token that each byte of text adds. UTF-8 is
// counted at its lead byte, and continuation bytes add nothing.
var weights = func() (w [256]uint8) {
	for c := range w {
		switch {
		case c == ' ', c >= 0x80 && c < 0xC0: // blanks join the word that follows
			w[c] = 4
			if c != ' ' {
				w[c] = 0
			}
		case c < ' ':
			w[c] = 24
		case c >= 'a' && c <= 'z':
			w[c] = 14
		case c >= 'A' && c <= 'Z':
			w[c] = 26
		case c >= '0' && c <= '9':
			w[c] = 28
		case c < 0x80: // punctuation
			w[c] = 40
		case c < 0xE0: // two bytes: accents, Greek, Cyrillic, Arabic, Hebrew
			w[c] = 29
		case c < 0xF0: // three bytes: CJK, Indic scripts, Thai
			w[c] = 52
		default: // four bytes: emoji
			w[c] = 128
		}
	}
	return w
}()

// tokens turns parts into whole tokens. It is never zero: a request that costs
// nothing would pass every limit.
func tokens(units int64) int64 { return max(1, (units+unit-1)/unit) }

// estimateSchema returns the parts of a token in tools or a response format.
func estimateSchema(v []byte) int64 { return int64(len(v)) * unit / schemaBytes }

// estimateText returns the parts of a token in messages, a prompt or an input.
// Strings count as text, except names and labels; media counts as a constant;
// a number counts as one token, which is what the numbers of a prompt are.
// v must be valid JSON.
func estimateText(v []byte) int64 {
	var units int64
	var name []byte // of the member whose value is next; nil outside a member
	depth := 0
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			end := skipString(v, i)
			if next := skipSpace(v, end); next < len(v) && v[next] == ':' {
				name = v[i+1 : end-1]
				i = next + 1
				continue
			}
			units += estimateMember(name, v[i+1:end-1])
			i = end
		case c == '{', c == '[':
			if depth == 1 && c == '{' {
				units += messageUnits
			}
			depth++
			i++
		case c == '}', c == ']':
			name = nil
			depth--
			i++
		case c == '-', c >= '0' && c <= '9':
			units += unit
			i = skipLiteral(v, i)
		default:
			i++
		}
	}
	return units
}

// estimateMember returns the parts of a token in one string value, given the
// name it is under.
func estimateMember(name, s []byte) int64 {
	switch string(name) {
	case "role", "type", "id", "tool_call_id", "detail", "format":
		return 0
	case "url", "image_url", "data", "file_data", "file_id":
		return mediaUnits
	}
	return estimateString(s)
}

// estimateString returns the parts of a token in the inside of a JSON string.
func estimateString(s []byte) int64 {
	var units int64
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' {
			units += int64(weights[c])
			continue
		}
		i++
		switch s[i] {
		case 'n', 't', 'r', 'b', 'f':
			units += int64(weights['\n'])
		case 'u':
			units += escapeUnits(s[i+1 : i+5])
			i += 4
		default:
			units += int64(weights[s[i]])
		}
	}
	return units
}

// escapeUnits weighs the character of a \u escape, given its four digits. A
// surrogate is half of a four-byte character.
func escapeUnits(hex []byte) int64 {
	switch {
	case hex[0] == 'd' || hex[0] == 'D':
		if hex[1] >= '8' && hex[1] <= '9' || hex[1] >= 'A' {
			return int64(weights[0xF0]) / 2
		}
		return int64(weights[0xE0])
	case hex[0] != '0' || hex[1] >= '8':
		return int64(weights[0xE0])
	case hex[1] != '0' || hex[2] >= '8':
		return int64(weights[0xC3])
	}
	return int64(weights['.'])
}

// countPrompts returns how many prompts the prompt of a completion holds. An
// array of numbers is one prompt in tokens; any other array is one prompt each.
func countPrompts(v []byte) int64 {
	if v[0] != '[' {
		return 1
	}
	i := skipSpace(v, 1)
	if c := v[i]; c == '-' || c >= '0' && c <= '9' {
		return 1
	}
	var n int64
	for v[i] != ']' {
		if i = skipValue(v, i); i < 0 {
			break
		}
		n++
		if i = skipSpace(v, i); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return n
}
