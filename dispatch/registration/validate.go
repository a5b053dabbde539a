package registration

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/schema"
)

// Validate reports every reason for which the platform would reject the registration or could not
// use it. The error is a [*toolwire.Error] with invalid_registration that unwraps to the errors of packages schema
// and ledger. o applies to the tools; its LedgerSchema is ignored in favour of r.LedgerSchema. If o
// is nil, the defaults apply. ctx applies to o.Endpoint.
//
// The list unchecked contains what [schema.Validate] reports as unchecked: what does not make the
// platform reject a tool, and what this library cannot check or use. It also contains the forms of
// older drafts in schemas, which the platform may read otherwise. Validate returns the list with and
// without an error. [Client] sends such tools.
//
// Validate does not resolve the host of the endpoint. It accepts a public name that leads to a
// private address.
func (r *Registration) Validate(ctx context.Context, o *schema.ValidateOptions) (unchecked []toolwire.Problem, err error) {
	return r.validate(ctx, o, false)
}

// validate allows an update without the value of the auth header, which the platform has stored.
func (r *Registration) validate(
	ctx context.Context, o *schema.ValidateOptions, update bool,
) (unchecked []toolwire.Problem, err error) {
	ps := problems{others: r.replacements()}
	checkText(&ps, "/name", r.Name, maxName)
	if strings.TrimSpace(r.Name) == "" {
		ps.Add("missing", "/name", "is required")
	}
	checkText(&ps, "/description", r.Description, maxDescription)
	checkEndpoint(&ps, r.EndpointURL)
	r.checkAuth(&ps, update)
	list, causes := r.checkTools(ctx, &ps, o)
	if t := r.RunTimeout; t != 0 && (t < time.Second || t > maxRunTimeout || t%time.Second != 0) {
		ps.Add("run_timeout_invalid", "/run_timeout_s", "must be whole seconds from 1 to 1800, or absent for the default of 300")
	}
	r.checkTopology(&ps)
	ps.Join(r.extraProblems().List)
	return list.All(), invalid(ps, causes...)
}

// replacements are the pointers of the members that Extra and Config replace.
type replacements map[string]bool

func (r *Registration) replacements() replacements {
	all := make(replacements, len(r.Extra)+len(r.Config))
	for _, m := range r.Extra {
		all[token(m.Name)] = true
	}
	for _, m := range r.Config {
		all["/config"+token(m.Name)] = true
	}
	return all
}

// include reports whether a pointer leads into a member that is replaced.
func (all replacements) include(pointer string) bool {
	for i := range pointer {
		if i > 0 && pointer[i] == '/' && all[pointer[:i]] {
			return true
		}
	}
	return all[pointer]
}

func checkText(ps *problems, pointer, text string, most int) {
	if n := utf8.RuneCountInString(text); n > most {
		ps.Add("too_long", pointer, "has %d characters; at most %d are allowed", n, most)
	}
	if !utf8.ValidString(text) {
		ps.Add("not_utf8", pointer, "is not valid UTF-8")
	}
}

