// Package problem holds what the errors of all packages share: how problems are collected, moved below
// a place and printed, and how the code of an error is found.
//
// Each public package declares a Problem and an Error of its own, so that its documentation shows their
// fields. A Problem with exactly the fields of [Problem] converts to the Problem of any other package.
package problem

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Problem is one rule that a document or an argument breaks.
type Problem struct {
	Tool    string `json:"tool,omitempty"`
	Code    string `json:"code"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// Describe returns tool, place and message on one line.
func (p Problem) Describe() string {
	text := p.Message
	if p.Pointer != "" {
		text = p.Pointer + " " + text
	}
	if p.Tool != "" {
		text = fmt.Sprintf("tool %q: %s", p.Tool, text)
	}
	return text
}

// String returns Describe and the code in brackets. A server may report a problem without a code.
func (p Problem) String() string {
	if p.Code == "" {
		return p.Describe()
	}
	return p.Describe() + " [" + p.Code + "]"
}

// A Common type is the Problem of a public package that has no fields of its own.
type Common interface {
	~struct {
		Tool    string `json:"tool,omitempty"`
		Code    string `json:"code"`
		Pointer string `json:"pointer"`
		Message string `json:"message"`
	}
}

// A List collects problems in the order in which they are found.
type List[P Common] []P

// Add adds a problem that is not about one tool.
func (l *List[P]) Add(code, pointer, format string, args ...any) {
	l.AddTool("", code, pointer, format, args...)
}

// AddTool adds a problem of a tool.
func (l *List[P]) AddTool(tool, code, pointer, format string, args ...any) {
	*l = append(*l, P(Problem{tool, code, pointer, fmt.Sprintf(format, args...)}))
}

// Under adds the problems of a part to a list. Their pointers start at the part.
func Under[P, Q Common, L ~[]P](list *L, pointer string, part []Q) {
	for _, p := range part {
		moved := Problem(p)
		moved.Pointer = pointer + moved.Pointer
		*list = append(*list, P(moved))
	}
}

// Lines returns the only problem, or the number of problems and one more line for each. more is the
// number of problems that the list lacks.
func Lines[P fmt.Stringer](list []P, more int) string {
	if len(list) == 1 && more == 0 {
		return list[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems:", len(list)+more)
	for _, p := range list {
		b.WriteString("\n  - " + p.String())
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n  - and %d more", more)
	}
	return b.String()
}

// Codes of problems with the messages of a response, which package dispatch reports and its kits read.
const (
	MessagesRepaired = "messages_repaired"
	MessagesRemoved  = "messages_removed"
)

// CodeOf returns the code of the first error of type E in err's tree, or "" if it contains none.
func CodeOf[E error, C ~string](err error, code func(E) C) C {
	if e, ok := errors.AsType[E](err); ok {
		return code(e)
	}
	return ""
}

// ContextCode returns the code for the error of a context that has ended: "deadline" if the caller's
// deadline passed, and otherwise "canceled". If the error wraps several, the first is the error of the
// context, and the others are its cause, which may be of any kind.
func ContextCode[C ~string](err error) C {
	type several interface {
		error
		Unwrap() []error
	}
	if both, ok := errors.AsType[several](err); ok {
		err = both.Unwrap()[0]
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "deadline"
	}
	return "canceled"
}

// Element splits a pointer into a list: "/2/name" is the element 2 and "/name". The number is -1 if
// the pointer does not lead to an element.
func Element(pointer string) (i int, rest string) {
	after, ok := strings.CutPrefix(pointer, "/")
	token, _, _ := strings.Cut(after, "/")
	n, err := strconv.ParseUint(token, 10, 31)
	if !ok || err != nil {
		return -1, pointer
	}
	return int(n), after[len(token):]
}
