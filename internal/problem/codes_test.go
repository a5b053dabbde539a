package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

const (
	base = "https://api.example.com"
	key  = "key"
)

// clients send one request each through a transport, and return the code of the error. Each has a time
// limit of its own, which is longer than the deadline of the test's context.
func clients(t *testing.T, transport http.RoundTripper) map[string]func(ctx context.Context) string {
	t.Helper()
	limit := time.Minute
	p, err := proxy.New(base, key, &proxy.Options{Transport: transport, AttemptTimeout: limit, MaxAttempts: 1})
	r, registrationErr := registration.NewClient(base, key, &registration.Options{Transport: transport})
	c, catalogErr := catalog.NewClient(base, key,
		&catalog.ClientOptions{Transport: transport, Timeout: limit, MaxAttempts: 1, MaxResponseBytes: 1 << 20})
	listing, listingErr := toolbox.NewClient(key, &toolbox.ClientOptions{Transport: transport})
	box, boxErr := toolbox.Parse([]byte(`[{"name":"check","url":"`+base+`"}]`), &toolbox.Options{
		Transport: transport, Timeout: limit, Secret: key, Agent: toolbox.Agent{ID: "11111111-2222-4333-8444-555555555555"},
	})
	if err := errors.Join(err, registrationErr, catalogErr, listingErr, boxErr); err != nil {
		t.Fatal(err)
	}
	agent := &registration.Registration{Name: "a", EndpointURL: "https://agent.example.com/", Tools: []schema.Tool{
		{Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`)}}}
	return map[string]func(ctx context.Context) string{
		"proxy": func(ctx context.Context) string {
			_, err := p.Do(ctx, "get_order", nil)
			return string(toolwire.CodeOf(err))
		},
		"registration": func(ctx context.Context) string {
			_, err := r.Create(ctx, agent)
			return string(toolwire.CodeOf(err))
		},
		"catalog": func(ctx context.Context) string {
			_, err := c.Get(ctx, "11111111-2222-4333-8444-555555555555")
			return string(toolwire.CodeOf(err))
		},
		"toolbox, a list": func(ctx context.Context) string {
			_, err := listing.Tools(ctx, "")
			return string(toolwire.CodeOf(err))
		},
		"toolbox, a webhook": func(ctx context.Context) string {
			_, err := box.Call(ctx, "check", nil)
			return string(toolwire.CodeOf(err))
		},
	}
}

// answer makes a body for each request.
func answer(status int, body func() io.Reader) http.RoundTripper {
	return testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
			Body: io.NopCloser(body()), ContentLength: -1, Request: r}, nil
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// One failure has one code in all clients.
func TestClientsAgreeOnCodes(t *testing.T) {
	hang := testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	refused := testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	})
	own := map[string]string{"proxy": "run_over"} // a 401 of the proxy ends the run
	for _, row := range []struct {
		name      string
		transport func() http.RoundTripper
		context   func(context.Context) (context.Context, context.CancelFunc)
		want      string
		except    map[string]string
	}{
		{name: "canceled before", transport: func() http.RoundTripper { return hang }, want: "canceled",
			context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			}},
		{name: "canceled meanwhile", transport: func() http.RoundTripper { return hang }, want: "canceled",
			context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				stop := time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
				return ctx, func() { stop.Stop(); cancel(nil) }
			}},
		{name: "the caller's deadline", transport: func() http.RoundTripper { return hang }, want: "deadline",
			context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Second)
			}},
		{name: "the caller's deadline with a cause", transport: func() http.RoundTripper { return hang }, want: "deadline",
			context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, time.Second, errors.New("the budget is used up"))
			}},
		{name: "the caller's deadline with a cancellation as its cause", transport: func() http.RoundTripper { return hang },
			want: "deadline", context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, time.Second, context.Canceled)
			}},
		{name: "canceled with a deadline as its cause", transport: func() http.RoundTripper { return hang }, want: "canceled",
			context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				stop := time.AfterFunc(time.Second, func() { cancel(context.DeadlineExceeded) })
				return ctx, func() { stop.Stop(); cancel(nil) }
			}},
		{name: "the limit of the client", transport: func() http.RoundTripper { return hang }, want: "timeout"},
		{name: "no connection", transport: func() http.RoundTripper { return refused }, want: "transport"},
		{name: "a body without end", transport: func() http.RoundTripper { return answer(200, func() io.Reader { return endless{} }) },
			want: "response_too_large"},
		{name: "no JSON", transport: func() http.RoundTripper { return answer(200, func() io.Reader { return strings.NewReader("<html>") }) },
			want: "bad_response"},
		{name: "401", transport: status(401), want: "unauthorized", except: own},
		{name: "403", transport: status(403), want: "forbidden", except: map[string]string{"proxy": "refused"}},
		{name: "404", transport: status(404), want: "not_found"},
		{name: "413", transport: status(413), want: "request_too_large"},
		{name: "418", transport: status(418), want: "refused"},
		{name: "429", transport: status(429), want: "rate_limited"},
		{name: "500", transport: status(500), want: "server_error"},
		{name: "504", transport: status(504), want: "server_error"},
		{name: "302", transport: status(302), want: "unexpected_status"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for name, call := range clients(t, row.transport()) {
					ctx := t.Context()
					if row.context != nil {
						var end context.CancelFunc
						ctx, end = row.context(ctx)
						defer end()
					}
					want := row.want
					if other, ok := row.except[name]; ok {
						want = other
					}
					if got := call(ctx); got != want {
						t.Errorf("%s: code %q, want %q", name, got, want)
					}
				}
				time.Sleep(time.Hour) // timers end
			})
		})
	}
}

func status(code int) func() http.RoundTripper {
	return func() http.RoundTripper { return answer(code, func() io.Reader { return strings.NewReader(`{}`) }) }
}

// Programs of a manifest fail with the codes of the clients.
func TestProgramsAgreeWithClients(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts of a shell")
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	load := func(script string, o *manifest.Options) *manifest.Manifest {
		document, _ := json.Marshal(map[string]any{"tools": []any{map[string]any{"name": "run", "command": []string{shell, "-c", script}}}})
		m, err := manifest.Parse(document, o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer end()
	for _, row := range []struct {
		name, script string
		ctx          context.Context
		options      *manifest.Options
		want         toolwire.Code
	}{
		{"canceled", "sleep 60", canceled, nil, "canceled"},
		{"the caller's deadline", "sleep 60", late, nil, "deadline"},
		{"the limit of the options", "sleep 60", t.Context(), &manifest.Options{Timeout: time.Millisecond}, "timeout"},
		{"too much output", "echo 123456789", t.Context(), &manifest.Options{MaxStdout: 4}, "response_too_large"},
		{"no JSON", "echo hello", t.Context(), nil, "bad_response"},
	} {
		_, err := load(row.script, row.options).Call(row.ctx, "run", nil)
		if got := toolwire.CodeOf(err); got != row.want {
			t.Errorf("%s: code %q, want %q: %v", row.name, got, row.want, err)
		}
	}
}

// Every constructor rejects options with the same code.
func TestConstructorsAgreeOnInvalidOptions(t *testing.T) {
	for name, construct := range map[string]func() string{
		"proxy": func() string { _, err := proxy.New("", "", nil); return string(toolwire.CodeOf(err)) },
		"registration": func() string {
			_, err := registration.NewClient("", "", nil)
			return string(toolwire.CodeOf(err))
		},
		"catalog": func() string { _, err := catalog.NewClient("", "", nil); return string(toolwire.CodeOf(err)) },
		"toolbox": func() string {
			_, err := toolbox.Parse([]byte(`[]`), &toolbox.Options{Timeout: -1})
			return string(toolwire.CodeOf(err))
		},
		"toolbox, client": func() string { _, err := toolbox.NewClient("", nil); return string(toolwire.CodeOf(err)) },
		"manifest": func() string {
			_, err := manifest.Parse([]byte(`{"tools":[]}`), &manifest.Options{Timeout: -1})
			return string(toolwire.CodeOf(err))
		},
		"dispatch": func() string { _, err := dispatch.New(nil, nil); return string(toolwire.CodeOf(err)) },
		"webhook":  func() string { _, err := webhook.New(nil, nil); return string(toolwire.CodeOf(err)) },
		"cassette": func() string { _, err := cassette.New("", nil); return string(toolwire.CodeOf(err)) },
	} {
		if got := construct(); got != "invalid_options" {
			t.Errorf("%s: code %q", name, got)
		}
	}
}

// eachSource calls do with every source of a public package and the package's name, which is "" for the root.
func eachSource(t *testing.T, do func(name string, source []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"internal", "examples", "testdata", ".git"}, entry.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		name := ""
		if dir := filepath.Dir(path); dir != filepath.Clean(root) {
			name = filepath.Base(dir)
		}
		do(name, source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sections returns the section about codes of each package comment.
func sections(t *testing.T) map[string]string {
	t.Helper()
	found, section := map[string]string{}, regexp.MustCompile(`(?s)\n// # Codes of errors\n(.*?)\n(?:// # |package )`)
	eachSource(t, func(name string, source []byte) {
		if part := section.FindSubmatch(source); part != nil && name != "" {
			found[name] = string(part[1])
		}
	})
	return found
}

// declared returns the packages of each code, which their comments list.
func declared(t *testing.T) map[string][]string {
	t.Helper()
	codes, listed := map[string][]string{}, regexp.MustCompile(`(?m)^//\t([a-z_]+)  `)
	for name, section := range sections(t) {
		for _, m := range listed.FindAllStringSubmatch(section, -1) {
			codes[m[1]] = append(codes[m[1]], name)
		}
	}
	if len(codes) < 70 {
		t.Fatalf("%d codes", len(codes))
	}
	return codes
}

const root = "../.."

// made returns the codes that the sources of each public package make: constants of type toolwire.Code,
// codes of package toolwire that are not compared with, and texts in errors. It does not see what
// internal packages make for them. A package without a composite literal of an error makes none.
func made(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text := func(e ast.Expr) string {
		literal, _ := e.(*ast.BasicLit)
		if literal == nil {
			return ""
		}
		s, _ := strconv.Unquote(literal.Value)
		return s
	}
	isNamed := func(e ast.Expr, name string) bool {
		if of, ok := e.(*ast.SelectorExpr); ok {
			return of.Sel.Name == name && fmt.Sprint(of.X) == "toolwire"
		}
		return fmt.Sprint(e) == name
	}
	constants, packages, fails := map[string]string{}, map[string]map[string]bool{}, map[string]bool{}
	eachSource(t, func(name string, source []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		codes := packages[name]
		if codes == nil {
			codes = map[string]bool{}
			packages[name] = codes
		}
		var look func(ast.Node) bool
		look = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, value := range n.Values {
					switch code := text(value); {
					case code == "" || !isNamed(n.Type, "Code"):
					case name == "":
						constants[n.Names[i].Name] = code
					default:
						codes[code] = true
					}
				}
			case *ast.BinaryExpr:
				return n.Op != token.EQL && n.Op != token.NEQ // a comparison
			case *ast.CaseClause:
				for _, statement := range n.Body {
					ast.Inspect(statement, look)
				}
				return false
			case *ast.CompositeLit:
				if isNamed(n.Type, "Error") {
					fails[name] = true
					for _, element := range n.Elts {
						if member, ok := element.(*ast.KeyValueExpr); ok && fmt.Sprint(member.Key) == "Code" && text(member.Value) != "" {
							codes[text(member.Value)] = true
						}
					}
				}
			case *ast.SelectorExpr:
				if strings.HasPrefix(n.Sel.Name, "Code") && isNamed(n, n.Sel.Name) {
					codes[n.Sel.Name] = true
				}
			}
			return true
		}
		ast.Inspect(file, look)
	})
	for name, codes := range packages {
		for code := range codes {
			if value := constants[code]; value != "" {
				codes[value] = true
			}
			if strings.HasPrefix(code, "Code") {
				delete(codes, code)
			}
		}
		if !fails[name] {
			delete(packages, name)
		}
	}
	return packages
}

// The comment of a package names every code that its sources make.
func TestCodesAreListed(t *testing.T) {
	listed, n := sections(t), 0
	for name, codes := range made(t) {
		for code := range codes {
			if n++; !regexp.MustCompile(`\b` + code + `\b`).MatchString(listed[name]) {
				t.Errorf("package %s makes the code %s; its comment does not have it under Codes of errors", name, code)
			}
		}
	}
	if n < 120 {
		t.Errorf("%d codes", n)
	}
}

// The tables of codes list every code with its packages.
func TestTableOfCodes(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## An error has a code\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string][]string{} // packages by code
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `(.*?)` \\|").FindAllStringSubmatch(section, -1) {
		listed[row[1]] = strings.Split(row[2], "`, `")
	}
	for _, row := range regexp.MustCompile("(?m)^\\| \\[`([a-z]+)`\\].*? \\| `(.*?)` \\|").FindAllStringSubmatch(section, -1) {
		for code := range strings.SplitSeq(row[2], "`, `") {
			listed[code] = append(listed[code], row[1])
		}
	}
	for code, packages := range declared(t) {
		slices.Sort(packages)
		if !slices.Equal(listed[code], packages) {
			t.Errorf("the tables list %s of %q, want %q", code, listed[code], packages)
		}
		delete(listed, code)
	}
	if len(listed) > 0 {
		t.Errorf("the tables list %v, which no package has", listed)
	}
	source, err := os.ReadFile(root + "/code.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := regexp.MustCompile(`(?m)^\tCode\w+ +Code = "(\w+)"`).FindAllSubmatch(source, -1)
	for _, m := range constants {
		if codes := declared(t); codes[string(m[1])] == nil {
			t.Errorf("no package has the code %s of package toolwire", m[1])
		}
	}
	if len(constants) < 30 {
		t.Errorf("%d constants", len(constants))
	}
}

// For each code, these fields of the error of a call are what the model reads. Of a code without a row
// it reads none: only the operator can mend the failure, and its texts may have paths and addresses.
func TestWhatAModelReadsForEveryCode(t *testing.T) {
	const call, words = "Message, Detail", "Message"
	shown := map[string]map[string]string{
		"proxy": {
			"invalid_arguments": "Detail", "invalid_tool_name": "Detail", "request_too_large": "Detail", "unknown_tool": "Tool",
		},
		"toolbox": {
			"unknown_tool": "Tool", "invalid_arguments": call, "tool_failed": call, "tool_panicked": call, "busy": call, "canceled": call,
			"deadline": call, "timeout": call, "transport": call, "response_too_large": call, "bad_response": call,
			"unauthorized": call, "forbidden": call, "not_found": call, "conflict": call, "request_too_large": call, "rejected": call,
			"rate_limited": call, "refused": call, "server_error": call, "unexpected_status": call,
		},
		"manifest": {
			"unknown_tool": words, "invalid_arguments": words, "program_unavailable": words, "canceled": words, "deadline": words,
			"timeout": words, "exit_status": words, "killed_by_signal": words, "response_too_large": words, "bad_response": words,
			"tool_failed": words,
		},
	}
	cause, common := errors.New("(Err)"), toolwire.Problem{Message: "(Problem)"}
	results := map[string]func(code string) json.RawMessage{
		"proxy": func(code string) json.RawMessage {
			return (&proxy.Error{Code: toolwire.Code(code), Tool: "(Tool)", Detail: "(Detail)", Err: cause}).ToolResult()
		},
		"toolbox": func(code string) json.RawMessage {
			return (&toolbox.Error{Code: toolwire.Code(code), Tool: "(Tool)", Message: "(Message)", Detail: "(Detail)", Err: cause,
				Problems: []toolwire.Problem{toolwire.Problem(common)}}).ToolResult()
		},
		"manifest": func(code string) json.RawMessage {
			return (&manifest.Error{Code: toolwire.Code(code), Tool: "(Tool)", Message: "(Message)", Err: cause,
				Problems: []manifest.Problem{{Message: "(Problem)"}}}).ToolResult()
		},
	}
	codes := declared(t)
	codes[""], codes["of_a_later_release"] = slices.Sorted(maps.Keys(results)), slices.Sorted(maps.Keys(results))
	for code, packages := range codes {
		for _, pkg := range packages {
			result, ok := results[pkg]
			if !ok {
				continue
			}
			got := []string{}
			for _, field := range []string{"Tool", "Message", "Detail", "Err", "Problem"} {
				if strings.Contains(string(result(code)), "("+field+")") {
					got = append(got, field)
				}
			}
			if got := strings.Join(got, ", "); got != shown[pkg][code] {
				t.Errorf("%s, %q: a model reads %q of the error, want %q: %s", pkg, code, got, shown[pkg][code], result(code))
			}
			delete(shown[pkg], code)
		}
	}
	for pkg, left := range shown {
		if len(left) > 0 {
			t.Errorf("%s has no codes %v", pkg, left)
		}
	}
}
