package mock

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

var start = time.Unix(1_800_000_000, 0)

// The defaults that a command line shows are those that the zero value means.
func TestCommandLineDefaults(t *testing.T) {
	var cli struct{ Settings }
	parser, err := kong.New(&cli)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(nil); err != nil {
		t.Fatal(err)
	}
	if want := (Settings{}).withDefaults(); !reflect.DeepEqual(cli.Settings, want) {
		t.Errorf("the command line gives %+v, the zero value %+v", cli.Settings, want)
	}
	if _, err := parser.Parse([]string{"--noise=0", "--queue=0", "--service-mean=250ms", "--slots=16", "--seed=1", "--faults=429=0.1,reset=0.05"}); err != nil {
		t.Fatal(err)
	}
	if s := cli.withDefaults(); *s.Noise != 0 || *s.Queue != 0 || s.ServiceMean != 250*time.Millisecond || s.Faults != "429=0.1,reset=0.05" {
		t.Errorf("settings %+v", s)
	}
}

func TestValidate(t *testing.T) {
	if err := (Settings{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	for _, test := range []struct {
		settings Settings
		want     string
	}{
		{Settings{Slots: -1}, "slots is -1: at least 1 is needed"},
		{Settings{Queue: new(-1)}, "queue is -1: 0 or more, 0 for no queue"},
		{Settings{Noise: new(3.0)}, "noise is 3: a sigma from 0 to 2"},
		{Settings{ServiceMean: -1}, "service mean is -1ns: 0 or more"},
		{Settings{Slowdown: -1}, "slowdown is -1: 0 or more"},
		{Settings{OutputMean: -5}, "output mean is -5: at least 1 token"},
		{Settings{Faults: "429"}, `faults: "429" has no probability`},
		{Settings{Schedule: "soon outage"}, `schedule: "soon outage"`},
	} {
		err := test.settings.Validate()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.settings, err, test.want)
		}
		if _, err := New(test.settings); err == nil {
			t.Errorf("%+v: New takes it", test.settings)
		}
	}
	if err := (Settings{Slots: -1, OutputMean: -1}).Validate(); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two faults are not both reported: %v", err)
	}
}
