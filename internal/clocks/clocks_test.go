// Package clocks holds the module's tests to what CONTRIBUTING says of time: the speed of the
// machine decides nothing.
package clocks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shortest is the least limit that a test may set to waiting in vain.
const shortest = time.Minute

// exempt are files that are not looked at.
var exempt = map[string]bool{
	"internal/httpserve/hostiletest/table.go": true, // Withhold is called in bubbles only
}

// TestNoTestDependsOnTheClock looks through the test files of all modules of the repository, and
// through internal/. It finds elapsed time that is held to an upper bound, and time.After, timers
// and read deadlines of less than a minute. In a bubble of testing/synctest both are fine. Lower
// bounds are fine everywhere, and exact times too: outside of bubbles they cannot be met.
func TestNoTestDependsOnTheClock(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".git")) {
			return filepath.SkipDir
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../")))
		helper := strings.HasPrefix(name, "internal/") && strings.HasSuffix(name, ".go") // some are for tests; none keeps time
		if !helper && !strings.HasSuffix(name, "_test.go") || exempt[name] {
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, f := range find(set, file) {
			t.Error(f)
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestFind(t *testing.T) {
	for body, want := range map[string]string{
		`if took := time.Since(start); took > 2*time.Second { }`:                         "4 elapsed",
		"took := time.Since(start)\nif limit := x; failed || took >= limit { }":          "5 elapsed",
		"took := end.Sub(start)\nt.Log(took)\nif 5*time.Second < took { }":               "6 elapsed",
		`for 5 <= time.Now().Sub(start) { }`:                                             "4 elapsed",
		`if took := time.Since(start); took != time.Second { }`:                          "",
		`if total := a.Sub(b); func() bool { total, n := 1, 2; return total > n }() { }`: "",
		`if got.status != 1 || time.Since(start) > limit { }`:                            "4 elapsed",
		`if took := time.Since(start).Seconds(); took > 2 { }`:                           "4 elapsed",
		`if time.Now().After(deadline) { }`:                                              "4 elapsed",
		`if time.Since(start) < 2*time.Second { }`:                                       "",
		`if 2*time.Second > time.Since(start) { }`:                                       "",
		`for time.Now().Before(end) { }`:                                                 "",
		`took := time.Since(start); b.ReportMetric(took.Seconds(), "s")`:                 "",
		`if took > 2 { }`: "",
		`synctest.Test(t, func(t *testing.T) { if time.Since(start) != 0 { }; <-time.After(1) })`: "",
		`select { case <-done: case <-time.After(10 * time.Second): }`:                            "4 limit",
		`time.After(30*time.Millisecond)`:                                                         "4 limit",
		`time.After(2*time.Minute)`:                                                               "",
		`time.After(wait)`:                                                                        "",
		`conn.SetReadDeadline(time.Now().Add(20 * time.Second))`:                                  "4 limit",
		`conn.SetDeadline(time.Now().Add(5 * time.Minute))`:                                       "",
		`timer := time.NewTimer(time.Second)`:                                                     "4 limit",
		`for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); { }`:      "4 limit",
		`for end := time.Now().Add(10 * time.Minute); !ready() && time.Now().Before(end); { }`:    "",
		`event("in the future", time.Now().Add(time.Second))`:                                     "",
		"func() { took := time.Since(start) }()\nfunc(took int) { if took > 1 { } }(1)":           "",
		`t.Run("a", func(t *testing.T) { took := time.Since(start); if took > time.Second { } })`: "4 elapsed",
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n"+body+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		var got []string
		for _, f := range find(set, file) {
			got = append(got, strconv.Itoa(f.at.Line)+" "+f.kind)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\ngives %q, want %q", body, got, want)
		}
	}
}

// finding is a place where a test depends on the clock.
type finding struct {
	at   token.Position
	kind string
}

func (f finding) String() string {
	advice := map[string]string{
		"elapsed": "elapsed time has an upper bound; count steps, allocations or requests, or use testing/synctest",
		"limit":   "a busy machine may need longer; wait for an event, for minutes at most, or use testing/synctest",
	}
	return fmt.Sprintf("%s: %s", f.at, advice[f.kind])
}

// find lists what is wrong in a file, in the order of the text.
func find(set *token.FileSet, file *ast.File) []finding {
	var found []finding
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			c := checker{set: set, elapsed: map[string]bool{}}
			c.look(f.Body)
			found = append(found, c.found...)
		}
	}
	return found
}

// checker looks through one function.
type checker struct {
	set     *token.FileSet
	elapsed map[string]bool // variables with elapsed time
	found   []finding
}

func (c *checker) look(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			inner := checker{set: c.set, elapsed: map[string]bool{}}
			maps.Copy(inner.elapsed, c.elapsed)
			for _, field := range n.Type.Params.List {
				for _, name := range field.Names {
					delete(inner.elapsed, name.Name)
				}
			}
			inner.look(n.Body)
			c.found = append(c.found, inner.found...)
			return false
		case *ast.CallExpr:
			switch name := called(n); {
			case name == "synctest.Test":
				return false
			case (name == "time.After" || name == "time.NewTimer" || name == "time.Tick") && c.short(n.Args):
				c.add(n, "limit")
			case strings.HasSuffix(name, ".SetReadDeadline") || strings.HasSuffix(name, ".SetDeadline"):
				if call, ok := n.Args[0].(*ast.CallExpr); ok && c.soon(call) {
					c.add(n, "limit")
				}
			case strings.HasSuffix(name, ".After") && strings.HasPrefix(name, "time.Now()."):
				c.add(n, "elapsed")
			}
		case *ast.ForStmt: // for end := time.Now().Add(limit); …
			if init, ok := n.Init.(*ast.AssignStmt); ok {
				if call, ok := init.Rhs[0].(*ast.CallExpr); ok && c.soon(call) {
					c.add(n, "limit")
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
					c.elapsed[name.Name] = c.isElapsed(n.Rhs[i])
				}
			}
		case *ast.BinaryExpr:
			left, right := c.isElapsed(n.X), c.isElapsed(n.Y)
			switch n.Op {
			case token.GTR, token.GEQ:
				if left {
					c.add(n, "elapsed")
				}
			case token.LSS, token.LEQ:
				if right {
					c.add(n, "elapsed")
				}
			}
		}
		return true
	})
}

