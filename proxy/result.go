package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A Source tells where a result came from. Later releases of the platform may add others. Treat an
// unknown source like [SourceOdyssey].
type Source string

const (
	SourceOdyssey        Source = "odyssey"         // the platform's simulator
	SourceInjected       Source = "injected"        // a failure rule of the task; see [Result.MatchedRule]
	SourcePassthrough    Source = "passthrough"     // a live tool behind the platform
	SourceError          Source = "error"           // the simulator found no valid response
	SourceTransportError Source = "transport_error" // the live tool could not be reached
	SourceLedgerRead     Source = "ledger_read"     // a declared read from the world state
)

// Result is the proxy's response to one call. The caller owns its slices.
type Result struct {
	// Response is the tool's result: any JSON value, unchanged.
	Response json.RawMessage

	Source      Source
	LatencyMS   float64 // milliseconds, as measured by the proxy
	MatchedRule *int64  // matched_rule_index: the failure rule that made the result; nil for none

	// Validation is the simulator's report on its own output, as JSON. It is nil if the proxy sent
	// none, as with every source except odyssey.
	Validation json.RawMessage

	Tool     string // the name that was called
	Attempts int    // requests it took
}

// Failed reports whether the tool itself failed: the source is error or transport_error, or the
// response is an object with a member error that is not null, false, "", 0, [] or {}.
func (r *Result) Failed() bool {
	return r.Source == SourceError || r.Source == SourceTransportError || toolresult.Failed(r.Response)
}

// resultLimits is how answers of the proxy are read: the agent gets a result in which two members have
// one name.
var resultLimits = rawjson.Limits{Mode: rawjson.Liberal}

var envelopeMembers = []string{"tool_name", "response", "source", "latency_ms", "matched_rule_index", "validation"}

// decodeResult takes the proxy's envelope apart. The tool's own result is never looked into, only
// checked to be JSON.
func (r *run) decodeResult(tool string, ans answer) (*Result, *Error) {
	failure := func(code toolwire.Code, err error) *Error {
		return &Error{Code: code, Delivery: Unknown, Tool: tool, Status: ans.status, Attempts: ans.attempts, Err: err}
	}
	if ans.status != http.StatusOK && !hasResponse(ans.body) {
		return nil, failure(toolwire.CodeUnexpectedStatus, errors.New("the body has no member response"))
	}
	result := &Result{Tool: tool, Attempts: ans.attempts}
	err := rawjson.Read(ans.body, resultLimits, func(read *rawjson.Reader) error {
		return read.Object(nil, func(name string) (err error) { // later members may differ from these by case
			switch name {
			case "response":
				result.Response, err = read.Value()
			case "source":
				if read.Kind() == '"' {
					var source string
					source, err = read.Known(string(SourceOdyssey))
					result.Source = r.source(source)
				}
			case "latency_ms": // a member of the wrong type, other than response, does not cost a result
				var v json.RawMessage
				v, err = read.Value()
				if ms, wrong := strconv.ParseFloat(string(v), 64); wrong == nil {
					result.LatencyMS = ms
				}
			case "matched_rule_index":
				number := read.Kind() == '0'
				var v json.RawMessage
				if v, err = read.Value(); err == nil && number {
					result.MatchedRule, _ = rawjson.Decode[*int64](v, name)
				}
			case "validation":
				result.Validation, err = read.Value()
			}
			return err
		}, envelopeMembers...)
	})
	switch {
	case err != nil:
		e := failure(toolwire.CodeBadResponse, r.withoutSecrets(err))
		e.foreign = result.Response == nil && result.Source == ""
		return nil, e
	case result.Response == nil:
		e := failure(toolwire.CodeBadResponse, errors.New("the answer has no member response"))
		e.foreign = result.Source == ""
		return nil, e
	case len(result.Response) > httpcall.BodyBytes: // the body of the answer may be larger, by the envelope
		return nil, failure(toolwire.CodeResponseTooLarge,
			fmt.Errorf("the result has %d bytes; the limit is %d", len(result.Response), httpcall.BodyBytes))
	}
	return result, nil
}

// hasResponse reports whether an answer is an object with the member response.
func hasResponse(body []byte) (found bool) {
	_ = rawjson.Read(body, resultLimits, func(read *rawjson.Reader) error {
		if read.Kind() != '{' {
			return nil
		}
		return read.Object(nil, func(name string) error {
			found = found || name == "response"
			return nil
		})
	})
	return found
}

// unusable is the error for a result that [Call] cannot return as a T.
func (r *Result) unusable(code toolwire.Code, err error) *Error {
	return &Error{Code: code, Delivery: Unknown, Tool: r.Tool, Status: 200, Attempts: r.Attempts, Result: r, Err: err}
}
