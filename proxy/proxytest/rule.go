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

// A FailureRule makes calls fail. The platform does not document the format of its failure_rules.
// In JSON, [ParseRules] reads a list of objects such as
//
//	{"tool": "refund_order", "arguments": {"order_id": "4521"}, "nth": [1, 2],
//	 "status": 503, "error_class": "lock_contention", "retry_after": 1}
//	{"tool": "get_order", "every": 3, "response": {"error": "the backend is busy"}}
//	{"probability": 0.1, "delay_ms": 1500}
//	{"tool": "get_order", "nth": 1, "break": "truncate"}
//	{"trace": "*", "status": 503, "error_class": "trace_sequence_contended"}
//
// A rule applies to a request that matches all its conditions. If several rules apply, only the
// first has an effect; [Call].Rule is its index. Every HTTP request counts, so each attempt of a
// repeated call counts.
type FailureRule struct {
	// Tool is the name of the tool; "" matches any. If Trace is set, the rule is for trace events
	// of this type; "*" matches any.
	Tool  string
	Trace string

	// Arguments is a JSON object that the arguments must contain. Objects in the arguments may have
	// more members; other values must be equal.
	Arguments json.RawMessage

	// Nth lists the requests that fail. Every makes every n-th request fail. Both count the
	// requests of a run that match Tool or Trace and Arguments, from 1.
	Nth   []int
	Every int

	// Probability is the probability that a request fails, from 0 to 1. 0 is the default: every
	// request fails. The seed of the world decides, so the same requests fail in every run.
	Probability float64

	// Response is the result of the call, as JSON, with the source injected. It is for tools in
	// sandbox mode: a rule without Tool does not apply to tools in passthrough mode.
	Response json.RawMessage

	// Status is the HTTP status of an error response, from 400 to 599. ErrorClass is its error
	// class. RetryAfter is its header Retry-After in seconds, if it is not 0. A 401 with a class
	// run_token_… ends the run.
	Status     int
	ErrorClass string
	RetryAfter int

	// Break breaks the response or the connection. The agent cannot know whether the tool has run.
	//
	//	reset      the connection is reset; the tool has not run
	//	truncate   the connection ends in the body of the response; the tool has run
	//	oversize   the body of the response has more than 1 MiB; the tool has run
	Break string

	// Delay delays the response, alone or with another effect. In JSON it is delay_ms, in
	// milliseconds.
	Delay time.Duration
}

// The values of [FailureRule].Break.
const (
	breakReset    = "reset"
	breakTruncate = "truncate"
	breakOversize = "oversize"
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
	if !slices.Contains([]string{"", breakReset, breakTruncate, breakOversize}, f.Break) {
		add("break must be reset, truncate or oversize")
	}
}

// fits reports whether the rule is for such a request. It does not consider the number of the
// request.
func (f *FailureRule) fits(v *runRequest, live bool) bool {
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
	x := h.Sum64() // FNV mixes its last bytes badly; the rest of the function mends that
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / math.Exp2(53)
}

// strike returns the index of the first rule that fails this request, or -1. Each rule that fits
// counts the request, even if another rule fails it.
func (v *runRequest) strike(live bool) int {
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

// fail applies the failure rules to the request. It reports whether one of them answered it.
func (v *runRequest) fail(live bool) (answered bool) {
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
		v.answer(proxy.SourceInjected, rule.Response, nil)
	case rule.Status != 0:
		if rule.RetryAfter > 0 {
			v.w.Header().Set("Retry-After", fmt.Sprint(rule.RetryAfter))
		}
		if rule.Status == http.StatusUnauthorized && isRunOver(rule.ErrorClass) {
			v.run.End(rule.ErrorClass)
		}
		v.refuse(rule.Status, rule.ErrorClass, "a failure rule of the task refuses the call")
	case rule.Break == breakReset:
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

// wait waits for d. It returns false if the agent cancels the request meanwhile.
func (v *runRequest) wait(d time.Duration) bool {
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