func (r *Registration) checkAuth(ps *problems, update bool) {
	value := r.AuthValue
	switch {
	case r.AuthHeader == "" && value != "":
		ps.Add("missing", "/auth_header_name",
			"is required with auth_header_value; typical names are Authorization and X-API-Key")
	case r.AuthHeader != "" && !httpserve.ValidHeaderName(r.AuthHeader):
		ps.Add("auth_header_invalid", "/auth_header_name",
			"is not a header name; give the name without a colon and a value")
	case httpserve.ReservedHeader(r.AuthHeader):
		ps.Add("auth_header_invalid", "/auth_header_name",
			"is a header that a dispatch sets itself; give another, such as Authorization or X-API-Key")
	}
	switch {
	case value == "" && r.AuthHeader != "" && !update:
		ps.Add("missing", "/auth_header_value",
			"is required with auth_header_name; is its environment variable set?")
	case strings.TrimSpace(value) != value:
		ps.Add("auth_value_invalid", "/auth_header_value",
			"begins or ends with white space; is its environment variable set?")
	case value != "" && !httpcall.VisibleASCII(strings.NewReplacer(" ", "", "\t", "").Replace(value)):
		ps.Add("auth_value_invalid", "/auth_header_value",
			"has a character that is not allowed in a header; use visible ASCII")
	case quoted(value) || quoted(credential(value)):
		ps.Add("auth_value_invalid", "/auth_header_value",
			"has quotation marks around it, which would be sent; they belong to a shell or an env file, so leave them out")
	case placeholder.MatchString(credential(value)):
		ps.Add("auth_value_invalid", "/auth_header_value",
			"is a placeholder, such as the name of a variable, which nothing replaces; give the value itself")
	case r.AuthHeader != "" && len(value) > len(r.AuthHeader) && value[len(r.AuthHeader)] == ':' &&
		strings.EqualFold(value[:len(r.AuthHeader)], r.AuthHeader):
		ps.Add("auth_value_invalid", "/auth_header_value",
			"begins with the name of the header; give the value without the name and the colon")
	case strings.EqualFold(r.AuthHeader, "Authorization") && value != "" && !strings.ContainsAny(value, " \t"):
		ps.Add("auth_scheme_missing", "/auth_header_value",
			`has no scheme, which the header Authorization needs; write "Bearer " before the token, `+
				"or use the header X-API-Key")
	}
}

// placeholder matches what stands for a value in scripts and templates.
var placeholder = regexp.MustCompile(`^(\$\{.+\}|\$\(.+\)|\{\{.+\}\}|\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%|<.+>)$`)

// credential returns the value of a header without its scheme.
func credential(value string) string {
	if _, after, ok := strings.Cut(value, " "); ok {
		return strings.TrimSpace(after)
	}
	return value
}

func quoted(s string) bool {
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

// checkTools adds the problems that packages schema and ledger find. It returns what package schema
// lists as unchecked or reads otherwise, and the errors of both. It ignores members that Extra replaces.
func (r *Registration) checkTools(
	ctx context.Context, ps *problems, o *schema.ValidateOptions,
) (unchecked problem.List[toolwire.Problem], causes []error) {
	var opts schema.ValidateOptions
	if o != nil {
		opts = *o
	}
	opts.LedgerSchema = r.LedgerSchema
	if !ps.others.include("/tools_schema") {
		list, err := schema.Validate(ctx, r.Tools, &opts)
		list = append(list, slices.DeleteFunc(schema.Lint(r.Tools, &opts), func(p toolwire.Problem) bool {
			return !jsonschema.Rewritten(p.Code)
		})...)
		problem.Under(&unchecked, "/tools_schema", list, 0)
		if e, ok := errors.AsType[*toolwire.Error](err); ok {
			problem.Under(&ps.List, "/tools_schema", e.Problems, e.More)
			causes = append(causes, err)
		}
	}
	err := r.LedgerSchema.Validate()
	if e, ok := errors.AsType[*toolwire.Error](err); ok && !ps.others.include("/ledger_schema") {
		problem.Under(&ps.List, "/ledger_schema", e.Problems, e.More)
		causes = append(causes, err)
	}
	return unchecked, causes
}

func (r *Registration) checkTopology(ps *problems) {
	actors := make(map[string]int, len(r.SubAgents))
	for i, s := range r.SubAgents {
		at := fmt.Sprintf("/config/sub_agents/%d/actor_id", i)
		if err := runctx.CheckActor(s.ActorID); err != nil {
			ps.Add("actor_id_invalid", at, "%v", err)
		}
		if first, ok := actors[s.ActorID]; ok {
			ps.Add("duplicate", at, "is the actor id of sub_agents[%d] too; actor ids must be unique", first)
			continue
		}
		actors[s.ActorID] = i
	}
	toolsKnown, tools := !ps.others.include("/tools_schema"), toolNames(r.Tools)
	for i, s := range r.SubAgents {
		for j, name := range s.Tools {
			if toolsKnown && !tools[name] {
				ps.Add("undeclared", fmt.Sprintf("/config/sub_agents/%d/tools/%d", i, j),
					"%q is not a tool of the agent", text.Cut(name, 80))
			}
		}
		for j, id := range s.TalksTo {
			if _, ok := actors[id]; !ok {
				ps.Add("undeclared", fmt.Sprintf("/config/sub_agents/%d/talks_to/%d", i, j),
					"%q is not a sub-agent; ids must match byte for byte", text.Cut(id, 80))
			}
		}
	}
	if entry := r.Entry; entry != "" {
		if _, ok := actors[entry]; !ok {
			ps.Add("undeclared", "/config/topology/entry", "%q is not a sub-agent; ids must match byte for byte",
				text.Cut(entry, 80))
		}
	}
}

func toolNames(tools []schema.Tool) map[string]bool {
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		names[t.Name] = true
	}
	return names
}

