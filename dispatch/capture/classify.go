package capture

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// The sides of an exchange.
const (
	sideDispatch = "dispatch"
	sideWebhook  = "webhook"
	sideCall     = "call"   // to the proxy of a run
	sideClient   = "client" // to another API
)

// classify decides what an exchange is. body is the JSON of the request; nil if it has none.
func (w *writer) classify(x *exchange, body []byte) {
	x.hide = &secrets{}
	x.hide.addHeaders(x.header)
	x.hide.add(redact.URL(x.url.String())...)
	token := runToken(x.header, x.server)
	if x.server {
		x.side = sideDispatch
		if len(x.header["X-Agent-Secret"])+len(x.header["X-Agent-Identity"]) > 0 || isWebhook(body) {
			x.side = sideWebhook
		}
		if token == "" {
			token = rawjson.Text(rawjson.Member(body, "run_token"))
		}
	} else {
		x.side = sideClient
		if x.plane = plane(x); x.plane != "" {
			x.side = sideCall
		}
		if x.plane == "" || strings.HasSuffix(x.url.Path, "/__reachability_probe__") { // whose token is invalid
			token = ""
		}
	}
	if token != "" {
		x.run = w.names.of("run", token)
	}
	if len(body) > 0 && x.server {
		x.hide.add(rawjson.Text(rawjson.Member(body, "run_token")))
		x.hide.add(redact.URL(rawjson.Text(rawjson.Member(body, "odyssey_proxy_url")))...)
	}
}

// isWebhook reports whether a body names a tool, and no proxy.
func isWebhook(body []byte) bool {
	if rawjson.Member(body, "odyssey_proxy_url") != nil || rawjson.Member(body, "task_id") != nil {
		return false
	}
	for name := range rawjson.Members(body) {
		switch name {
		case "tool_name", "tool", "function", "tool_call", "arguments", "args":
			return true
		}
	}
	return false
}

// plane returns the plane of a call to a proxy: tools, traces or telemetry. It returns "" for
// another request. A request to a catalog has another method, another body or another path.
func plane(x *exchange) string {
	segments := segmentsOf(&x.url)
	n := len(segments)
	media := ""
	if values := x.header["Content-Type"]; len(values) > 0 {
		media = values[0]
	}
	if x.method != "POST" || !strings.HasPrefix(media, "application/json") {
		return ""
	}
	switch {
	case n >= 2 && (segments[n-2] == "tools" || segments[n-2] == "traces") && segments[n-1] != "":
		return segments[n-2]
	case n >= 1 && segments[n-1] == "telemetry":
		return "telemetry"
	}
	return ""
}

func segmentsOf(u *url.URL) []string {
	return strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
}

// apiSegments are the segments of paths of the documented APIs. Other segments are ids.
var apiSegments = []string{
	"tools", "traces", "telemetry", "data", "context", "upload", "source", "script", "restore", "toolbox", "adapters",
	"agents", "api", "v1", "",
}

// roots are the segments that a base URL cannot have at its end.
var roots = []string{"tools", "toolbox", "agents"}

var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// target returns the path of a request, behind a placeholder for its beginning.
func (p *printer) target(x *exchange) string {
	if x.server {
		target := shape("path", len(x.url.EscapedPath()))
		if x.url.RawQuery != "" {
			target += "?" + shape("query", len(x.url.RawQuery))
		}
		return target
	}
	segments := segmentsOf(&x.url)
	from := len(segments)
	switch x.plane {
	case "tools", "traces":
		from -= 2
	case "telemetry":
		from--
	default:
		if at := slices.IndexFunc(segments, func(s string) bool { return slices.Contains(roots, s) }); at >= 0 {
			from = at
		}
	}
	base := x.url
	base.Path, base.RawPath = strings.TrimSuffix("/"+strings.Join(segments[:from], "/"), "/"), ""
	base.RawQuery, base.Fragment = "", ""
	target := p.url(base.String())
	for i, segment := range segments[from:] {
		switch {
		case slices.Contains(apiSegments, segment):
		case i == 1 && x.plane != "" && toolName.MatchString(segment) && p.clean(segment):
		case x.plane != "":
			segment = shape("string", len(segment))
		case p.content:
			segment = p.text(segment)
		default:
			segment = p.names.of("id", segment)
		}
		target += "/" + segment
	}
	if x.url.RawQuery != "" {
		var names []string
		for name := range x.url.Query() {
			names = append(names, p.name(name))
		}
		slices.Sort(names)
		target += "?" + strings.Join(names, "&")
	}
	return target
}

// url returns the placeholder of a URL, with what is unusual about it. A slash at its end, user
// info and a query do not change the placeholder.
func (p *printer) url(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return shape("not a URL", len(text))
	}
	before, after := "", ""
	if u.Scheme != "https" {
		before = "http:"
		if u.Scheme != "http" {
			before = "<scheme>:"
		}
	}
	if u.User != nil {
		before += "<user>@"
	}
	path := u.EscapedPath()
	if strings.HasSuffix(path, "/") {
		after = "/"
	}
	if u.RawQuery != "" || u.Fragment != "" {
		after += "?<query>"
	}
	key := strings.ToLower(u.Scheme+"://"+u.Host) + strings.TrimRight(path, "/")
	return before + p.names.of("url", key) + after
}
