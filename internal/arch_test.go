// Package internal_test keeps the architecture: which package may import
// which, what the core may not touch, and the form of packages.
package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/spillway-llm/spillway/"

// mayImport says what of the project the files of a package may import, by
// path.Match patterns of directories, from the first entry that fits. Arrows
// only point down: cmd, then gateway and sim, the edges, admit, and its pieces.
var mayImport = []struct {
	dir string
	may []string
}{
	{"cmd/*", []string{"internal/*", "internal/edge/*", "internal/core/*"}},
	{"bench/*", []string{"bench/child", "bench/table", "internal/*", "internal/edge/*", "internal/core/*"}},
	{"deploy", []string{"internal/gateway", "internal/ops", "internal/mock", "internal/edge/*", "internal/core/admit"}}, // tests alone
	{"internal/top", []string{"internal/operator", "internal/ops", "internal/gateway"}},
	{"internal/operator", []string{"internal/ops", "internal/gateway", "internal/edge/wire"}},
	{"internal/ops/console", nil}, // a page asks over HTTP, as anybody
	{"internal/ops", []string{"internal/ops/console", "internal/gateway", "internal/edge/*", "internal/core/admit"}},
	{"internal/gateway", []string{"internal/edge/*", "internal/core/*"}},
	{"internal/sim", []string{"internal/edge/config", "internal/core/*"}}, // never I/O
	{"internal/edge/claim", nil},
	{"internal/edge/store", []string{"internal/edge/claim", "internal/core/admit"}},
	{"internal/edge/upstream", []string{"internal/edge/wire", "internal/core/admit"}},
	{"internal/edge/*", []string{"internal/core/admit"}}, // and not each other
	{"internal/edge/store/*", []string{"internal/edge/store", "internal/core/admit"}},
	{"internal/core/admit", []string{"internal/core/meter", "internal/core/queue", "internal/core/breaker", "internal/core/predict", "internal/core/route"}},
	{"internal/core/breaker", []string{"internal/core/meter"}},
	{"internal/core/predict", []string{"internal/core/meter"}},
	{"internal/core/meter", nil},
	{"internal/core/queue", nil},
	{"internal/core/route", nil},
	{"internal/mock", nil}, // black boxes: they know the gateway by its surface
	{"internal/load", nil},
	{"internal", nil},
	{"client", nil},
}

// testsMayImport is what tests may import beside.
var testsMayImport = map[string][]string{
	"internal/gateway": {"internal/mock", "internal/load"},
}

