package proxytest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/observe"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// show writes a line to the output of the test that dispatched the run, or else to
// the output of the platform's test.
func (p *Platform) show(ctx context.Context, line string) {
	if show := observe.From[observe.Show](ctx); show != nil {
		show(line)
	} else if p.output != nil {
		_, _ = io.WriteString(p.output, "proxytest: "+bounded.Paragraph(line, maxFault)+"\n")
	}
}

// showRefused shows a request that got no result.
func (p *Platform) showRefused(ctx context.Context, call Call) {
	answer := "no answer"
	if call.Status != 0 {
		answer = strings.TrimSpace(fmt.Sprintf("%d %s", call.Status, call.ErrorClass))
	}
	parts := slices.DeleteFunc([]string{call.Actor, call.Tool, answer, call.Reason}, func(part string) bool { return part == "" })
	p.show(ctx, "the proxy refused "+strings.Join(parts, ": ")+"\n")
}

// showing shows the waits of a client.
func (p *Platform) showing() *proxy.Observer {
	return &proxy.Observer{WaitStart: func(ctx context.Context, wait proxy.WaitInfo) {
		p.show(ctx, testkit.WaitLine(wait.Name, wait.Expected, testkit.WaitReason(wait.Reason(), wait.Err == nil)))
	}}
}
