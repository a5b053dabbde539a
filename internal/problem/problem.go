// Package problem holds what the errors of several packages share: how problems are collected, bounded,
// moved below a place and printed, and the code of a context that has ended.
//
// Most packages list [toolwire.Problem]. A package whose problems have the same fields and a text of their
// own declares a type, to which a [Problem] converts.
package problem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire"
)

// A Problem is one rule that a document or an argument breaks.
type Problem = toolwire.Problem

// Describe returns tool, place and message on one line, without the code.
func Describe[P Common](p P) string {
	without := Problem(p)
	without.Code = ""
	return without.String()
}

// A Common type has the fields of a Problem.
type Common interface {
	~struct {
		Tool    string `json:"tool,omitempty"`
		Code    string `json:"code"`
		Pointer string `json:"pointer"`
		Message string `json:"message"`
	}
}

// most is how many problems a list keeps.
const most = 100

// Bounded collects problems in the order in which they are found. It keeps the first 100 and counts the
// others, because a document may have a problem for every few of its bytes.
type Bounded[P any] struct {
	Found []P
	More  int // problems that are not kept
}

// Full reports whether further problems are only counted.
func (b Bounded[P]) Full() bool { return len(b.Found) == most }

// Put adds a problem.
func (b *Bounded[P]) Put(p P) { b.Append([]P{p}, 0) }

// Append adds problems, and the number of those that they lack.
func (b *Bounded[P]) Append(found []P, more int) {
	kept := min(len(found), most-len(b.Found))
	b.Found = append(b.Found, found[:kept]...)
	b.More += len(found) - kept + more
}

// Len returns the number of problems, including those that are not kept.
func (b Bounded[P]) Len() int { return len(b.Found) + b.More }

// A List is Bounded for problems with the common fields.
type List[P Common] struct{ Bounded[P] }

// Add adds a problem that is not about one tool.
func (l *List[P]) Add(code, pointer, format string, args ...any) {
	l.AddTool("", code, pointer, format, args...)
}

// AddTool adds a problem of a tool. It formats the message only if the list has room.
func (l *List[P]) AddTool(tool, code, pointer, format string, args ...any) {
	if l.Full() {
		l.More++
		return
	}
	l.Found = append(l.Found, P(Problem{Tool: tool, Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)}))
}

// Join adds the problems of another list.
func (l *List[P]) Join(other List[P]) { l.Append(other.Found, other.More) }

// All returns the problems, and as the last one, with the code more_problems, the number of those that are
// not kept.
func (l List[P]) All() []P {
	if l.More == 0 {
		return l.Found
	}
	return append(slices.Clip(l.Found), P(Problem{Code: "more_problems", Message: fmt.Sprintf("%d more problems are not listed", l.More)}))
}

// Under adds the problems of a part, which lack more of them. Their pointers start at the part.
func Under[P, Q Common](list *List[P], pointer string, part []Q, more int) {
	for i, p := range part {
		if list.Full() {
			more += len(part) - i
			break
		}
		moved := Problem(p)
		moved.Pointer = pointer + moved.Pointer
		list.Put(P(moved))
	}
	list.More += more
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
