// Package cassette records on a [tape] what a [run] sends to the platform's [proxy] and to its models,
// and replays the responses without a network, for tests ("[Porting without the SDK]", proxy contract).
//
//	func TestRefund(t *testing.T) {
//		tape := cassette.Open(t, "testdata/refund.jsonl", nil)
//		dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
//			Instruction: "Refund order #4521.", WrapProxy: tape.Wrap,
//		}).AssertOK(t)
//	}
//
// The same test records the tape if it sets [Options.Mode] to [Record], for example by a flag of
// the test. The proxy behind the cassette may then be the world of a test or the platform.
//
// A [Cassette] is an http.Handler that takes the place of a run's proxy, so the agent may be
// written in any language. For an agent in Go it is also a transport. Its [Mode] says whether it
// replays, records, forwards new calls, or compares. A [Recorder] records every run of an agent in
// production on a separate tape.
//
// This package is settling, as the README explains.
//
// # Errors
//
// Every error is an [*Error] that lists all problems. A call that differs from the tape is a
// [Deviation] in the [Report], and fails the test of [Open]. Cassettes and recorders are safe for
// concurrent use.
//
// # In a test kit
//
// With [Cassette.Wrap] as dispatchtest.Task.WrapProxy, the kit records the calls that the tape
// answers as it records others, and its assertions hold in a replay. For assertions about the
// [ledger] the task needs the world of the recording: its behaviors run again for their writes, and
// ledger adapters get the responses of the tape.
//
// # Equal calls
//
// Two calls are equal if their tool, [sub-agent] and arguments are equal. The order of members and
// the spelling of numbers do not matter, nor do the parts that [Options.Ignore] names. Equal calls
// get their responses in turn.
//
// Different calls may come in any order if they were parallel on the tape, in one batch or through
// several workers. Other calls must come in the order of the tape. A call is out of order if it
// began on the tape after all earlier ones had been answered, and more than 100 ms after the call
// that follows it in the run.
//
// Each attempt of a repeated call is on the tape, so a replay also tests how the client waits. A
// call that is not on the tape is refused with 409 and the error class cassette_no_match, which
// clients do not repeat. Trace events and telemetry are answered from the tape if they are on it,
// and accepted otherwise. The agent need not send them.
//
// # Models
//
// [Cassette.Model] and [Recorder.Model] are transports for the SDKs of models. Of a request the tape has
// the method, the kind of the path, such as …/chat/completions or …/models/gemini-2.5-flash:generateContent,
// and the body. Of a response it has the status, the content type, Retry-After, X-Amzn-Errortype,
// X-Should-Retry and the body. Other headers, hosts, accounts, projects and queries are not written. The
// members of a request that are lists of objects, such as messages and tools, are on lines of their own,
// each element once. Of a request that is not JSON the boundary of its parts does not count. If it is not a
// text, or longer than 1 MiB, the tape has its digest.
//
// Two requests are equal if their bodies are the same JSON values. Ids of calls may differ: an id of an
// object with a name counts by its order, and so do the results that name it. [Options.Mask] lists
// what else may differ. Equal requests get their responses in turn; the order of others does not
// matter. A request that is not on the tape is refused with 400, which SDKs do not repeat. The
// deviation shows where it differs from the request on the tape that has the most of its messages. The
// mode [ReplayOrForward] sends it to the model instead, and adds it to the tape.
//
// A replayed stream arrives event by event, without waits. A stream that the agent closes is on the
// tape as far as the agent has read it.
//
// # Secrets
//
// Headers of requests are never written, nor are queries to models. A run token, or a value of a
// header or a query to a model whose name is the name of a secret or ends in key, of 8
// characters or more is removed from names, strings, JSON inside strings, numbers, texts and bodies
// that are not UTF-8. It is recognized when percent-encoded, escaped, within base64, or in pieces of
// a stream too. Then the first piece has the whole text.
//
// Members with the usual names of secrets get the value "[redacted]", in any case and with any
// separators: names that end in token, password, passwd, passphrase, secret, cookie, credential,
// authorization, or api, access, secret or private key. In texts, queries and forms the package
// replaces the headers Authorization and Cookie, what follows Bearer or Basic, what = or : assigns
// to such a name (a word, a quotation, an object or a list), and passwords in URLs.
//
// It cannot recognize a secret elsewhere, such as in a sentence. Name the member with
// [Options.Redact], and read a tape before you publish it. Requests are redacted in the same way
// before they are compared, so calls that differ only in secrets are equal.
//
// # Limits
//
// A request has at most 1 MiB, as documented, and a larger one is refused with 413. A response may
// have 64 KiB more, for the envelope of the proxy. A larger one is passed on and not recorded. Requests
// to models and their responses may have 15 MiB each.
//
// Of tools a tape records three headers: the sub-agent, the content type of the response, and Retry-After in
// seconds. Responses are replayed at once, without their latency.
//
// # Codes of errors
//
//	invalid_options      an argument of New, NewRecorder or Recorder.Begin is not valid
//	no_tape              the file does not exist
//	unreadable           the file cannot be read
//	limit                the file has more than 64 MiB
//	invalid_tape         the file is not a tape, or is damaged; Load returns what it could read
//	unsupported_version  a later release wrote the tape
//	truncated_tape       the tape ends early; Load returns the complete lines
//	unwritable           the tape on disk lacks some or all of the recording
//
// [run]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
// [tape]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#tape-and-log
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
// [ledger]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#ledger
// [sub-agent]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#sub-agent
package cassette
