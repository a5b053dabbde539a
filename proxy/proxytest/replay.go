package proxytest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// replay records a request that a tape has answered. The agent has that answer, so nothing is sent.
// The ledger changes as if the world had answered: a behavior of World.Behaviors makes its writes,
// and the ledger adapter of a tool in passthrough mode gets the recorded response. Failure rules and
// the rate limit do not apply, because the tape has their effects.
func (v *runRequest) replay(a memhttp.Replayed) {
	v.call.Notes = append(v.call.Notes, "answered from a tape")
	switch {
	case a.Broken != "" || a.Status == 0:
		if a.Status != 0 && !v.call.Trace { // the tool has run; only its response is lost
			v.repeatWrites()
		}
		v.record("the answer on the tape is not complete: " + a.Broken)
	case a.Status != http.StatusOK:
		v.call.Status = a.Status
		refusal := httpcall.ReadRefusal(nil, a.Body, nil)
		v.call.ErrorClass = refusal.ProxyClass(nil)
		v.record(refusal.Message())
	case v.to.plane == "traces" || v.to.plane == "telemetry":
		v.run.acceptTrace(v.call, v.to.plane == "telemetry")
	case v.to.plane != "tools":
		v.run.forget(v.call.Order)
	default:
		v.replayResult(a.Body)
	}
}

// replayResult records a call that has a result.
func (v *runRequest) replayResult(body []byte) {
	v.call.Status, v.call.Response = http.StatusOK, member(body, "response")
	v.call.Source = proxy.Source(rawjson.Unquote(member(body, "source")))
	if v.call.Source == proxy.SourceInjected {
		_ = json.Unmarshal(member(body, "matched_rule_index"), &v.call.Rule) // stays nil if it is not a number
	}
	tool := v.platform.world.tools[v.call.Tool]
	switch {
	case tool == nil:
	case tool.live:
		v.call.Policy = tool.declared.WritePolicy()
		if v.call.Source == proxy.SourcePassthrough {
			v.adapt(tool, v.call.Response)
		}
	case v.call.Source == proxy.SourceOdyssey || v.call.Source == proxy.SourceError:
		v.repeatWrites()
	}
	v.run.finish(v.call, v.key)
}

// repeatWrites runs the behavior of a tool in sandbox mode for its writes. Generated results write
// nothing, and World.Simulator is not asked again.
func (v *runRequest) repeatWrites() {
	tool := v.platform.world.tools[v.call.Tool]
	if tool == nil || tool.live || !tool.own {
		return
	}
	request := v.request(tool)
	defer request.leave()
	if _, err := v.ask(tool.behavior, request); err != nil && v.call.Source == proxy.SourceOdyssey {
		v.call.Notes = append(v.call.Notes, fmt.Sprintf("the behavior failed, so its writes may be missing: %v", err))
	}
	v.call.Writes = request.writes
}

// adapt applies the ledger adapter of a tool in passthrough mode to its result.
func (v *runRequest) adapt(tool *tool, result json.RawMessage) {
	if tool.declared.WritePolicy() != schema.PolicyAdapter {
		return
	}
	outcome := tool.adapter.Eval(v.call.Arguments, result)
	v.call.Adapter = &outcome
	v.call.Notes = append(v.call.Notes, adapterNotes(outcome)...)
	if len(outcome.Updates) > 0 {
		v.run.ledgerTurn <- struct{}{}
		v.call.Writes = v.run.state.Apply(outcome.Updates...)
		<-v.run.ledgerTurn
	}
}
