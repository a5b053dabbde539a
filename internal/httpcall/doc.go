// Package httpcall makes one outgoing HTTP call: it sends a request, reads the whole response
// within a limit of bytes and time, and reports what is known about a call that failed. Every
// client of this module uses it.
//
// A client keeps one [Client] and calls [Client.Do] for each attempt:
//
//	caller := httpcall.Client{
//		Transport: transport, Peer: "the catalog", Timeout: 30 * time.Second, MaxBytes: 1 << 20,
//	}
//	answer, failure := caller.Do(ctx, request, nil)
//	switch {
//	case answer.Status != 0 && (answer.Status < 200 || answer.Status > 299):
//		return refusal(answer) // answer.Body may be incomplete if failure is not nil
//	case failure != nil:
//		return failed(failure) // failure.Kind, failure.NotSent; failure.Err has a text that is safe to show
//	}
//	return read(answer.Body)
//
// # What Do guarantees
//
//   - Do returns when ctx or the time limit ends, even if the peer stops sending or switches
//     protocols. It then closes the body, so a call lasts as long as a body of a custom transport that
//     ignores Close, as with net/http. The transport's RoundTrip itself must return when the context of
//     its request ends, as http.RoundTripper requires.
//   - Redirects are followed only if Client.Redirect is set, so that a token stays with its receiver.
//   - The response of 101 Switching Protocols is closed unread. It is an answer with the status 101
//     and no body.
//   - At most Client.MaxBytes of a body are kept, after decompression, whatever its headers say.
//   - Failure.NotSent is true only if no complete request can have reached the peer.
//   - The texts of failures contain no URL and no words of the peer.
//
// # Repeating
//
// [Policy.Repeat] is the loop around Do for clients that repeat. It computes the waits, obeys
// Retry-After and the deadline of the context, and reports why it stopped:
//
//	stop := policy.Repeat(ctx, func(number int) httpcall.Next {
//		answer, failure = caller.Do(ctx, request, nil)
//		after, _ := httpcall.RetryAfter(answer.Header)
//		return httpcall.Next{Again: mayRepeat(answer, failure), After: after}
//	}, nil)
//
// # Parts
//
// Code that passes responses on uses [RoundTrip] and [ReadStart]. [ContextError] and [Describe] word errors,
// [RetryAfter] reads the header, [ReadRefusal] reads the body of a refusal, and [NewTransport] has the settings
// that all default transports of this module share.
//
// The package internal/httpcall/faulttest has the table of faults that a client must survive.
package httpcall
