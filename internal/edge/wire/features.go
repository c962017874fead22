package wire

// Features are what the input tokens of a request depend on, as counts. They
// are taken from the JSON text in one pass, and a linear function of them that
// is learnt for each model gives the tokens (Estimator).
//
// Bytes of text are counted by class and not by language: a word, its letters,
// a Han character, a run of blanks. Tokenizers differ in what each class costs,
// and a text is a mix of classes. Measure and Parse make them.
type Features [numFeatures]uint32

// The features, in the order of the lanes of step and then those of structure.
const (
	ofWords   = iota // begins of runs of ASCII letters
	ofLowers         // ASCII letters, small
	ofUppers         // ASCII letters, capital
	ofHumps          // a capital after a small letter, as in camelCase
	ofDigits         // 0 to 9
	ofNumbers        // begins of runs of digits
	ofSigns          // ASCII punctuation
	ofClumps         // begins of runs of it

	ofLines   // begins of runs of line breaks
	ofBlanks  // blanks that follow a blank or a line break: indentation
	ofMarks   // accented Latin letters, typographic quotes, arrows
	ofScripts // letters of two bytes: Greek, Cyrillic, Hebrew, Arabic
	ofHans    // Han characters
	ofKanas   // kana, and punctuation of full width
	ofHanguls // Hangul syllables
	ofRares   // Indic scripts, Thai and others of three bytes; characters of four bytes count twice

	ofLongs // letters and signs of runs longer than those of prose and code: keys, sequences, noise

	ofGiven     // tokens that the body holds as numbers
	ofRequests  // 1 for whatever is put into a chat template
	ofMessages  // messages of a chat
	ofMembers   // members of schemas, arguments and other objects that are shown to the model
	ofTools     // tools and functions offered
	ofImages    // images that are shown in tiles
	ofTiles     // of 512 pixels, as OpenAI counts them
	ofPatches   // of 32 pixels, as OpenAI counts them for its small models
	ofAreas     // 750 pixels, as Anthropic counts images
	ofCrops     // of 768 pixels, as Gemini counts images
	ofDocuments // tokens of sounds, films and files by their size

	numFeatures
)

// byteClass is a kind of byte. Continuation bytes of UTF-8 add nothing, for a
// character is counted at its first.
type byteClass uint8

const (
	classTail byteClass = iota // a continuation byte
	classBlank
	classLine
	classLower
	classUpper
	classDigit
	classSign
	classMark
	classScript
	classHan
	classKana
	classHangul
	classRare
	classAstral
	classBackslash
	classNone       // before the first
	numClasses = 16 // so that two of them are an index of a byte, which needs no check
)

var classes = func() (t [256]byteClass) {
	for c := range t {
		switch {
		case c == ' ' || c == '\t':
			t[c] = classBlank
		case c == '\n' || c == '\r':
			t[c] = classLine
		case c == '\\':
			t[c] = classBackslash
		case c >= 'a' && c <= 'z':
			t[c] = classLower
		case c >= 'A' && c <= 'Z':
			t[c] = classUpper
		case c >= '0' && c <= '9':
			t[c] = classDigit
		case c < 0x80:
			t[c] = classSign
		case c < 0xC0:
			t[c] = classTail
		case c <= 0xCA, c == 0xE2:
			t[c] = classMark
		case c < 0xE0: // Greek, Cyrillic, Hebrew, Arabic
			t[c] = classScript
		case c == 0xE3, c == 0xEF:
			t[c] = classKana
		case c >= 0xE4 && c <= 0xE9:
			t[c] = classHan
		case c >= 0xEA && c <= 0xED:
			t[c] = classHangul
		case c < 0xF0:
			t[c] = classRare
		default:
			t[c] = classAstral
		}
	}
	return t
}()

// step is what a byte adds, given its class and that of the byte before: eight
// counters of a byte in each word. They are added up without a carry for as
// long as fewer than 256 bytes are, whence stride.
type step struct{ low, high uint64 }

const stride = 255

