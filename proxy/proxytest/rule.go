package proxytest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy"
)

// A FailureRule makes calls fail that would have gone well: it says which, and what becomes of them. The platform's own
// format is not documented; this one is as JSON, in [ParseRules], a list of objects such as
//
//	{"tool": "refund_order", "arguments": {"order_id": "4521"}, "nth": [1, 2],
//	 "status": 503, "error_class": "lock_contention", "retry_after": 1}
//	{"tool": "get_order", "every": 3, "response": {"error": "the backend is busy"}}
//	{"probability": 0.1, "delay_ms": 1500}
//	{"tool": "get_order", "nth": 1, "break": "truncate"}
//	{"trace": "*", "status": 503, "error_class": "trace_sequence_contended"}
//
// A rule applies when everything that it says about the call holds. Of several the first has its effect, and
// [Call].Rule tells which. Every HTTP request counts, so a call that the client repeats is counted again.
type FailureRule struct {
	// Tool is the tool concerned; "" is any. Trace is the type of the trace events concerned instead, "*" for any.
	Tool  string
	Trace string

	// Arguments is a JSON object that the arguments must contain: objects may have more members, other values are equal.
	Arguments json.RawMessage

	// Nth are the requests that fail, Every lets every such one fail; both count, from 1 and per run, the requests that
	// fit Tool or Trace and Arguments.
	Nth   []int
	Every int

	// Probability is how likely a request fails, between 0 and 1; 0 is certain. The world's seed decides, so that the
	// same requests fail in every run.
	Probability float64

	// Response is the call's result, with the source injected. For tools in sandbox mode only: without Tool, calls of
	// tools in passthrough mode are passed over.
	Response json.RawMessage

	// Status is the HTTP status of an error answer, from 400 to 599, with ErrorClass and, if not 0, with the header
	// Retry-After in seconds. A 401 with one of the classes run_token_… ends the run.
	Status     int
	ErrorClass string
	RetryAfter int

	// Break damages the answer.
	Break Break

	// Delay is how long the call takes longer, alone or beside one of the other effects. In JSON delay_ms, milliseconds.
	Delay time.Duration
}

// A Break is a way in which an answer arrives damaged.
type Break string

// The ways. The agent cannot tell whether the tool has run: with the first it has not, with the others it has, and what it
// wrote to the ledger is there.
const (
	Reset    Break = "reset"    // the connection is reset
	Truncate Break = "truncate" // the connection ends in the middle of the answer's body
	Oversize Break = "oversize" // the answer's body is larger than [Options].MaxBytes
)

// validate adds what is wrong with the rule.
func (f *FailureRule) validate(add func(format string, args ...any)) {
	effects := 0
	for _, has := range []bool{f.Response != nil, f.Status != 0, f.Break != ""} {
		if has {
			effects++
		}
	}
	if effects > 1 {
		add("has more than one of response, status and break")
	}
	if effects == 0 && f.Delay == 0 {
		add("has no effect: set response, status, break or delay_ms")
	}
	if f.Tool != "" && f.Trace != "" {
		add("names both a tool and a trace event")
	}
	if f.Trace != "" && f.Response != nil {
		add("has a response, which trace events do not have")
	}
	if f.Arguments != nil && (rawjson.Kind(f.Arguments) != '{' || !json.Valid(f.Arguments)) {
		add("arguments must be a JSON object")
	}
	if f.Response != nil && !json.Valid(f.Response) {
		add("response is not JSON")
	}
	if slices.ContainsFunc(f.Nth, func(n int) bool { return n < 1 }) {
		add("nth must be at least 1")
	}
	if f.Every < 0 {
		add("every must not be negative")
	}
	if !(f.Probability >= 0 && f.Probability <= 1) {
		add("probability must be between 0 and 1")
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		add("status must be from 400 to 599")
	}
	if f.Status == 0 && (f.ErrorClass != "" || f.RetryAfter != 0) {
		add("error_class and retry_after need a status")
	}
	if f.RetryAfter < 0 || f.Delay < 0 {
		add("retry_after and delay_ms must not be negative")
	}
	if !slices.Contains([]Break{"", Reset, Truncate, Oversize}, f.Break) {
		add("break must be reset, truncate or oversize")
	}
}

// fits reports whether the rule is about such a request at all, whatever its number.
func (f *FailureRule) fits(v *visit, live bool) bool {
	switch {
	case v.call.Trace != (f.Trace != ""),
		v.call.Trace && f.Trace != "*" && f.Trace != v.call.Tool,
		!v.call.Trace && f.Tool != "" && f.Tool != v.call.Tool,
		live && f.Response != nil:
		return false
	}
	return f.Arguments == nil || rawjson.Contains(v.call.Arguments, f.Arguments)
}

// strikes reports whether the rule fails the n-th request that it fits.
func (f *FailureRule) strikes(seed uint64, index, n int) bool {
	if len(f.Nth) > 0 && !slices.Contains(f.Nth, n) || f.Every > 0 && n%f.Every != 0 {
		return false
	}
	return f.Probability == 0 || chance(seed, index, n) < f.Probability
}

// chance is a number in [0, 1) that depends on its arguments alone.
func chance(seed uint64, numbers ...int) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed, numbers)
	x := h.Sum64() // FNV mixes its last bytes badly, which a finalizer mends
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / math.Exp2(53)
}

// strike returns the index of the first rule that fails this request, or -1. Every rule counts, whichever comes first.
func (v *visit) strike(live bool) int {
	rules := v.platform.world.rules
	if len(rules) == 0 {
		return -1
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	hit := -1
	for i := range rules {
		if !rules[i].fits(v, live) {
			continue
		}
		v.run.matched[i]++
		if hit < 0 && rules[i].strikes(v.platform.world.seed, i, v.run.matched[i]) {
			hit = i
		}
	}
	return hit
}

// fail gives the request to the failure rules. It reports whether that was the answer.
func (v *visit) fail(live bool) (answered bool) {
	hit := v.strike(live)
	if hit < 0 {
		return false
	}
	rule := &v.platform.world.rules[hit]
	v.call.Rule = &hit
	if !v.wait(rule.Delay) {
		v.abandon()
	}
	switch {
	case rule.Response != nil:
		v.call.Response, v.call.Source = rule.Response, proxy.SourceInjected
		v.answer(nil)
	case rule.Status != 0:
		if rule.RetryAfter > 0 {
			v.w.Header().Set("Retry-After", fmt.Sprint(rule.RetryAfter))
		}
		if rule.Status == http.StatusUnauthorized && isRunOver(rule.ErrorClass) {
			v.run.End(rule.ErrorClass)
		}
		v.refuse(rule.Status, rule.ErrorClass, "a failure rule of the task says so", "")
	case rule.Break == Reset:
		v.reset()
	default:
		v.damage = rule.Break
		return false
	}
	return true
}

func isRunOver(class string) bool {
	return class == "run_token_expired" || class == "run_token_invalid" || class == "run_token_rejected"
}

// wait sleeps; false when the agent gave up meanwhile.
func (v *visit) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-v.ctx.Done():
		return false
	}
}
