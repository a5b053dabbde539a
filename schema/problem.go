package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Code names a rule or a reason. Codes are stable: programs may compare them. The package comment lists them all.
type Code string

// A Problem is one rule that a declaration breaks.
type Problem struct {
	Index   int    // the tool's place in the list, from 0; -1 when the problem is not one tool's
	Tool    string // the tool's name as far as it has one, cut to 128 bytes
	Code    Code
	Pointer string // JSON Pointer (RFC 6901) into the tool, or into the schema or document when there is no tool
	Message string // says what is wrong and what to do, without naming tool or place
}

// noTool is the index of problems that are not one tool's.
const noTool = -1

// String names tool, place and problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.Index >= 0 {
		fmt.Fprintf(&b, "tool[%d]", p.Index)
		if p.Tool != "" {
			fmt.Fprintf(&b, " %q", p.Tool)
		}
		b.WriteString(": ")
	}
	if p.Pointer != "" {
		b.WriteString(p.Pointer + " ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// A ValidationError holds everything that is wrong with declarations: a tool list, a schema, or the Go types of a tool.
// Problems are ordered by tool, then by place.
type ValidationError struct {
	Problems []Problem

	causes []error
}

// Unwrap returns the errors of an [EndpointResolver] that failed, and that of the context that ended before it was asked.
func (e *ValidationError) Unwrap() []error { return e.causes }

// Error is a list for people: one problem as it is, several under a heading, one line each.
func (e *ValidationError) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String() + " [" + string(e.Problems[0].Code) + "]"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems:", len(e.Problems))
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n  - %s [%s]", p, p.Code)
	}
	return b.String()
}

// Has tells whether a problem has the code.
func (e *ValidationError) Has(code Code) bool {
	return slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Code == code })
}

// MarshalJSON writes the body of a 422 answer with one message per tool and one entry per problem:
//
//	{"detail":{"error_class":"invalid_tools_schema","message":"2 problems in 1 tool",
//	  "tools":[{"index":0,"name":"get_order","message":"…; …","problems":[{"code":"…","pointer":"…","message":"…"}]}]}}
//
// The Tools schema promises "422 with a per-tool message" and does not show the body; the envelope is that of the
// platform's other errors. Problems that are not one tool's have the index -1.
func (e *ValidationError) MarshalJSON() ([]byte, error) {
	type problem struct {
		Code    Code   `json:"code"`
		Pointer string `json:"pointer"`
		Message string `json:"message"`
	}
	type tool struct {
		Index    int       `json:"index"`
		Name     string    `json:"name"`
		Message  string    `json:"message"`
		Problems []problem `json:"problems"`
	}
	var body struct {
		Detail struct {
			Class   string `json:"error_class"`
			Message string `json:"message"`
			Tools   []tool `json:"tools"`
		} `json:"detail"`
	}
	tools := []tool{}
	for _, p := range e.Problems {
		if n := len(tools); n == 0 || tools[n-1].Index != p.Index {
			tools = append(tools, tool{Index: p.Index, Name: p.Tool})
		}
		t := &tools[len(tools)-1]
		if t.Message != "" {
			t.Message += "; "
		}
		t.Message += strings.TrimPrefix(p.Pointer+" "+p.Message, " ")
		t.Problems = append(t.Problems, problem{p.Code, p.Pointer, p.Message})
	}
	body.Detail.Class = "invalid_tools_schema"
	body.Detail.Message = fmt.Sprintf("%s in %s", count(len(e.Problems), "problem"), count(len(tools), "tool"))
	body.Detail.Tools = tools
	return json.Marshal(body)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// problems collects what is wrong with one tool.
type problems struct {
	index int
	tool  string
	list  []Problem
}

func (ps *problems) add(code Code, pointer, format string, args ...any) {
	ps.list = append(ps.list, Problem{ps.index, ps.tool, code, pointer, fmt.Sprintf(format, args...)})
}

// under adds the problems of a part of the tool, whose pointers start at that part.
func (ps *problems) under(pointer string, part []Problem) {
	for _, p := range part {
		ps.list = append(ps.list, Problem{ps.index, ps.tool, p.Code, pointer + p.Pointer, p.Message})
	}
}
