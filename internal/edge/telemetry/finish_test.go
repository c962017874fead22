package telemetry

import "testing"

func TestFinishWords(t *testing.T) {
	for word, want := range map[string]string{
		"stop": "stop", "end_turn": "stop", "STOP": "stop", "length": "length", "MAX_TOKENS": "length", "tool_use": "tool_calls",
		"SAFETY": "content_filter", "refusal": "refusal", "pause_turn": "other", "Stop": "other", "made up\n": "other", "": "",
	} {
		if got := ParseFinish(word).String(); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
	for f := range Finish(numFinishes) { // our own words are read as themselves
		if got := ParseFinish(f.String()); got != f {
			t.Errorf("%s is read as %s", f, got)
		}
	}
	if got := Finish(200).String(); got != "other" {
		t.Errorf("a value beyond the set is %q", got)
	}
}
