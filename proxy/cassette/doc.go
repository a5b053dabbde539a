// Package cassette keeps runs of an agent on tapes: it records what a run and the platform's proxy say to each other, and
// plays the proxy's side back, offline, as a test ("Porting without the SDK", proxy contract).
//
//	func TestRefund(t *testing.T) {
//		tape := cassette.Open(t, "testdata/refund.jsonl", nil)
//		dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
//			Instruction: "Refund order #4521.", WrapProxy: tape.Wrap,
//		}).AssertOK(t)
//	}
//
// The tape is recorded by the same test, when it is told to: with a flag of its own, for example, that sets
// [Options.Mode] to [Record], and a proxy behind it, which may be the world of a test or the platform.
//
// A [Cassette] is an http.Handler that stands where a run's proxy stands, so the agent may be written in any language; for an
// agent in Go it is a transport, too. Its [Mode] says whether it replays, records, forwards what is new, or compares. With a
// [Recorder] an agent in production records every run on a tape of its own.
//
// # What is equal
//
// A call is on the tape if tool, sub-agent and arguments are equal: the order of members and the spelling of numbers do not
// matter, nor do the parts that [Options.Ignore] names. Equal calls get their answers in turn. The order of different calls
// is free where they were parallel on the tape, be it all at once or through several workers. Where one began when all before
// it had been answered, and more than 100 ms after another had begun, it is reported if it comes before that one. Attempts
// that a client repeated are on the tape one by one, so that its waiting is tested, too. A call that is not on the tape is
// refused with 409 and the error class cassette_no_match, which no client repeats.
//
// # Secrets
//
// The headers Authorization and X-Pipelines-Run-Token are never written, and a run token of 8 characters or more nowhere else
// either: it is looked for in names, strings, JSON inside strings, numbers, texts and what is no UTF-8, also percent-encoded,
// escaped, or within base64. Members with the usual names of secrets have [Redacted] for a value, whatever the case and
// separators: names that end in token, password, passwd, passphrase, secret, cookie, credential, authorization, or api,
// access, secret or private key. In texts, queries and forms the headers Authorization and Cookie, what follows Bearer or
// Basic, what = or : assigns to such a name (a word, a quotation, an object or a list), and passwords in URLs are replaced. A
// secret that stands elsewhere, such as in a sentence, cannot be told: name its member in [Options.Redact], and look at a tape
// before it is published. Requests are redacted in the same way before they are compared, so calls that differ in secrets
// only are equal.
//
// # What a tape does not have
//
// Of headers it has the sub-agent, the answer's content type and Retry-After, the latter in seconds. Answers are replayed at
// once, whatever time they took.
package cassette