// coreMayImport is the part of the standard library that is free of locks,
// goroutines, clocks and I/O, if not for the names in impure.
var coreMayImport = []string{
	"cmp", "container/*", "errors", "fmt", "iter", "maps", "math", "math/*", "math/rand/v2", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/*",
}

var impure = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick", "Local", "LoadLocation"},
	"fmt":  {"Print*", "Fprint*", "Scan*", "Fscan*"},
}

// seeded is what may be used of math/rand/v2: all else there is global.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "shared", "manager", "base"}

const mostLines = 500

// source is one Go file, by its path from the root of the module.
type source struct{ path, text string }

func (s source) dir() string  { return path.Dir(s.path) }
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func TestArchitecture(t *testing.T) {
	var files []source
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || len(d.Name()) > 2 && d.Name()[0] == '.') {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); d.IsDir() && name != ".." && err == nil {
			return filepath.SkipDir // a module of its own
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			files = append(files, source{filepath.ToSlash(name)[len("../"):], string(text)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files found: looked in the wrong place", len(files))
	}
	for _, v := range violations(files) {
		t.Error(v)
	}
}

// violations says what is against the rules, in order of the files.
func violations(files []source) (found []string) {
	comments := map[string]int{} // package comments by directory
	for _, f := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		report := func(n ast.Node, format string, args ...any) {
			found = append(found, fmt.Sprintf("%s: %s", set.Position(n.Pos()), fmt.Sprintf(format, args...)))
		}
		checkImports(f, file, report)
		if f.isTest() {
			continue
		}
		checkForm(f, file, report)
		if file.Doc != nil {
			comments[f.dir()]++
		} else {
			comments[f.dir()] += 0
		}
		if strings.HasPrefix(f.path, "internal/core/") {
			checkPurity(file, report)
		}
	}
	for dir, n := range comments {
		if n != 1 {
			found = append(found, fmt.Sprintf("%s: %d package comments, want one", dir, n))
		}
	}
	slices.Sort(found)
	return found
}

type reporter func(n ast.Node, format string, args ...any)

func checkImports(f source, file *ast.File, report reporter) {
	rule := slices.IndexFunc(mayImport, func(r struct {
		dir string
		may []string
	}) bool {
		return fits(f.dir(), r.dir)
	})
	if rule < 0 {
		report(file.Name, "%s has no place in the layout", f.dir())
		return
	}
	may := mayImport[rule].may
	if f.isTest() {
		may = append(slices.Clone(may), testsMayImport[f.dir()]...)
	}
	for _, i := range file.Imports {
		to, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
		if ours && to != f.dir() && !fits(to, may...) {
			report(i, "%s may not import %s", f.dir(), to)
		}
	}
}

func checkForm(f source, file *ast.File, report reporter) {
	if n := strings.Count(f.text, "\n"); n > mostLines {
		report(file.Name, "%d lines, at most %d: split by idea", n, mostLines)
	}
	if slices.Contains(vagueNames, file.Name.Name) {
		report(file.Name, "package %s says nothing of what it holds", file.Name.Name)
	}
	if file.Doc == nil {
		return
	}
	want := "Package " + file.Name.Name + " "
	command := file.Name.Name == "main" && strings.HasPrefix(file.Doc.Text(), "Command ")
	if !command && !strings.HasPrefix(file.Doc.Text(), want) {
		report(file.Name, "the package comment should begin with %q", want)
	}
}

// checkPurity refuses whatever waits, runs beside, or looks at the world.
func checkPurity(file *ast.File, report reporter) {
	names := map[string]string{} // local name -> import path
	for _, i := range file.Imports {
		to := strings.Trim(i.Path.Value, `"`)
		name := path.Base(to)
		if name == "v2" {
			name = path.Base(path.Dir(to))
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = to
		switch {
		case name == ".":
			report(i, "the core does not import into its own names")
		case !strings.HasPrefix(to, module) && !fits(to, coreMayImport...):
			report(i, "the core may not import %s", to)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "the core starts no goroutine")
		case *ast.SelectStmt:
			report(n, "the core does not wait (select)")
		case *ast.ChanType:
			report(n, "the core has no channels")
		case *ast.SendStmt:
			report(n, "the core does not send")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "the core does not receive")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			from, name := names[x.Name], n.Sel.Name
			if fits(name, impure[from]...) || strings.HasPrefix(from, "math/rand") && !slices.Contains(seeded, name) {
				report(n, "the core may not use %s.%s", from, name)
			}
		}
		return true
	})
}

func fits(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		if err != nil {
			panic(err)
		}
		return ok
	})
}

// TestPlanted shows that each rule catches what is against it.
func TestPlanted(t *testing.T) {
	const doc = "// Package p is.\n"
	for _, tt := range []struct {
		name, path, text string
		want             string // in the one violation; none: it is allowed
	}{
		{"core imports an edge", "internal/core/admit/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/edge/wire"`, "may not import internal/edge/wire"},
		{"a piece imports the controller", "internal/core/queue/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/core/admit"`, "may not import internal/core/admit"},
		{"queue imports meter", "internal/core/queue/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/core/meter"`, "may not import internal/core/meter"},
		{"predict imports meter", "internal/core/predict/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/core/meter"`, ""},
		{"an edge imports another", "internal/edge/config/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/edge/wire"`, "may not import internal/edge/wire"},
		{"the answers import wire", "internal/edge/answers/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/edge/wire"`, "may not import internal/edge/wire"},
		{"upstream imports wire", "internal/edge/upstream/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/edge/wire"`, ""},
		{"an edge imports a piece", "internal/edge/wire/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/core/queue"`, "may not import internal/core/queue"},
		{"an edge imports the gateway", "internal/edge/wire/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/gateway"`, "may not import internal/gateway"},
		{"the simulator imports I/O", "internal/sim/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/edge/upstream"`, "may not import internal/edge/upstream"},
		{"the gateway imports the mock", "internal/gateway/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/mock"`, "may not import internal/mock"},
		{"its tests do", "internal/gateway/x_test.go", `package p; import _ "github.com/spillway-llm/spillway/internal/mock"`, ""},
		{"the mock imports wire", "internal/mock/x_test.go", `package p; import _ "github.com/spillway-llm/spillway/internal/edge/wire"`, "may not import internal/edge/wire"},
		{"load imports the mock", "internal/load/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/mock"`, "may not import internal/mock"},
		{"the tests of deploy import the gateway", "deploy/x_test.go", `package p; import _ "github.com/spillway-llm/spillway/internal/gateway"`, ""},
		{"the gateway imports its operators", "internal/gateway/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/ops"`, "may not import internal/ops"},
		{"operators import the gateway", "internal/ops/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/gateway"`, ""},
		{"operators ask themselves", "internal/ops/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/operator"`, "may not import internal/operator"},
		{"a client of operators is asked by a screen", "internal/top/x.go", doc + `package p; import _ "github.com/spillway-llm/spillway/internal/operator"`, ""},
		{"a package nobody placed", "internal/stuff/x.go", doc + `package p`, "no place in the layout"},

		{"lock", "internal/core/admit/x.go", doc + `package p; import _ "sync"`, "may not import sync"},
		{"atomic", "internal/core/admit/x.go", doc + `package p; import _ "sync/atomic"`, "may not import sync/atomic"},
		{"context", "internal/core/admit/x.go", doc + `package p; import _ "context"`, "may not import context"},
		{"files", "internal/core/admit/x.go", doc + `package p; import _ "os"`, "may not import os"},
		{"network", "internal/core/admit/x.go", doc + `package p; import _ "net/http"`, "may not import net/http"},
		{"log", "internal/core/admit/x.go", doc + `package p; import _ "log/slog"`, "may not import log/slog"},
		{"a library", "internal/core/admit/x.go", doc + `package p; import _ "golang.org/x/time/rate"`, "may not import golang.org/x/time/rate"},
		{"a dot import", "internal/core/admit/x.go", doc + `package p; import . "time"`, "own names"},
		{"goroutine", "internal/core/admit/x.go", doc + `package p; func f() { go f() }`, "goroutine"},
		{"channel", "internal/core/admit/x.go", doc + `package p; type c chan int`, "no channels"},
		{"receive", "internal/core/admit/x.go", doc + `package p; func f() { <-g() }`, "does not receive"},
		{"send", "internal/core/admit/x.go", doc + `package p; func f() { g() <- 1 }`, "does not send"},
		{"select", "internal/core/admit/x.go", doc + `package p; func f() { select {} }`, "select"},
		{"clock", "internal/core/admit/x.go", doc + `package p; import "time"; var t = time.Now()`, "may not use time.Now"},
		{"clock, as a value", "internal/core/admit/x.go", doc + `package p; import "time"; var now = time.Now`, "may not use time.Now"},
		{"clock under another name", "internal/core/admit/x.go", doc + `package p; import clock "time"; var t = clock.Since(x)`, "may not use time.Since"},
		{"timer", "internal/core/admit/x.go", doc + `package p; import "time"; var t = time.NewTimer(1)`, "may not use time.NewTimer"},
		{"sleep", "internal/core/admit/x.go", doc + `package p; import "time"; func f() { time.Sleep(1) }`, "may not use time.Sleep"},
		{"printing", "internal/core/admit/x.go", doc + `package p; import "fmt"; func f() { fmt.Println() }`, "may not use fmt.Println"},
		{"global chance", "internal/core/admit/x.go", doc + `package p; import "math/rand/v2"; var n = rand.IntN(3)`, "may not use math/rand/v2.IntN"},
		{"old global chance", "internal/core/admit/x.go", doc + `package p; import "math/rand"; var n = rand.Intn(3)`, "may not use math/rand.Intn"},
		{"seeded chance", "internal/core/admit/x.go", doc + `package p; import "math/rand/v2"; var n = rand.New(rand.NewPCG(1, 2)).IntN(3)`, ""},
		{"time as a value", "internal/core/admit/x.go", doc + `package p; import "time"; var t = time.Unix(0, 0).Add(time.Second)`, ""},
		{"a test of the core", "internal/core/admit/x_test.go", `package p; import _ "os"; func f() { go f() }`, ""},
		{"the gateway may", "internal/gateway/x.go", doc + `package p; import "time"; func f() { go f(); time.Sleep(1) }`, ""},

		{"no package comment", "internal/gateway/x.go", `package p`, "0 package comments"},
		{"another beginning", "internal/gateway/x.go", "// This is p.\npackage p", `begin with "Package p "`},
		{"a command", "cmd/spillway/main.go", "// Command spillway is.\npackage main", ""},
		{"a vague name", "internal/gateway/x.go", "// Package util is.\npackage util", "says nothing"},
		{"too long", "internal/gateway/x.go", doc + "package p" + strings.Repeat("\n", 500), "501 lines"},
		{"long enough", "internal/gateway/x.go", doc + "package p" + strings.Repeat("\n", 499), ""},
		{"not Go", "internal/gateway/x.go", "pakcage p", "expected 'package'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := violations([]source{{tt.path, tt.text}})
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case tt.want != "" && (len(got) != 1 && tt.name != "old global chance" || !strings.Contains(strings.Join(got, "\n"), tt.want)):
				t.Errorf("got %q, want one with %q", got, tt.want)
			}
		})
	}
	two := []source{{"internal/gateway/a.go", doc + "package p"}, {"internal/gateway/b.go", doc + "package p"}}
	if got := violations(two); len(got) != 1 || !strings.Contains(got[0], "2 package comments") {
		t.Errorf("two package comments: %q", got)
	}
}
