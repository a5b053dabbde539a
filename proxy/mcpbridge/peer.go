package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/schema"
)

// Bounds on what the list of an MCP server may have.
const (
	maxTools = 1000
	maxPages = 100
	maxList  = 4 << 20 // bytes of all declarations and cursors
)

// A Peer is an MCP server and those of its tools that can be declared. It is immutable. It works until
// its session ends, and does not close it.
type Peer struct {
	session *mcp.ClientSession
	tools   []schema.Tool
	names   map[string]string // the server's names, by the names of tools
}

// Connect reads the list of tools of an MCP server once. A tool that cannot be declared is left out, with
// its problems: an entry that [schema.Import] cannot read, a tool that [schema.Validate] rejects, and the
// second tool of a name. A list of more than 1,000 tools, 100 pages or 4 MiB with its cursors, and a list
// that repeats a cursor or has a later page that cannot be decoded, is read to that place; this is a problem
// too. After 100 problems, a last one counts the others. The first number in a pointer is the place in the server's list.
//
// A name that the platform does not allow is changed: other characters become "_", as calendar.read
// becomes calendar_read, and a number is added to a name that is taken. Functions of the Peer expect
// the names of [Peer.Tools], and send the names of the server.
//
// The SDK decodes schemas before Connect sees them. Therefore the members of a schema are sorted by name,
// and integers above 2^53 are rounded. The SDK leaves out null entries, and tools whose x-mcp-header is not
// valid, and decodes a page as a whole: a first page that it cannot decode is an error.
//
// If the server does not answer, or answers with an error, errors.As finds the error of the SDK. Its text
// is not shown, because it may contain anything that the server sent, or the server's URL.
func Connect(ctx context.Context, session *mcp.ClientSession) (*Peer, []toolwire.Problem, error) {
	r := &listReader{ctx: ctx, session: session}
	if err := r.read(); err != nil {
		return nil, nil, err
	}
	r.declare()
	p := &Peer{session: session, tools: r.tools, names: r.names}
	return p, r.problems.All(), nil
}

// Tools returns the declarations, in the server's order. Members of MCP that the platform does not know,
// such as title and annotations, are in [schema.Tool.Extra]. The caller may change the slice.
func (p *Peer) Tools() []schema.Tool { return slices.Clone(p.tools) }

// toolNames returns the names of all tools.
func (p *Peer) toolNames() (names []string) {
	for _, tool := range p.tools {
		names = append(names, tool.Name)
	}
	return names
}

// listReader reads a list of tools.
type listReader struct {
	ctx      context.Context // of the one call of Connect
	session  *mcp.ClientSession
	list     []entry
	tools    []schema.Tool
	names    map[string]string
	problems problem.List[toolwire.Problem]
}

// An entry is a tool of the server's list.
type entry struct {
	name string
	text json.RawMessage
}

// note adds a problem of the list.
func (r *listReader) note(code, format string, args ...any) {
	r.problems.Add(code, "", "the list of the MCP server "+format, args...)
}

// read reads the pages.
func (r *listReader) read() error {
	params, size, seen := &mcp.ListToolsParams{}, 0, map[string]bool{}
	for page := 1; ; page++ {
		result, err := r.session.ListTools(r.ctx, params)
		if err != nil {
			err = peerError(r.ctx, r.session, "tools/list", err)
			if page == 1 || !errors.As(err, new(*undecodable)) {
				return err
			}
			r.note("list_incomplete", "ends before page %d: the MCP SDK cannot decode that page", page)
			return nil
		}
		for _, tool := range result.Tools {
			text, err := rawjson.Encode(tool)
			size += len(text)
			switch {
			case size > maxList:
				r.note("limit", "has more than %d bytes; the tools from place %d on are left out", maxList, len(r.list))
				return nil
			case len(r.list) == maxTools:
				r.note("limit", "has more than %d tools; the others are left out", maxTools)
				return nil
			case err != nil:
				text = json.RawMessage("null") // Import reports it
			}
			r.list = append(r.list, entry{tool.Name, text})
		}
		cursor := result.NextCursor
		size += len(cursor)
		switch {
		case cursor == "":
			return nil
		case size > maxList:
			r.note("limit", "has more than %d bytes; the pages after page %d are left out", maxList, page)
			return nil
		case page == maxPages:
			r.note("limit", "has more than %d pages; the others are left out", maxPages)
			return nil
		case seen[cursor]:
			r.note("limit", "does not end: page %d has the cursor of an earlier page", page)
			return nil
		}
		seen[cursor] = true
		params = &mcp.ListToolsParams{Cursor: cursor}
	}
}

