package toolwire

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// An Error is the error of most packages of this module. Its text contains no secret, no argument and
// no result of a call, and no URL.
type Error struct {
	Code    Code
	Package string // the package that reports the failure, such as "registration"; "" for an error of a program
	Tool    string // the tool concerned; "" if there is none
	Message string // what is wrong and what to do; "" if Code or Problems say it

	// Problems lists what is wrong with a document, a declaration or arguments, in the order of the
	// document.
	Problems []Problem // at most 100
	More     int       // the number of problems that Problems does not list

	Response *Response // the HTTP response that reports the failure; nil if there was none
	Err      error     `json:"-"` // the cause, such as the error of a context; may be nil
}

// A Response is what a program may need of an HTTP response that reports a failure.
type Response struct {
	Status     int           // HTTP status
	Class      string        // the platform's error_class; "" if there is none
	Detail     string        // the server's message about the whole request, at most 2 KiB; "" if there is none
	RetryAfter time.Duration // the wait that the server asked for; 0 if it asked for none
	RequestID  string        // the header X-Request-Id; "" if there is none
}

// Error returns the package, the tool, the code with the status of the response, the message and the
// problems. If there are several problems, each has a line of its own. The text of Err follows if
// Message and Problems are empty, and after the message of agent_failed and deadline.
//
// The problems of the arguments or the result of a call are on one line, without package and code, so
// that a model can read them.
func (e *Error) Error() string {
	if e.ofDocument() {
		return e.tool() + join(": ", e.Message, oneLine(e.Problems, e.More))
	}
	head := e.tool() + string(e.Code)
	if e.Package != "" {
		head = e.Package + ": " + head
	}
	if r := e.Response; r != nil && r.Status != 0 {
		head += fmt.Sprintf(" (HTTP %s)", join(", ", fmt.Sprint(r.Status), r.Class))
	}
	list, cause := "", ""
	if len(e.Problems) > 0 {
		list = lines(e.Problems, e.More)
	}
	if e.tellsCause() {
		cause = e.Err.Error()
	}
	text := join(": ", head, e.Message, list, cause)
	if e.Response != nil && e.Response.RequestID != "" {
		text += fmt.Sprintf(" (request %s)", e.Response.RequestID)
	}
	return text
}

// ofDocument reports whether the error is about the document of a call.
func (e *Error) ofDocument() bool {
	switch e.Code {
	case CodeMismatch, CodeLimit, CodeInvalidJSON, CodeUnknownTool:
		return len(e.Problems) > 0
	}
	return false
}

// tellsCause reports whether the text contains the text of Err. What an agent returned, or what ended a
// context, follows the message, unless the message has it.
func (e *Error) tellsCause() bool {
	if e.Err == nil || len(e.Problems) > 0 {
		return false
	}
	switch e.Code {
	case CodeAgentFailed, CodeDeadline:
		own, said := errors.AsType[*Error](e.Err)
		return !(said && own.Code == e.Code) && !strings.Contains(e.Message, e.Err.Error())
	}
	return e.Message == ""
}

func (e *Error) tool() string {
	if e.Tool == "" {
		return ""
	}
	return fmt.Sprintf("tool %q: ", e.Tool)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns Code. [CodeOf] calls it.
func (e *Error) ErrorCode() Code { return e.Code }

// A Problem is one thing that is wrong with a document, a declaration or an argument.
type Problem struct {
	Tool    string `json:"tool,omitempty"` // the tool's name; "" if the problem is not about one tool
	Code    string `json:"code"`           // a stable word of the package that reports it, or of the server
	Pointer string `json:"pointer"`        // JSON Pointer (RFC 6901) into the document; "" for all of it
	Message string `json:"message"`        // what is wrong and what to do, without the tool and the place
}

// String returns tool, pointer, message and code on one line.
func (p Problem) String() string {
	if p.Code == "" {
		return p.describe()
	}
	return p.describe() + " [" + p.Code + "]"
}

func (p Problem) describe() string {
	text := p.Message
	if p.Pointer != "" {
		text = p.Pointer + " " + text
	}
	if p.Tool != "" {
		text = fmt.Sprintf("tool %q: %s", p.Tool, text)
	}
	return text
}

// lines returns the only problem, or the number of problems and one more line for each.
func lines(list []Problem, more int) string {
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

func oneLine(list []Problem, more int) string {
	texts := make([]string, len(list), len(list)+1)
	for i, p := range list {
		texts[i] = p.describe()
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// join joins the texts that are not empty.
func join(separator string, texts ...string) string {
	kept := texts[:0]
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, separator)
}
