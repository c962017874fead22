package config

import (
	"strings"
	"testing"
)

func settingsOf(t *testing.T, c *Config, under string) map[string]Setting {
	t.Helper()
	list, err := c.Settings(under)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Setting{}
	for _, s := range list {
		all[s.Path] = s
	}
	if len(all) != len(list) {
		t.Errorf("%d settings of %d paths", len(list), len(all))
	}
	return all
}

func TestSettings(t *testing.T) {
	c, err := apply(t, aliased, set("models.chat.queue.total", "200", "tenants[shop].limits", `{"rpm":5}`, "models.chat.deployments[gpu].concurrency", `"auto"`, "tenants[new]", `{"keys":["`+hashOfNew+`"]}`))
	if err != nil {
		t.Fatal(err)
	}
	all := settingsOf(t, c, "")
	for path, want := range map[string]struct {
		value  string
		source Source
		kind   SettingType
	}{
		"admission":                                    {`"enforce"`, SourceDefault, TypeText},
		"drain":                                        {`"30s"`, SourceDefault, TypeDuration},
		"models.chat.queue.total":                      {"200", SourceChange, TypeNumber},
		"models.chat.queue.per_tenant":                 {"7", SourceFile, TypeNumber},
		"models.other.queue.total":                     {"70", SourceFile, TypeNumber},
		`models["gpt-4.1"].queue.work`:                 {`"1m"`, SourceFile, TypeDuration},
		`models["gpt-4.1"].queue.bytes`:                {`"256MiB"`, SourceDefault, TypeSize},
		"tenants[shop].limits.rpm":                     {"5", SourceChange, TypeNumber},
		"tenants[shop].limits.tpm":                     {"null", SourceDefault, TypeNumber},
		"tenants[bank].limits.rpm":                     {"null", SourceDefault, TypeNumber},
		"tenants[new].weight":                          {"1", SourceDefault, TypeNumber},
		"tenants[bank].budget.day":                     {"null", SourceDefault, TypeDollars},
		"tenants[bank].classes":                        {`["interactive","standard","batch","speculative"]`, SourceDefault, TypeList},
		"models.chat.degrade[short].drop":              {`[]`, SourceDefault, TypeList},
		"models.chat.deployments[gpu].concurrency":     {`"auto"`, SourceChange, TypeNumber},
		"models.chat.deployments[up/chat].concurrency": {`16`, SourceDefault, TypeNumber},
		"traces.sample":                                {"1", SourceDefault, TypePercent},
	} {
		if s, ok := all[path]; !ok || string(s.Value) != want.value || s.Source != want.source || s.Type != want.kind || s.Help == "" {
			t.Errorf("%s: %+v (%s), want %+v", path, s, s.Value, want)
		}
	}
	if e := all["tenants[bank].classes"].Enum; len(e) != 4 {
		t.Errorf("the classes that may be listed: %v", e)
	}
	for path, s := range all {
		if l, err := locate(path); err != nil || l.changeable() != nil || l.path != path {
			t.Errorf("%s cannot be changed: %v", path, err)
		}
		if s.Help == "" {
			t.Errorf("%s: nobody says what it is", path)
		}
		if strings.Contains(string(s.Value), "sha256") || strings.Contains(string(s.Value), "canary") || strings.HasPrefix(path, "providers") {
			t.Errorf("%s: %s", path, s.Value)
		}
	}
	under := settingsOf(t, c, "models[chat].queue")
	if len(under) != 9 || under["models.chat.queue.low"].Type != TypeDuration {
		t.Errorf("%+v", under)
	}
	if _, err := c.Settings("models.chat.queu"); err == nil {
		t.Error("below what there is not")
	}
}

// Setting everything to what it is changes nothing.
func TestSettingsCanBeSet(t *testing.T) {
	base, err := apply(t, aliased, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Overlay{}
	for path, s := range settingsOf(t, base, "") {
		if string(s.Value) != "null" {
			o[path] = s.Value
		}
	}
	// What only goes with something else, and what a smaller total would lower.
	for path := range o {
		if strings.Contains(path, ".score.") || strings.HasSuffix(path, "affinity_prefix") {
			delete(o, path)
		}
	}
	c, err := apply(t, aliased, o)
	if err != nil {
		t.Fatal(err)
	}
	before, after := settingsOf(t, base, ""), settingsOf(t, c, "")
	for path, s := range before {
		if string(after[path].Value) != string(s.Value) {
			t.Errorf("%s was %s, is %s", path, s.Value, after[path].Value)
		}
	}
	if len(before) != len(after) || len(before) < 200 {
		t.Errorf("%d settings, then %d", len(before), len(after))
	}
}
