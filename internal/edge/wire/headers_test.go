package wire

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestHeadersAreDocumented(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Headers\n\nEvery header that the gateway reads of a request, and every one that it answers with; [callers.md](callers.md) says what to do with them. This file is made from the program (`make update`). " +
		"Those of the operators' listener are in [openapi.json](openapi.json).\n\n" +
		"All headers of requests are optional but the key. A value that makes no sense is as good as absent, except for `x-spillway-class`.\n")
	for _, list := range []struct {
		title, passed string
		rows          []headerRow
	}{
		{"Of requests", "to the upstream", sent},
		{"Of answers", "from the upstream", answered},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| header | surfaces | meaning | unit, range; without it | example | passed on %s |\n|---|---|---|---|---|---|\n", list.title, list.passed)
		for _, r := range list.rows {
			on, passed := r.on, ""
			if on == "" {
				on = "all"
			}
			if r.passed {
				passed = "yes"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` | %s |\n", strings.ToLower(strings.Join(r.names, "`, `")), on, r.says, r.values, r.example, passed)
		}
	}
	b.WriteString("\nWhat is passed on to the upstream is not changed; what is not in the first table stays here, credentials and cookies first of all. Nothing else of an upstream's answer is passed on: its rate limits, cookies and organisation are about the gateway's account.\n")
	isDocument(t, "headers.md", b.Bytes())
}

var (
	headerForm   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(-[A-Z0-9][A-Za-z0-9]*)*$`)
	headerPrefix = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(-[A-Z0-9][A-Za-z0-9]*)*-$`)
)

// What the program reads of a request and writes into an answer is in the table,
// and what is in the table is read or written.
func TestHeadersAreOfTheTable(t *testing.T) {
	names := func(rows []headerRow) (list []string) {
		for _, r := range rows {
			list = append(list, r.names...)
		}
		return list
	}
	all := append(names(sent), names(answered)...)
	used := map[string]bool{}
	for _, f := range sources(t, ".", "../../gateway", "../answers") {
		if filepath.Base(f.name) == "headers.go" {
			continue
		}
		alone := map[*ast.BasicLit]string{} // one word may be a header only as an argument of these
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) > 0 && slices.Contains([]string{"Get", "Values", "Set", "Add", "Del"}, s.Sel.Name) {
					if text, ok := n.Args[0].(*ast.BasicLit); ok {
						alone[text] = s.Sel.Name
					}
				}
			case *ast.IndexExpr:
				if text, ok := n.Index.(*ast.BasicLit); ok {
					alone[text] = "Get"
				}
			case *ast.Ident:
				used[n.Name] = true
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(n.Value)
				call := alone[n]
				used[text] = true
				switch {
				case headerPrefix.MatchString(text):
					if !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, text) }) {
						t.Errorf("%s: no header of headers.go begins with %s", f.place(n), text)
					}
				case call == "Del", !headerForm.MatchString(text), call == "" && !strings.Contains(text, "-"):
				case strings.HasPrefix(text, "X-Spillway-"):
					t.Errorf("%s: use the constant for %s", f.place(n), text)
				case !slices.Contains(all, text):
					t.Errorf("%s: %s is not in headers.go: add its row, then run make update", f.place(n), text)
				case (call == "Set" || call == "Add") && !slices.Contains(names(answered), text):
					t.Errorf("%s: %s is answered, and not in that table of headers.go", f.place(n), text)
				}
			}
			return true
		})
	}
	for i, name := range all {
		said := used[name] || slices.Contains(forwarded, name) || slices.Contains(relayed, name)
		for text := range used {
			said = said || headerPrefix.MatchString(text) && strings.HasPrefix(name, text)
		}
		if strings.HasPrefix(name, "X-Spillway-") {
			said = slices.ContainsFunc(constants(t, "headers.go", "Header"), func(c string) bool { return used[c] && ownHeaders[c] == name })
		}
		if !said {
			t.Errorf("%s is in headers.go, and nothing reads or writes it", name)
		}
		if http.CanonicalHeaderKey(name) != name {
			t.Errorf("%s is not in the form of net/http", name)
		}
		if n := len(names(sent)); slices.Index(all[:min(i, n)], name) >= 0 && i < n || i > n && slices.Contains(all[n:i], name) {
			t.Errorf("%s has two rows in one table", name)
		}
	}
	for _, r := range slices.Concat(sent, answered) {
		if r.says == "" || r.values == "" || r.example == "" {
			t.Errorf("%v: the row is not whole", r.names)
		}
	}
}

// ownHeaders are the constants by their names in the source.
var ownHeaders = map[string]string{
	"HeaderDeadline": HeaderDeadline, "HeaderClass": HeaderClass, "HeaderTask": HeaderTask, "HeaderSession": HeaderSession, "HeaderDegrade": HeaderDegrade,
	"HeaderDecision": HeaderDecision, "HeaderEstimatedWait": HeaderEstimatedWait, "HeaderModel": HeaderModel, "HeaderDegraded": HeaderDegraded,
	"HeaderFallback": HeaderFallback, "HeaderObserved": HeaderObserved, "HeaderDropped": HeaderDropped,
}
