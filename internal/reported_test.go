package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/reported-cases.md says where each case is tested: the file is there
// and names the case, or a reason stands in its place.
func TestReportedCases(t *testing.T) {
	data, err := os.ReadFile("../docs/reported-cases.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^\| (B[0-9]{3}) \| [^|]+ \| [^|]+ \| (.+?) \| (.*?) ?\|$`)
	rows := 0
	for line := range strings.Lines(string(data)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		rows++
		id, where, why := m[1], m[2], m[3]
		if where == "–" {
			if why == "" {
				t.Errorf("%s is not tested, and nothing says why", id)
			}
			continue
		}
		for name := range strings.SplitSeq(where, ", ") {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "`"), "`")
			if !names(name, id) {
				t.Errorf("%s: %s is not there or does not name it", id, name)
			}
		}
	}
	if rows != 144 {
		t.Errorf("%d rows, want one for each of 144 cases", rows)
	}
}

// names says whether the file, as the table shortens it, has the id, alone or
// within a range such as B001-B004.
func names(name, id string) bool {
	for _, dir := range []string{"", "edge", "core", ".."} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if strings.Contains(string(text), id) {
			return true
		}
		for _, m := range regexp.MustCompile("(B[0-9]{3})[-–](B[0-9]{3})").FindAllStringSubmatch(string(text), -1) {
			if m[1] <= id && id <= m[2] {
				return true
			}
		}
	}
	return false
}
