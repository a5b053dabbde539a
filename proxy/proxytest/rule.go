package proxytest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
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
	must := func(is bool, text string) {
		if !is {
			add("%s", text)
		}
	}
	effects := 0
	for _, has := range []bool{f.Response != nil, f.Status != 0, f.Break != ""} {
		if has {
			effects++
		}
	}
	must(effects <= 1, "has more than one of response, status and break")
	must(effects > 0 || f.Delay != 0, "has no effect: set response, status, break or delay_ms")
	must(f.Tool == "" || f.Trace == "", "names both a tool and a trace event")
	must(f.Trace == "" || f.Response == nil, "has a response, which trace events do not have")
	must(f.Arguments == nil || rawjson.Kind(f.Arguments) == '{' && json.Valid(f.Arguments),
		"arguments must be a JSON object")
	must(f.Response == nil || json.Valid(f.Response), "response is not JSON")
	must(!slices.ContainsFunc(f.Nth, func(n int) bool { return n < 1 }), "nth must be at least 1")
	must(f.Every >= 0, "every must not be negative")
	must(f.Probability >= 0 && f.Probability <= 1, "probability must be between 0 and 1")
	must(f.Status == 0 || f.Status >= 400 && f.Status <= 599, "status must be from 400 to 599")
	must(f.Status != 0 || f.ErrorClass == "" && f.RetryAfter == 0, "error_class and retry_after need a status")
	must(f.RetryAfter >= 0 && f.Delay >= 0, "retry_after and delay_ms must not be negative")
	must(slices.Contains([]string{"", breakReset, breakTruncate, breakOversize}, f.Break),
		"break must be reset, truncate or oversize")
}

// strike returns the first rule that fails this request, or nil. Each rule that fits counts the request,
// even if another rule fails it.
func (v *runRequest) strike(live bool) (hit *FailureRule) {
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	for i := range v.platform.world.rules {
		f := &v.platform.world.rules[i]
		name := f.Tool
		if v.call.Trace && f.Trace != "*" {
			name = f.Trace
		}
		if v.call.Trace != (f.Trace != "") || name != "" && name != v.call.Tool || live && f.Response != nil ||
			f.Arguments != nil && !rawjson.Contains(v.call.Arguments, f.Arguments) {
			continue
		}
		v.run.matched[i]++
		n := v.run.matched[i]
		if hit == nil && (len(f.Nth) == 0 || slices.Contains(f.Nth, n)) && (f.Every == 0 || n%f.Every == 0) &&
			(f.Probability == 0 || chance(v.platform.world.seed, i, n) < f.Probability) {
			hit, v.call.Rule = f, &i
		}
	}
	return hit
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

// fail applies the failure rules to the request. It reports whether one of them answered it.
func (v *runRequest) fail(live bool) (answered bool) {
	rule := v.strike(live)
	if rule == nil {
		return false
	}
	if rule.Delay > 0 {
		select {
		case <-time.After(rule.Delay):
		case <-v.ctx.Done():
			v.abandon()
		}
	}
	switch {
	case rule.Response != nil:
		v.answer(proxy.SourceInjected, rule.Response, nil)
	case rule.Status != 0:
		if rule.RetryAfter > 0 {
			v.w.Header().Set("Retry-After", fmt.Sprint(rule.RetryAfter))
		}
		if rule.Status == http.StatusUnauthorized && httpcall.RunOver(rule.ErrorClass) {
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
