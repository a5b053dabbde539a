package testrun

import (
	"math"
	"slices"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Late returns a log with the events after the answer with the order answered, and whether there are any.
func Late(log *proxytest.Log, answered int) (late *proxytest.Log, found bool) {
	late = Between(log, answered, math.MaxInt)
	return late, len(late.Calls)+len(late.Refused)+len(late.Traces)+len(late.Telemetry) > 0
}

// Between returns a log with the events after the one with the order from, up to the one with the
// order to. Everything else is taken from the whole log.
func Between(log *proxytest.Log, from, to int) *proxytest.Log {
	part := *log
	out := func(order int) bool { return order <= from || order > to }
	part.Calls = slices.DeleteFunc(slices.Clone(log.Calls), func(c proxytest.Call) bool { return out(c.Order) })
	part.Refused = slices.DeleteFunc(slices.Clone(log.Refused), func(c proxytest.Call) bool { return out(c.Order) })
	part.Traces = slices.DeleteFunc(slices.Clone(log.Traces), func(t proxytest.Trace) bool { return out(t.Order) })
	part.Telemetry = slices.DeleteFunc(slices.Clone(log.Telemetry), func(t proxytest.Trace) bool { return out(t.Order) })
	return &part
}
