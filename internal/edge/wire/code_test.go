package wire

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	source "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite docs/errors.md and docs/headers.md")

// isDocument holds a file of docs/ to what the program says.
func isDocument(t *testing.T, name string, want []byte) {
	t.Helper()
	file := "../../../docs/" + name
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/%s is not what the program says: run make update and look at the difference", name)
	}
}

// comeBack are the words for what a caller may do.
var comeBack = [...]string{AgainNever: "no", AgainAfter: "after `Retry-After`; without one, no", AgainSoon: "yes, with growing pauses"}

func TestErrorsAreDocumented(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Errors\n\nEvery code that the gateway itself answers with; [callers.md](callers.md) says how to deal with refusals. This file is made from the program (`make update`).\n\n" +
		"`status` and `type` are those of OpenAI's surfaces, the next column those of Anthropic's. `again` says whether the same request may come back by itself. " +
		"A provider's own codes are passed on with its status, 529 as 503 on OpenAI's surfaces, and are not listed here. A request whose headers are too large gets a bare 431.\n\n" +
		"| code | status, type | messages: status, type | when | what to do | again |\n|---|---|---|---|---|---|\n")
	for c := range numCodes {
		m, e := &meanings[c], c.New("")
		e.Surface = Messages
		fmt.Fprintf(&b, "| `%s` | %d `%s` | %d `%s` | %s | %s | %s |\n", orNone(m.word), m.status, m.kind, e.HTTPStatus(), e.anthropicType(), m.when, m.do, comeBack[m.again])
	}
	b.WriteString("\n`Retry-After` is whole seconds from 1 to 59 and `retry-after-ms` the same in milliseconds. A longer wait is told as 59 with `x-should-retry: false`, and in full in the body, as `retry_after_ms`. `x-should-retry: false` is also said where coming back is no use. " +
		"`error.stage`, `limit`, `scope`, `figure`, `estimated_wait_ms` and `retry_after_ms` are there where they are known.\n\n## Forms\n\nOne refusal on each surface.\n")
	e := CodeOverloaded.New("model chat is busy: the predicted wait is 4919 ms, and the deadline leaves 3700 ms for it; try again in 8.6s")
	e.Stage, e.Limit, e.Scope, e.Figure = "wait", "the predicted wait", "model chat", "4919 of 3700"
	e.EstimatedWait, e.RetryAfter, e.RequestID = 4920*time.Millisecond, 8562*time.Millisecond, "req_1f3a4bf0f04cc46aa10ce388aa88947e"
	for _, f := range []struct {
		name    string
		surface Surface
	}{{"Chat completions, completions, embeddings, responses", ChatCompletions}, {"Messages", Messages}} {
		e.Surface = f.surface
		fmt.Fprintf(&b, "\n%s, status %d:\n\n```json\n%s\n```\n", f.name, e.HTTPStatus(), e.Body())
	}
	b.WriteString("\nIn a stream that has begun an error is its last event, and the connection is broken after it:\n")
	for _, s := range []Surface{ChatCompletions, Responses, Messages} {
		e = CodeUpstreamTimeout.New("the upstream did not answer in time: idle_timeout")
		e.Surface, e.RequestID = s, "req_1f3a4bf0f04cc46aa10ce388aa88947e"
		fmt.Fprintf(&b, "\n```\n%s\n```\n", bytes.TrimSpace(e.Event()))
	}
	b.WriteString("\nWith `Accept: application/problem+json` errors are RFC 9457 problem details, with the type as `kind` and the rest of the members above beside `status`, `title` and `detail`. The official SDKs cannot read them.\n")
	isDocument(t, "errors.md", b.Bytes())
}

// orNone is how a code is written.
func orNone(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func TestCodesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for c := range numCodes {
		m := meanings[c]
		if seen[m.word] || m.status < 400 || m.status > 599 || m.kind == "" || m.when == "" || m.do == "" || c != CodeInvalid && m.word == "" {
			t.Errorf("code %d is not whole, or not the only one of its word: %+v", c, m)
		}
		seen[m.word] = true
		if m.again == AgainSoon && m.status < 408 {
			t.Errorf("%s: nobody may send again at once what was answered %d", m.word, m.status)
		}
	}
}

// SDKs, which would come back by themselves, are told where that is no use.
func TestCodesSayWhenToStay(t *testing.T) {
	for c, want := range map[Code]bool{
		CodeOverloaded: false, CodeUnavailable: false, CodeUpstreamError: false, CodeInternal: false,
		CodeUpstreamUnavailable: true, CodeUpstreamUnauthorized: true,
		CodeInvalid: false, // nobody comes back by itself after a 400
	} {
		if got := c.New("").NoRetry; got != want {
			t.Errorf("%s: %v, want %v", c, got, want)
		}
	}
	e := CodeOverloaded.New("")
	e.NoRetry = true // a retry beyond the budget
	if e.Become(CodeRateLimit); !e.NoRetry {
		t.Error("what was known of the one error is forgotten in the other")
	}
}

// The gateway says no code, status or type of an error but by the table, and
// everything in the table is said.
func TestErrorsAreMadeFromTheTable(t *testing.T) {
	used := map[string]bool{}
	for _, f := range sources(t, ".", "../../gateway") {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if strings.HasSuffix(f.text(n.Type), "wire.Error") && len(n.Elts) > 0 {
					t.Errorf("%s: make the error from a code: wire.CodeX.New(…)", f.place(n))
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					field, ok := left.(*ast.SelectorExpr)
					if ok && (field.Sel.Name == "Code" || field.Sel.Name == "Type") && i < len(n.Rhs) {
						if text, ok := n.Rhs[i].(*ast.BasicLit); ok && text.Kind == token.STRING {
							t.Errorf("%s: %s is no code of the table: use Become", f.place(n), text.Value)
						}
					}
				}
			case *ast.Ident:
				if filepath.Base(f.name) != "code.go" {
					used[n.Name] = true
				}
			}
			return true
		})
	}
	names := constants(t, "code.go", "Code")
	if len(names) != int(numCodes) {
		t.Fatalf("%d constants for %d codes", len(names), numCodes)
	}
	for _, name := range names {
		if !used[name] {
			t.Errorf("%s is never said: take it out of code.go", name)
		}
	}
}

// sourceFile is a file of the program, without its tests.
type sourceFile struct {
	name string
	ast  *ast.File
	set  *token.FileSet
	data []byte
}

func (f *sourceFile) place(n ast.Node) string { return f.set.Position(n.Pos()).String() }

func (f *sourceFile) text(n ast.Node) string {
	if n == nil {
		return ""
	}
	return string(f.data[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset])
}

func sources(t *testing.T, dirs ...string) (list []*sourceFile) {
	t.Helper()
	for _, dir := range dirs {
		names, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatal("no source in", dir, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f := &sourceFile{name: name, set: token.NewFileSet()}
			if f.data, err = os.ReadFile(name); err == nil {
				f.ast, err = source.ParseFile(f.set, name, f.data, source.SkipObjectResolution)
			}
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, f)
		}
	}
	return list
}

// constants are those of a file whose names begin with the prefix.
func constants(t *testing.T, file, prefix string) (names []string) {
	t.Helper()
	f, err := source.ParseFile(token.NewFileSet(), file, nil, source.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				for _, n := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(n.Name, prefix) {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
