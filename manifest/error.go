package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Codes of errors that no other package has, or that few programs branch on.
const (
	codeInvalid     toolwire.Code = "invalid_manifest"
	codeUnavailable toolwire.Code = "program_unavailable"
	codeExit        toolwire.Code = "exit_status"
	codeSignal      toolwire.Code = "killed_by_signal"
)

// Error is the error type of this package. It contains no argument and no value of an environment
// variable, with one exception: Message of a tool that failed is in the tool's own words and may repeat
// such a value. The text of the error omits it.
type Error struct {
	Code toolwire.Code
	Tool string // the tool concerned; "" if the error is about the manifest

	// Message is a short text. For a code of calls it is for a model, contains no paths of this
	// machine and is part of [Error.ToolResult]. If the tool failed, Message is what the tool wrote
	// to stderr.
	Message string

	// Problems lists the problems in the order of the manifest, at most 100. It is set for invalid_manifest and
	// toolwire.CodeInvalidOptions, and for the program_unavailable of [Manifest.CheckPrograms].
	Problems []Problem
	More     int // problems that are not listed

	// Err is the cause: the error of the operating system, of the context and its cause, or of the
	// validation of the arguments. It may be nil. errors.Is finds context.Canceled and
	// context.DeadlineExceeded.
	Err error `json:"-"`

	file   string // of a manifest that is not valid
	detail string // replaces Message in the text of the error
	reply  reply  // what the model reads beside Message
}

// A reply is what [Error.ToolResult] shows that is not a field of the error.
type reply struct {
	output json.RawMessage // the whole, if not nil: the output of a tool that reports its failure in it
	hint   string          // the tool's advice: the member "hint" of the JSON that it wrote to stderr
	object json.RawMessage // in place of Message: the JSON value that the tool gave, of at most maxMessage bytes
	tools  []string        // all names of tools, for toolwire.CodeUnknownTool
}

// Error returns the problems one per line, in the documented words after the name of the file, or a text
// that names the tool and says what to do. It contains nothing that the tool wrote.
func (e *Error) Error() string {
	if len(e.Problems) > 0 {
		lines := make([]string, len(e.Problems))
		for i, p := range e.Problems {
			lines[i] = e.at() + p.Message
		}
		if e.More > 0 {
			lines = append(lines, fmt.Sprintf("and %d more problems", e.More))
		}
		return strings.Join(lines, "\n")
	}
	text := e.Message
	if e.detail != "" {
		text = e.detail
	}
	if e.Tool == "" {
		return e.at() + text
	}
	return "manifest: tool " + quoteName(e.Tool) + ": " + text
}

// at returns the file of the manifest and a colon, or "".
func (e *Error) at() string {
	if e.file == "" {
		return ""
	}
	return e.file + ": "
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns Code. [toolwire.CodeOf] calls it.
func (e *Error) ErrorCode() toolwire.Code { return e.Code }

const (
	maxMessage = 1000 // bytes of a text in a result for the model
	maxNames   = 100  // names of tools in a result for the model
)

// ToolResult returns the result that a model reads if the call failed: the tool's output if that
// reports the failure, and otherwise {"error":"…"}. If the tool gave a hint, the result has a member
// "hint". If the model called a tool that does not exist, the member "tools" lists up to 100 existing
// names. Texts are cut to 1,000 bytes. For a code that is not about a call, the result only says that
// the tool failed.
//
// If the tool wrote its error as JSON, "error" is that value, unless it exceeds 1,000 bytes. For a
// larger object, it is the object's member "message" or "error", or else the exit status.
func (e *Error) ToolResult() json.RawMessage {
	if e.reply.output != nil {
		return e.reply.output
	}
	var w rawjson.Object
	switch e.Code {
	case toolwire.CodeUnknownTool, toolwire.CodeInvalidArguments, codeUnavailable, toolwire.CodeCanceled, toolwire.CodeDeadline, toolwire.CodeTimeout, codeExit, codeSignal,
		toolwire.CodeResponseTooLarge, toolwire.CodeBadResponse, toolwire.CodeToolFailed:
	default: // for the operator
		w.PutText("error", toolresult.TextFailed)
		return w.Bytes()
	}
	if e.reply.object != nil {
		w.Put("error", e.reply.object)
	} else {
		w.Put("error", rawjson.Quote(text.Cut(e.Message, maxMessage)))
	}
	if e.reply.hint != "" {
		w.Put("hint", rawjson.Quote(e.reply.hint))
	}
	var names []json.RawMessage
	for _, name := range e.reply.tools[:min(len(e.reply.tools), maxNames)] {
		names = append(names, rawjson.Quote(text.Cut(name, 200)))
	}
	if names != nil {
		w.Put("tools", rawjson.Array(names))
	}
	return w.Bytes()
}

// Problem is one rule that a manifest breaks, or one finding of [Manifest.Lint].
//
// Codes of the rules of the document:
//
//	name_required          a tool has no name
//	duplicate_name         an earlier tool has the same name
//	command_required       command has no element
//	env_name_empty         an element of envPassthrough is blank
//	env_name_invalid       an element of envPassthrough is not a name
//	program_leads_upward   command[0] starts with ".."
//	program_escapes_bin    command[0] starts with ./tools/bin/ and leads out of it
//	program_outside_bin    command[0] is relative and does not start with ./tools/bin/
//	program_not_resolvable command[0] is relative and Options.Dir is missing, or the system reserves the name
//
// Codes of further rules:
//
//	command_nul_byte    an element of command contains a NUL byte
//	invalid_timeout     timeoutSec is not a whole number from 0 to 31,536,000
//	invalid_schema      schema is not a JSON Schema for an object
//	unchecked_schema    schema exceeds what this library checks
//	wrong_type          a member has the wrong JSON type
//	wrong_case          the name of a member has the wrong case
//	invalid_option      a field of Options is not valid
//	program_unavailable the program is missing or not executable ([Manifest.CheckPrograms])
//
// Codes of [Manifest.Lint]:
//
//	unknown_member         the document does not define the member
//	no_tools               the manifest declares no tools
//	env_name_case          only the variable in lower case is set, which is not passed
//	name_refused_by_models the APIs of models reject the name
//
// What [schema.Lint] reports of a schema has the code of package schema.
type Problem struct {
	Tool    string `json:"tool,omitempty"` // the name of the tool; "" if it has none or the problem is not about a tool
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the manifest; "" for the whole manifest or an option
	Message string `json:"message"` // one sentence with place and name, in the documented words if there are any
}

// String returns message and code on one line.
func (p Problem) String() string { return p.Message + " [" + p.Code + "]" }