// declare makes the tools. Names that the platform allows are taken before others are changed.
func (r *listReader) declare() {
	first, taken := map[string]int{}, map[string]bool{}
	for i, e := range r.list {
		if _, ok := first[e.name]; !ok {
			first[e.name] = i
			taken[e.name] = true
		}
	}
	r.names = make(map[string]string, len(first))
	numbers := map[string]int{}
	for i, e := range r.list {
		name := e.name
		if e.name != "" && first[e.name] == i && toolresult.NameFault(e.name) >= 0 {
			name = freeName(e.name, taken, numbers)
		}
		tool, wrong := r.tool(e, name)
		if len(wrong) == 0 && first[e.name] != i {
			wrong = []toolwire.Problem{{Tool: text.Cut(name, toolresult.LongestName), Code: "name_duplicate", Pointer: "/0/name",
				Message: fmt.Sprintf("is taken by the tool at place %d already; the first one is declared", first[e.name])}}
		}
		for _, p := range wrong {
			p.Pointer = "/" + strconv.Itoa(i) + strings.TrimPrefix(p.Pointer, "/0")
			r.problems.Put(p)
		}
		if wrong == nil {
			r.tools = append(r.tools, tool)
			r.names[name] = e.name
		}
	}
}

// tool returns the declaration of one tool, or its problems, whose pointers begin with "/0".
func (r *listReader) tool(e entry, name string) (schema.Tool, []toolwire.Problem) {
	tools, _, err := schema.Import(rawjson.Array([]json.RawMessage{e.text}), schema.MCP)
	if err == nil {
		tools[0].Name = name
		_, err = schema.Validate(r.ctx, tools, nil)
	}
	if err == nil {
		return tools[0], nil
	}
	if rejected, ok := errors.AsType[*toolwire.Error](err); ok {
		return schema.Tool{}, rejected.Problems
	}
	return schema.Tool{}, []toolwire.Problem{{Code: "not_json", Pointer: "/0", Message: err.Error()}}
}

// freeName returns a name that the platform allows and that is not taken. numbers has the last
// number that was tried for a name.
func freeName(name string, taken map[string]bool, numbers map[string]int) string {
	name = strings.Map(func(c rune) rune {
		if toolresult.NameFault("_"+string(c)) >= 0 {
			return '_'
		}
		return c
	}, name)
	if toolresult.NameFault(name[:1]) >= 0 {
		name = "_" + name
	}
	name = name[:min(len(name), toolresult.LongestName)]
	free := name
	for taken[free] {
		numbers[name] = max(numbers[name], 1) + 1
		number := "_" + strconv.Itoa(numbers[name])
		free = name[:min(len(name), toolresult.LongestName-len(number))] + number
	}
	taken[free] = true
	return free
}

// undecodable is an answer that the SDK cannot decode. The session goes on.
type undecodable struct{ error }

func (u *undecodable) Unwrap() error { return u.error }

// codeRejected is the code that the SDK gives a request which its transport did not deliver.
const codeRejected = -32005

// answered returns the error with which the server answered, or nil.
func answered(err error) *jsonrpc.Error {
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok && answer.Code != codeRejected {
		return answer
	}
	return nil
}

// peerError describes an error of the SDK in fixed words.
func peerError(ctx context.Context, session *mcp.ClientSession, method string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mcpbridge: %s: %w", method, httpcall.ContextError(ctx))
	}
	quiet := func(format string, args ...any) error {
		return problem.Quiet("mcpbridge: "+method+": "+fmt.Sprintf(format, args...), err)
	}
	if answer := answered(err); answer != nil {
		return quiet("the MCP server answered with the error %d of JSON-RPC", answer.Code)
	}
	switch {
	case errors.Is(err, mcp.ErrConnectionClosed):
		return quiet("the MCP session is closed")
	case errors.As(err, new(*jsonrpc.Error)) || !isOpen(session):
		why := httpcall.Describe("the MCP server", true, err)
		if why == httpcall.Unclear {
			why = "the connection broke, or the MCP server sent something that is not a message of JSON-RPC; " +
				"a server on standard output must log to standard error"
		}
		return quiet("%s", why)
	}
	return &undecodable{quiet("the answer of the MCP server is not one of MCP; the SDK cannot decode it")}
}

// isOpen reports whether a session goes on. A notification with a context that has ended is not sent: it
// fails with the error of a closed session, or else with the error of the context.
func isOpen(session *mcp.ClientSession) bool {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Is(session.NotifyProgress(ended, &mcp.ProgressNotificationParams{}), context.Canceled)
}
