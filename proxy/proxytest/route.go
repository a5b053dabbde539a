package proxytest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy"
)

// A route is what the path of a request names.
type route struct {
	plane string // tools, traces, telemetry, data or context; "" for any other path
	name  string // of the tool, or type of the trace event; otherwise the path after the base
	run   string // the id in a base that ends in /runs/{id}; "" for any other base
}

// routeOf returns the route of a path.
func routeOf(path string) (r route) {
	segments := strings.Split(path, "/")
	last := len(segments) - 1
	is := func(i int, names ...string) bool { return i > 0 && slices.Contains(names, segments[i]) }
	at := last // of the plane
	switch {
	case segments[last] == "":
		return route{}
	case is(last-1, "tools", "traces"):
		at = last - 1
	case is(last, "telemetry"):
	default: // data and context may have paths of their own
		for at > 0 && !is(at, "data", "context") {
			at--
		}
	}
	if at == 0 {
		return route{}
	}
	r = route{plane: segments[at], name: strings.Join(segments[at:], "/")}
	if is(at, "tools", "traces") {
		r.name = segments[last]
	}
	if is(at-2, "runs") {
		r.run = segments[at-1]
	}
	return r
}

// ServeHTTP implements http.Handler for POST {base}/tools/{name} and POST {base}/traces/{type},
// where base is any path. The token identifies the run. A base that ends in /runs/{id} with the id
// of another run is refused with 401, and is a fault: the agent has kept the proxy URL of an
// earlier dispatch.
//
// Of later releases of the platform, POST {base}/telemetry is accepted and logged. {base}/data and
// {base}/context are refused with 404 and logged, because their format is not documented.
func (p *Platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := routeOf(r.URL.Path)
	refuse := func(status int, class, message string) {
		httpserve.LeaveBody(w, r)
		p.showRefused(r.Context(), Call{Tool: r.Method + " " + r.URL.Path, Status: status, ErrorClass: class,
			Reason: message})
		fail(w, status, class, message)
	}
	if to.plane == "" {
		refuse(http.StatusNotFound, "", "the path does not exist: append /tools/{name} or /traces/{type} to the base URL")
		return
	}
	if r.Method != http.MethodPost && !to.unknown() {
		w.Header().Set("Allow", http.MethodPost)
		refuse(http.StatusMethodNotAllowed, "", "use POST")
		return
	}
	run := p.authenticate(r)
	if run == nil {
		refuse(http.StatusUnauthorized, httpcall.RunTokenInvalid, "the run token is missing or unknown")
		return
	}
	v := &runRequest{platform: p, run: run, w: w, ctx: r.Context(), to: to, call: Call{
		Tool: to.name, Actor: r.Header.Get("X-Pipelines-Actor-Id"), Trace: to.plane != "tools", At: time.Now(),
	}}
	v.serve(r)
}

// unknown reports whether the plane has no documented format.
func (r route) unknown() bool { return r.plane == "data" || r.plane == "context" }

// authenticate accepts both documented headers. Different tokens in one request are refused.
func (p *Platform) authenticate(r *http.Request) *Run {
	tokens, _ := httpserve.Tokens(r.Header, "X-Pipelines-Run-Token")
	token, ok := httpserve.OneToken(tokens)
	if !ok {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[token]
}

// show writes a line to the output of the test that dispatched the run, or else to the output of
// the platform's test.
func (p *Platform) show(ctx context.Context, line string) {
	if show := runctx.From[runctx.Show](ctx); show != nil {
		show(line)
	} else if p.output != nil {
		_, _ = io.WriteString(p.output, "proxytest: "+text.Lines(line, maxFault)+"\n")
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
