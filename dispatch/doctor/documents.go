package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// proxy sends an invalid token to the platform's proxy, which should reject it.
func (c *checkup) proxy(ctx context.Context) Finding {
	if c.opts.ProxyBase == "" {
		return skipped("", "no proxy base is given")
	}
	err := proxy.Probe(ctx, c.opts.ProxyBase, &proxy.Options{AttemptTimeout: c.opts.Timeout, Transport: transportOr(c.opts.Transport)})
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

// toolsSchema checks the tools as the platform does at registration.
func (c *checkup) toolsSchema(ctx context.Context) Finding {
	if c.opts.ToolsSchema == nil {
		return skipped("", "no tools_schema is given")
	}
	tools, _, err := schema.Import(c.opts.ToolsSchema, schema.Platform)
	if err != nil {
		do := `Give {"tools_schema": […]} or the list alone.`
		if _, format, _ := schema.Import(c.opts.ToolsSchema, ""); format != "" && format != schema.Platform {
			do = fmt.Sprintf("This is a tool list in the format %q: convert it with schema.Import and schema.Export.", format)
		}
		f := failed(do, "this is not a tools_schema")
		f.Details = problems(err)
		return f
	}
	_, err = schema.Validate(ctx, tools, &schema.ValidateOptions{LedgerSchema: c.opts.LedgerSchema})
	if err != nil {
		f := failed("Correct the declarations; the Tools schema says what each member may be.", "the platform would refuse the tools")
		f.Details = problems(err)
		return f
	}
	if lint := schema.Lint(tools, &schema.ValidateOptions{LedgerSchema: c.opts.LedgerSchema}); len(lint) > 0 {
		f := warning("They are accepted as they are; better descriptions and schemas make the model call them rightly.",
			"valid: %s; %s may hurt", count(len(tools), "tool"), count(len(lint), "thing"))
		for _, w := range lint {
			f.Details = append(f.Details, fmt.Sprintf("%s [%s]", w, w.Code))
		}
		return f
	}
	return good("valid: %s", count(len(tools), "tool"))
}

// problems returns the problems of an error of package schema, one per line.
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

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
