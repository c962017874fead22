package wire

import "math"

// weights are the tokens that one of each feature costs.
type weights [numFeatures]float64

// prior holds the weights before anything is learnt. Those of text are a fit by
// least squares of the relative error to the mean of cl100k_base and o200k_base
// on English prose, manuals, code in four languages, Chinese manuals, French,
// Japanese and Korean (none of them in testdata); where that held too little,
// as of Cyrillic and Thai, they are between the two tokenizers. Those of the
// chat template and of tools follow OpenAI's "How to count tokens with tiktoken".
var prior = weights{
	ofWords: 1.02, ofLowers: 0.035, ofUppers: 0.06, ofHumps: 1.3,
	ofDigits: 0.2, ofNumbers: 1.6, ofSigns: 0.13, ofClumps: 0.44,
	ofLines: 0.4, ofBlanks: 0.125, ofMarks: 1.5, ofScripts: 0.45,
	ofHans: 1.05, ofKanas: 1.0, ofHanguls: 1.2, ofRares: 1.3, ofLongs: 0.3,
	ofGiven: 1, ofRequests: 3, ofMessages: 4, ofMembers: 1, ofTools: 8,
	ofDocuments: 1,
}

// Images is how a model counts images.
type Images uint8

// The ways of counting, each a provider's documented formula.
const (
	ImageTiles   Images = iota // OpenAI: 85 and 170 for each tile of 512 pixels
	ImagePatches               // OpenAI's small models: a token for each 32 by 32 pixels
	ImageAreas                 // Anthropic: pixels / 750
	ImageCrops                 // Gemini: 258 for each crop of 768 pixels
)

// priorOf returns the weights of a model that counts images like that. A weight
// of zero stays zero.
func priorOf(how Images) weights {
	w := prior
	switch how {
	case ImageTiles:
		w[ofImages], w[ofTiles] = 85, 170
	case ImagePatches:
		w[ofPatches] = 1
	case ImageAreas:
		w[ofAreas] = 1
	case ImageCrops:
		w[ofCrops] = 258
	}
	return w
}

// spread is how far a weight may be from its prior: its standard deviation in
// parts of it, and the factor that bounds it both ways.
func spread(feature int) (deviation, most float64) {
	switch feature {
	case ofGiven:
		return 0, 1 // exact
	case ofRequests:
		return 30, 4000 // a provider may put a prompt of its own before every request
	case ofMessages, ofMembers, ofTools:
		return 1, 8 // chat templates differ more than tokenizers
	case ofImages, ofTiles, ofPatches, ofAreas, ofCrops, ofDocuments:
		return 1, 64 // gpt-4o-mini counts a tile 33 times
	}
	return 0.3, 4
}

// bound keeps a weight within its bounds.
func bound(feature int, w, prior float64) float64 {
	_, most := spread(feature)
	least := prior / most
	if feature == ofRequests {
		least = 0
	}
	return math.Min(math.Max(w, least), prior*most)
}

// tokens is what the features cost by these weights. It is never less than the
// overhead of a request, nor than one: a request that costs nothing would pass
// every limit.
func (w *weights) tokens(f *Features) int64 {
	sum := 0.0
	for i, n := range f {
		sum += w[i] * float64(n)
	}
	least := 1 + (prior[ofRequests]-1)*float64(min(f[ofRequests], 1))
	return int64(math.Round(math.Min(math.Max(sum, least), maxCount)))
}

var openAI = priorOf(ImageTiles)

// Tokens estimates the input tokens for a model of which nothing is learnt.
func (f *Features) Tokens() int64 { return openAI.tokens(f) }
