// Command localtools runs an agent whose tools are programs on this machine, declared in a
// tools.json. It first builds the two programs in a temporary folder. Run it inside the module:
//
//	go run ./examples/localtools
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/proxy"
)

//go:embed tools.json
var document []byte

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "localtools")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir); err != nil {
		return err
	}
	audit, err := manifest.AuditLog(filepath.Join(dir, "audit"), nil)
	if err != nil {
		return err
	}
	m, err := manifest.Parse(document, &manifest.Options{Dir: dir, Audit: audit})
	if err != nil {
		return err
	}
	if err := m.CheckPrograms(); err != nil {
		return err
	}
	if err := agent(ctx, m, w); err != nil {
		return err
	}
	return turn(ctx, m, w)
}

// build builds the tools in the folder where the manifest expects them. On Windows, go build and
// the manifest both add .exe.
func build(ctx context.Context, dir string) error {
	bin := filepath.Join(dir, "tools", "bin") + string(filepath.Separator)
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	const tools = "github.com/toolwire/toolwire/examples/localtools/tools/"
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, tools+"add_days", tools+"count_words").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the tools: %w\n%s", err, out)
	}
	return nil
}

// agent calls two tools. A real agent would ask a model what to call.
func agent(ctx context.Context, tools toolwire.ToolCaller, w io.Writer) error {
	due, err := tools.CallForModel(ctx, "add_days", map[string]any{"date": "2028-02-27", "days": 3})
	if err != nil {
		return err
	}
	length, err := tools.CallForModel(ctx, "count_words", map[string]any{"text": "The refund is on its way."})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "due %s, text %s\n", due.Text, length.Text)
	return nil
}

// A call is what a model asks for.
type call struct{ id, tool, arguments string }

// turn runs all calls of one turn of a model and prints the results in order, with the failures.
func turn(ctx context.Context, tools toolwire.ToolCaller, w io.Writer) error {
	results, err := proxy.Each(ctx, []call{
		{"call_1", "add_days", `{"date":"2026-12-31","days":1}`},
		{"call_2", "add_days", `{"date":"tomorrow","days":1}`},
		{"call_3", "add_days", `{"date":"2026-12-31"}`},
		{"call_4", "send_mail", ``},
	}, func(ctx context.Context, c call) (string, error) {
		result, err := tools.CallForModel(proxy.WithCallID(ctx, c.id), c.tool, c.arguments)
		return c.id + " " + result.Text, err
	})
	for _, line := range results {
		fmt.Fprintln(w, line)
	}
	return err
}
