// Package manifest runs programs as tools of an agent. It loads the agent's tool manifest,
// tools.json, as the document [Tools Manifest Reference] describes it.
//
//	m, err := manifest.Load("tools.json", nil)
//	list, _, err := schema.Export(m.Tools(), schema.OpenAIChat)     // the tools, for the model
//	result, err := m.CallForModel(ctx, name, arguments)             // a call of the model
//
// Load checks all that the document demands and reports all problems at once, in the document's
// words. A call checks the arguments against the tool's schema and starts the program without a
// shell. It writes the arguments to stdin, reads stdout and stderr, and returns the line of JSON
// that the program prints.
//
// This package is stable, as the README explains.
//
// # Calls
//
// A call always returns. When its time is over, the process group of the program receives SIGTERM
// and, after [Options.Grace], SIGKILL. The end of the caller's context has the same effect. When a
// program exits, the rest of its process group is killed too. A tool that must leave a process
// running starts it in a session of its own (setsid). A process that holds a pipe of the program
// delays the call for at most 2 s. A call leaves no zombie process and no goroutine behind. The one
// exception is a killed program that the kernel does not end: the call returns after 2 s, and one
// goroutine waits for the program.
//
// A call returns the whole output of the program, or an error. Output over [Options.MaxStdout]
// fails the call. If a process that the program left behind could still have written output,
// Result.Truncated is true. A tool does not have to read its stdin.
//
// # Programs
//
// A program gets the arguments of its command, and no shell reads them. Its environment contains
// PATH and HOME if they are set and not empty, and the variables of envPassthrough that are set.
// On Windows it also contains PATHEXT, SYSTEMROOT, SYSTEMDRIVE, USERPROFILE, TEMP and TMP, because
// most programs do not start without them. Its working directory is the folder of the manifest,
// unless [Options.WorkDir] is set. A manifest works on every system: a backslash separates folders
// everywhere, and on Windows a program without an extension gets .exe.
//
// # Systems
//
// The tests of this package have run on Linux only. For macOS and Windows they are built and vetted,
// and what is said here about these systems follows their documentation. On systems that are neither
// Unix nor Windows programs cannot be started.
//
// On Unix systems other than Linux a program is collected as soon as it exits. If the system gives
// its number to another process group during the wait for its pipes, that group is killed. On Windows
// a program joins a job object right after its start, so a process that it starts before that moment
// survives it. Windows has no SIGTERM: programs are killed at once. If SIGKILL ends the host process,
// its tools keep running, except on Windows, where the job object ends them.
//
// # Errors
//
// A [Manifest] is safe for concurrent use. Every error is an [*Error] with a [toolwire.Code]; [toolwire.CodeOf]
// returns it. Failures of a tool are results for the model: [Manifest.CallForModel] returns
// {"error":"…"} for them, and [Error.ToolResult] does so for the results of [Manifest.Do].
// Error texts contain no argument, no value of an environment variable and no output. What a
// failing tool writes to stderr is in Error.Message and Error.ToolResult only.
//
// # Differences from the original runner
//
// Names of members must have the exact case and must not repeat. timeoutSec must not be negative. A
// schema must describe an object. null, {} and {"tools": null} are manifests without tools, which Lint
// reports. Only ASCII letters of environment names are converted to upper case. Programs run in the
// folder of the manifest instead of the agent's working directory. Output is checked and bounded.
//
// # Codes of errors
//
//	invalid_options      fields of Options are not valid; see Problems
//	unreadable           the file cannot be read
//	limit                the document has more than 4 MiB
//	invalid_json         the document is not strict JSON of the documented shape
//	invalid_manifest     tools break rules; see Problems
//	unknown_tool         the manifest has no tool of that name
//	invalid_arguments    not a JSON object, or not valid by the schema
//	program_unavailable  program or working directory cannot be used
//	canceled             the caller's context was canceled
//	deadline             the caller's deadline passed
//	timeout              timeoutSec or Options.Timeout passed
//	exit_status          the program exited with a status other than 0
//	killed_by_signal     a signal of another sender ended it
//	response_too_large   stdout exceeds Options.MaxStdout
//	bad_response         stdout does not have the format Options.Output
//	tool_failed          [Manifest.Call] only: the output reports a failure
//
// [Tools Manifest Reference]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package manifest
