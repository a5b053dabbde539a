package manifest

import "strings"

// Code says what went wrong, in a form that a program can compare. The values are stable.
type Code string

// Codes of [Load], [LoadFS] and [Parse].
const (
	CodeOptions Code = "invalid_options"  // Options contradict themselves; Problems lists how
	CodeRead    Code = "read_manifest"    // the file cannot be read
	CodeParse   Code = "parse_manifest"   // it is not one strict JSON document of the documented shape
	CodeInvalid Code = "invalid_manifest" // its tools break rules; Problems lists all of them
)

// Codes of calls. [Error.FromTool] tells which of them are the tool's own doing.
const (
	CodeUnknownTool    Code = "unknown_tool"        // the manifest has no tool of that name
	CodeArguments      Code = "invalid_arguments"   // not a JSON object, or not what the tool's schema asks for
	CodeUnavailable    Code = "program_unavailable" // the program, or its working directory, is missing or cannot be executed
	CodeTimeout        Code = "timeout"             // the tool's timeoutSec, or Options.Timeout, has passed
	CodeCanceled       Code = "canceled"            // the caller's context was cancelled; matches context.Canceled
	CodeDeadline       Code = "deadline_exceeded"   // the caller's deadline has passed; matches context.DeadlineExceeded
	CodeExit           Code = "exit_status"         // the program ended with a status other than 0
	CodeSignal         Code = "killed_by_signal"    // a signal ended the program, and the library had not sent it
	CodeOutputTooLarge Code = "output_too_large"    // stdout has more than Options.MaxStdout bytes
	CodeOutput         Code = "invalid_output"      // stdout is not what Options.Output asks for
)

// Error is the error of this package; find it with errors.As. It holds no argument and no environment value, except that
// Message and Hint of a tool that failed by itself are the tool's own words, which may repeat one. Its text leaves them out.
type Error struct {
	Code Code
	Tool string // the tool concerned; "" when it is about the manifest

	// Message is short and fit for a model, without a path of this machine: [Error.ToolResult] contains it. If a tool failed
	// by itself, it is the tool's own explanation, read from its stderr, and not a part of the error's text.
	Message string
	// Hint is what the tool itself suggests to do, from the "hint" member of its error.
	Hint string

	// Problems lists everything that is wrong, in the order of the manifest: for CodeInvalid, CodeOptions, and
	// for the CodeUnavailable of [Manifest.CheckPrograms].
	Problems []Problem

	detail string   // what Error says after the tool's name, when that is more than Message
	tools  []string // the names that there are, for CodeUnknownTool
	object []byte   // a JSON value, no longer than a message, that the tool gave instead of a text
	err    error
}

// Error lists the problems of a manifest one per line, in the documented words. Of a call it names the tool and says
// what to do, without anything that the tool wrote.
func (e *Error) Error() string {
	if len(e.Problems) > 0 {
		lines := make([]string, len(e.Problems))
		for i, p := range e.Problems {
			lines[i] = p.Message
		}
		return strings.Join(lines, "\n")
	}
	text := e.Message
	if e.detail != "" {
		text = e.detail
	}
	if e.Tool == "" {
		return text
	}
	return "manifest: tool " + quoteName(e.Tool) + ": " + text
}

// Unwrap returns the cause: the error of the operating system, of the context (and its cause), or of the arguments'
// schema.
func (e *Error) Unwrap() error { return e.err }

// FromTool reports whether the tool's program is at fault, rather than the manifest, the arguments, the machine or the
// caller's context.
func (e *Error) FromTool() bool {
	switch e.Code {
	case CodeTimeout, CodeExit, CodeSignal, CodeOutputTooLarge, CodeOutput:
		return true
	}
	return false
}

// Problem is one thing that is wrong with a manifest, or worth a look.
type Problem struct {
	Index   int    // the tool's zero-based place in the manifest; -1 when it is about no single tool
	Name    string // the tool's name; "" when it has none
	Field   string // the member concerned, for example "command[0]" or "envPassthrough[2]"
	Rule    Rule
	Message string // a whole sentence with place and name, in the documented words where there are any
}

// Rule is the stable name of a rule that a manifest can break.
type Rule string

// Rules that make a manifest invalid. The first nine are those of the tools manifest, in the order in which they are
// reported for one tool.
const (
	RuleNameRequired    Rule = "name_required"
	RuleDuplicateName   Rule = "duplicate_name"
	RuleCommandRequired Rule = "command_required"
	RuleEnvEmpty        Rule = "env_name_empty"
	RuleEnvInvalid      Rule = "env_name_invalid"
	RuleProgramUpward   Rule = "program_leads_upward"
	RuleProgramEscapes  Rule = "program_escapes_bin"
	RuleProgramOutside  Rule = "program_outside_bin"
	RuleProgramResolve  Rule = "program_not_resolvable"
	RuleCommandNUL      Rule = "command_nul_byte"
	RuleTimeout         Rule = "invalid_timeout"
	RuleSchema          Rule = "invalid_schema"
	RuleType            Rule = "wrong_type"
	RuleSpelling        Rule = "wrong_case"
	RuleOption          Rule = "invalid_option"
	RuleProgramMissing  Rule = "program_unavailable"
)

// Rules of [Manifest.Lint]: such a manifest loads.
const (
	LintUnknownMember Rule = "unknown_member"
	LintNoTools       Rule = "no_tools"
	LintModelName     Rule = "name_refused_by_models"
)
