package config

import (
	"strings"
	"testing"
)

func adminWith(tokens string) string {
	return "providers: {a: {base_url: http://h/v1}}\nadmin: {tokens: [" + tokens + "]}\n"
}

func TestAdminTokens(t *testing.T) {
	c, err := Parse("x", []byte(adminWith(`{name: eve, hash: "`+HashKey("one")+`"}, {name: bob, hash: "`+strings.ToUpper(HashKey("two"))+`", role: admin}`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if who, ok := c.Admin.Lookup("one"); !ok || who.Name != "eve" || who.Role != RoleViewer {
		t.Errorf("%+v %v: whoever gets no role looks only", who, ok)
	}
	if who, ok := c.Admin.Lookup("two"); !ok || who.Role != RoleAdmin {
		t.Errorf("%+v %v", who, ok)
	}
	for _, guess := range []string{"", "three", HashKey("two")} {
		if who, ok := c.Admin.Lookup(guess); ok {
			t.Errorf("%q is %s", guess, who.Name)
		}
	}
}

func TestBadAdminTokens(t *testing.T) {
	hash := `"` + HashKey("one") + `"`
	for _, tt := range []struct{ text, want string }{
		{adminWith(`{name: eve, hash: my-own-token}`), "not a hash"},
		{adminWith(`{name: eve}`), "hash is missing"},
		{adminWith(`{name: eve, hash: ` + hash + `, role: root}`), "is not one of viewer, admin"},
		{adminWith(`{name: a b, hash: ` + hash + `}`), "without spaces"},
		{adminWith(`{name: eve, hash: ` + hash + `}, {name: eve, hash: "` + HashKey("two") + `"}`), "has this name already"},
		{adminWith(`{name: eve, hash: ` + hash + `}, {name: bob, hash: ` + hash + `}`), "written twice"},
		{adminWith(`{name: eve, hash: `+hash+`}`) + `tenants: [{name: t, keys: [` + hash + `]}]`, "a caller would be an operator"},
	} {
		_, err := Parse("x", []byte(tt.text), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		} else if strings.Contains(err.Error(), "my-own-token") {
			t.Errorf("a token in the message: %v", err)
		}
	}
}