func (c *checker) add(n ast.Node, kind string) {
	c.found = append(c.found, finding{c.set.Position(n.Pos()), kind})
}

// called is the function of a call as it is written, so far as it is a chain of names and calls.
func called(call *ast.CallExpr) string {
	var name func(ast.Expr) string
	name = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return name(e.X) + "." + e.Sel.Name
		case *ast.CallExpr:
			return name(e.Fun) + "()"
		}
		return "?"
	}
	return name(call.Fun)
}

// isElapsed reports whether an expression is a time that has passed.
func (c *checker) isElapsed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return c.elapsed[e.Name]
	case *ast.ParenExpr:
		return c.isElapsed(e.X)
	case *ast.CallExpr:
		name := called(e)
		if name == "time.Since" || strings.HasSuffix(name, ".Sub") && len(e.Args) == 1 {
			return true
		}
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && len(e.Args) <= 1 { // took.Seconds(), time.Since(start).Round(x)
			return c.isElapsed(s.X)
		}
	}
	return false
}

// soon reports whether a call is time.Now().Add(limit) with a short limit.
func (c *checker) soon(call *ast.CallExpr) bool {
	return called(call) == "time.Now().Add" && c.short(call.Args)
}

// short reports whether the first argument is a constant limit that is too short. A negative limit
// is not one.
func (c *checker) short(args []ast.Expr) bool {
	if len(args) == 0 {
		return false
	}
	limit, ok := constant(args[0])
	return ok && limit >= 0 && limit < shortest
}

// constant evaluates durations as they are written in tests: 5 * time.Second, time.Minute, 10.
func constant(e ast.Expr) (time.Duration, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.ParseInt(strings.ReplaceAll(e.Value, "_", ""), 10, 64)
		return time.Duration(n), err == nil
	case *ast.SelectorExpr:
		unit, ok := map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
			"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}[e.Sel.Name]
		return unit, ok
	case *ast.BinaryExpr:
		x, ok := constant(e.X)
		y, also := constant(e.Y)
		return x * y, ok && also && e.Op == token.MUL
	}
	return 0, false
}
