package dispatchtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// proxy asks the platform's proxy to refuse a token that is none.
func (c *checkup) proxy(ctx context.Context) Finding {
	if c.opts.ProxyBase == "" {
		return skipped("", "no proxy base is given")
	}
	opts := &proxy.Options{AttemptTimeout: c.opts.Timeout, Transport: c.opts.Transport}
	if opts.Transport == nil {
		t := proxy.NewTransport()
		t.DisableKeepAlives = true
		opts.Transport = t
	}
	err := proxy.Probe(ctx, c.opts.ProxyBase, opts)
	e, _ := errors.AsType[*proxy.Error](err)
	switch {
	case err == nil:
		return good("the proxy refuses a fake token with 401, as it should")
	case e != nil && e.Status != 0:
		return failed("Compare the proxy base with the one that runs are given, without its last part /runs/…: what answers there "+
			"should refuse a fake token with 401.", "%v", err)
	}
	return failed("Let this machine out to the proxy's host: name resolution, firewall, an HTTP proxy that is needed?", "%v", err)
}

// tools judges the tools as the platform would at registration.
func (c *checkup) tools(ctx context.Context) Finding {
	tools := c.opts.Tools
	switch {
	case c.opts.ToolsJSON != nil:
		var err error
		if tools, _, err = schema.Import(c.opts.ToolsJSON, schema.Platform); err != nil {
			do := `Give {"tools_schema": […]} or the list alone.`
			if _, format, _ := schema.Import(c.opts.ToolsJSON, ""); format != "" && format != schema.Platform {
				do = fmt.Sprintf("This is a tool list in the format %q: convert it with schema.Import and schema.Export.", format)
			}
			f := failed(do, "this is no tools_schema")
			f.Details = problems(err)
			return f
		}
	case tools == nil:
		return skipped("", "no tools_schema is given")
	}
	err := schema.Validate(ctx, tools, &schema.ValidateOptions{LedgerSchema: c.opts.LedgerSchema})
	if err != nil {
		f := failed("Correct the declarations; the Tools schema says what each member may be.", "the platform would refuse the tools")
		f.Details = problems(err)
		return f
	}
	if lint := schema.Lint(tools); len(lint) > 0 {
		f := warning("They are accepted as they are; better descriptions and schemas make the model call them rightly.",
			"valid: %s; %s may hurt", count(len(tools), "tool"), count(len(lint), "thing"))
		for _, w := range lint {
			f.Details = append(f.Details, fmt.Sprintf("%s [%s]", w, w.Code))
		}
		return f
	}
	return good("valid: %s", count(len(tools), "tool"))
}

// problems are the lines of an error of package schema.
func problems(err error) (lines []string) {
	e, ok := errors.AsType[*schema.Error](err)
	if !ok {
		return []string{err.Error()}
	}
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return lines
}

// manifest loads the manifest and looks for its programs.
func (c *checkup) manifest(context.Context) Finding {
	if c.opts.Manifest == "" {
		return skipped("", "no manifest is given")
	}
	m, err := manifest.Load(c.opts.Manifest, nil)
	if err != nil {
		return manifestFailure("it cannot be loaded", "Correct the manifest; the tools manifest says what each member may be.", err)
	}
	if err := m.CheckPrograms(); err != nil {
		return manifestFailure("programs are missing or cannot be executed",
			"Build the programs, or correct command: relative ones begin with ./tools/bin/ and are looked for beside the manifest.", err)
	}
	if lint := m.Lint(); len(lint) > 0 {
		f := warning("It loads as it is; see whether this is meant.", "%s; %s to look at", count(len(m.Tools()), "tool"), count(len(lint), "thing"))
		for _, p := range lint {
			f.Details = append(f.Details, p.Message)
		}
		return f
	}
	return good("%s, with their programs", count(len(m.Tools()), "tool"))
}

func manifestFailure(seen, do string, err error) Finding {
	f := failed(do, "%s", seen)
	if e, ok := errors.AsType[*manifest.Error](err); ok && len(e.Problems) > 0 {
		for _, p := range e.Problems {
			f.Details = append(f.Details, p.Message)
		}
		return f
	}
	f.Details = []string{err.Error()}
	return f
}

// dataset reads the dataset.
func (c *checkup) dataset(context.Context) Finding {
	if c.opts.Dataset == nil {
		return skipped("", "no dataset is given")
	}
	set, err := ReadDataset(c.opts.Dataset, nil)
	if err != nil {
		f := failed("Correct the cells named. The columns are user, behavior, state, failure_rules and expected_outcome; only user is "+
			"required.", "the platform would refuse the dataset, or take it for something else")
		if e, ok := errors.AsType[*DatasetError](err); ok {
			for _, p := range e.Problems {
				f.Details = append(f.Details, p.String())
			}
			if e.More > 0 {
				f.Details = append(f.Details, fmt.Sprintf("%d more problems", e.More))
			}
		}
		return f
	}
	return good("%s, columns %s", count(len(set.Rows), "row"), strings.Join(set.Columns, ", "))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
