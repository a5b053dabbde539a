// Package manifest loads tool manifests (tools.json, as in "tools manifest") and runs their programs as tools.
//
//	m, err := manifest.Load("tools.json", nil)
//	out, err := m.Call(ctx, "get_time", json.RawMessage(`{"timezone":"Europe/Helsinki"}`))
//
// Loading checks everything that the document "tools manifest" asks for and reports all problems at once, in its words.
// A call checks the arguments against the tool's schema, starts the program without a shell, with PATH, HOME and the
// allowlisted environment only, writes the arguments to its stdin while reading stdout and stderr, and returns the one
// line of JSON that it prints.
//
// # What a call promises
//
// It returns. A program that does not end in time is asked to (SIGTERM) and then killed (SIGKILL), and so is everything
// it started that stayed in its process group: also after a call that went well, so a tool that must leave something
// running has to start it in a session of its own (setsid). A process that holds a pipe cannot delay the call beyond
// [Options.PipeWait]. The caller's context ends a call in the same way. No zombie and no goroutine is left,
// unless the kernel does not let a killed program go: the call then returns after a further PipeWait all the same, and one
// goroutine stays to collect it.
//
// It returns the whole output of the program, or an error: output over [Options.MaxStdout] fails the call. What a process
// that the program left behind would have printed after PipeWait is not waited for; Result.Truncated then says that some
// may be missing. A tool that does not read its stdin succeeds, if it exits with status 0.
//
// # What a program gets
//
// Its argv is that of the manifest; no shell is involved. Its environment is PATH and HOME, where they are set and not
// empty, and what envPassthrough allows and is set. Windows programs need more to start at all: there PATHEXT,
// SYSTEMROOT, SYSTEMDRIVE, USERPROFILE, TEMP and TMP belong to the base. Its working directory is the manifest's folder,
// unless [Options.WorkDir] says otherwise. The same tools.json serves every system: a backslash separates folders
// everywhere, and on Windows a program named without extension gets .exe.
//
// # Systems
//
// Linux and macOS are supported in full. On Windows the program is put into a job object right after its start; a
// process that it starts before that is not killed with it. Windows has no SIGTERM: a program is killed at once. A host
// that is itself killed with SIGKILL cannot end its tools; on Windows the job object does.
//
// # Failures
//
// What a tool gets wrong is data for the model: [Manifest.CallForModel] returns {"error":"…"} for it, and [Error.ToolResult]
// does so for the results of [Manifest.CallAll]. Errors of this package are of the type [*Error] and carry a stable [Code]. Their texts hold
// no argument and no environment value, nor anything that a tool printed; what a failing tool itself writes to stderr is
// passed on in Error.Message and Error.Hint only.
//
// The original runner differs in these points: member names are matched exactly and duplicate ones refused; a negative
// timeoutSec and a schema that is not one of an object are refused; environment names are upper-cased in ASCII only;
// programs run in the manifest's folder, not in that of the agent; output is checked and capped.
package manifest