var steps = func() (t [numClasses * numClasses]step) {
	for before := range byteClass(numClasses) {
		for now := range byteClass(numClasses) {
			s := &t[before*numClasses+now]
			count := func(feature int) {
				if feature < 8 {
					s.low += 1 << (8 * feature)
				} else {
					s.high += 1 << (8 * (feature - 8))
				}
			}
			letter := before == classLower || before == classUpper
			switch now {
			case classLower, classUpper:
				count(map[byteClass]int{classLower: ofLowers, classUpper: ofUppers}[now])
				if !letter && before != classTail && (before < classMark || before > classAstral) {
					count(ofWords)
				}
				if before == classLower && now == classUpper {
					count(ofHumps)
				}
			case classDigit:
				count(ofDigits)
				if before != classDigit {
					count(ofNumbers)
				}
			case classSign, classBackslash:
				count(ofSigns)
				if before != classSign && before != classBackslash {
					count(ofClumps)
				}
			case classLine:
				if before != classLine {
					count(ofLines)
				}
			case classBlank:
				if before == classBlank || before == classLine {
					count(ofBlanks)
				}
			case classMark:
				count(ofMarks)
			case classScript:
				count(ofScripts)
			case classHan:
				count(ofHans)
			case classKana:
				count(ofKanas)
			case classHangul:
				count(ofHanguls)
			case classRare, classAstral:
				count(ofRares)
			case classTail:
				if before == classAstral {
					count(ofRares)
				}
			}
		}
	}
	return t
}()

// text counts the inside of a JSON string. An escape counts as the character
// it stands for. s must not end within an escape, if not of digits.
func (f *Features) text(s []byte) {
	before := classNone
	for i := 0; i < len(s); {
		var low, high uint64
		block, n := s[i:min(i+stride, len(s))], 0
		for n < len(block) {
			now := classes[block[n]]
			n++
			if now == classBackslash {
				if now = escapes[s[i+n]]; now != classNone {
					n++
				} else {
					now, n = escaped(s[i:], n)
				}
			}
			t := &steps[before<<4|now]
			low += t.low
			high += t.high
			before = now
		}
		i += n
		for k := range 8 {
			f[k] += uint32(low >> (8 * k) & 0xFF)
			f[k+8] += uint32(high >> (8 * k) & 0xFF)
		}
		lane := func(feature int) uint32 { return uint32(low >> (8 * feature) & 0xFF) }
		f[ofLongs] += beyond(lane(ofLowers)+lane(ofUppers), lane(ofWords), longWord)
		f[ofLongs] += beyond(lane(ofSigns), lane(ofClumps), longClump)
	}
}

// How many letters the words of a stride have on average at most, in any
// language that is written with spaces, and how many signs a clump has in code.
const longWord, longClump = 12, 6

// beyond returns how many there are more than so many runs hold.
func beyond(count, runs, each uint32) uint32 {
	return count - min(count, (runs+1)*each)
}

// escapes holds the class of the character of an escape by its letter.
var escapes = func() (t [256]byteClass) {
	t = classes
	for _, c := range "nr" {
		t[c] = classLine
	}
	for _, c := range "bf" {
		t[c] = classSign
	}
	t['t'] = classBlank
	t['u'] = classNone
	return t
}()

// escaped returns the class of the character whose four digits follow the u at
// s[i], and where they end. A pair of surrogates is the first two bytes of a
// character of four, which is all that counts of one.
func escaped(s []byte, i int) (byteClass, int) {
	var r rune
	end := min(i+5, len(s)) // of what is no JSON, fewer may be left
	for _, c := range s[i+1 : end] {
		r = r<<4 | rune(hexDigit(c))
	}
	i = end
	switch {
	case r < 0x80:
		return classes[r], i
	case r < 0x800:
		return classes[0xC0|r>>6], i
	case r >= 0xD800 && r < 0xDC00:
		return classAstral, i
	case r >= 0xDC00 && r < 0xE000:
		return classTail, i
	}
	return classes[0xE0|r>>12], i
}

func hexDigit(c byte) byte {
	if c > '9' {
		c += 9 // both a and A end in 1
	}
	return c & 0xF
}

// add and less count what another body has as well, or no longer. A difference
// is modulo 2^32, so that it can be below zero until it is added to something.
func (f *Features) add(g *Features) {
	for i := range f {
		f[i] += g[i]
	}
}

func (f *Features) less(g *Features) {
	for i := range f {
		f[i] -= g[i]
	}
}