const endpointPointer = "/endpoint_url"

// checkEndpoint checks the rules of Register an external HTTP agent: https on a public host.
// Messages do not repeat the URL, because it may contain credentials.
func checkEndpoint(ps *problems, raw string) {
	if raw == "" {
		ps.Add("missing", endpointPointer, "is required; give the https URL that runs are posted to")
		return
	}
	if !utf8.ValidString(raw) { // it would change in JSON
		ps.Add("not_utf8", endpointPointer, "is not valid UTF-8; percent-encode other bytes")
	}
	if strings.ContainsFunc(raw, unicode.IsSpace) {
		ps.Add("endpoint_url_invalid", endpointPointer, "has white space; leave it out, or write %%20 for a space in the path")
		return
	}
	u, err := url.Parse(raw)
	if err != nil {
		ps.Add("endpoint_url_invalid", endpointPointer, "is not a URL")
		return
	}
	if u.Scheme != "https" {
		ps.Add("endpoint_url_invalid", endpointPointer, "must begin with https://")
	}
	if u.User != nil {
		ps.Add("endpoint_url_invalid", endpointPointer, "must not have a user name or password; use the auth header")
	}
	if strings.Contains(raw, "#") {
		ps.Add("endpoint_url_invalid", endpointPointer, "must not have a fragment, because a fragment is not sent")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			ps.Add("endpoint_url_invalid", endpointPointer,
				"has a port that is not valid; use 1 to 65535, or leave it out")
		}
	}
	switch host := publicaddr.Key(u.Hostname()); {
	case host == "":
		ps.Add("endpoint_url_invalid", endpointPointer, "must have a host")
	default:
		checkHost(ps, strings.TrimSuffix(host, "."))
	}
}

func checkHost(ps *problems, host string) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			ps.Add("endpoint_not_public", endpointPointer,
				"has an address with a zone, which is valid on one machine only")
		} else if what := publicaddr.Why(addr); what != "" {
			ps.Add("endpoint_not_public", endpointPointer, "has a %s address; the platform needs a public one", what)
		}
		return
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		// Resolvers take 127.1, 0x7f000001 and 2130706433 for addresses.
		ps.Add("endpoint_not_public", endpointPointer,
			"has a host that ends in a number but is not an IP address in standard form")
	case last == "localhost" || host == "localhost.localdomain":
		ps.Add("endpoint_not_public", endpointPointer,
			"is on localhost, which the platform cannot reach; use a tunnel with a public name")
	case host == "metadata.google.internal" || host == "metadata.goog" || host == "metadata":
		ps.Add("endpoint_not_public", endpointPointer, "is a cloud metadata host")
	case last == "local" || last == "internal" || last == "localdomain" || strings.HasSuffix("."+host, ".home.arpa"):
		ps.Add("endpoint_not_public", endpointPointer,
			"has the host name of a private network; the platform needs a public one")
	case !hostName(labels):
		ps.Add("endpoint_not_public", endpointPointer,
			"has a host name that is not valid; use letters, digits, '-' and '.', or the xn-- form")
	case len(labels) == 1:
		ps.Add("endpoint_not_public", endpointPointer,
			"has a host name without a domain; the platform needs a public one")
	}
}

func hostName(labels []string) bool {
	total := len(labels) - 1
	for _, label := range labels {
		if total += len(label); label == "" || len(label) > 63 || total > 253 {
			return false
		}
		for _, c := range []byte(label) {
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}
