package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// concurrent dispatches two runs at the same time.
func (c *checkup) concurrent(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	before := c.setup.Run.Log().LastOrder()
	var values [2]string
	var arrived [2]chan struct{} // closed by the first tool call of a run, or by its end
	var once [2]sync.Once
	var runs [2]*episode
	var faults [2]any
	for i := range runs {
		values[i], arrived[i] = canary(), make(chan struct{})
	}
	var wait sync.WaitGroup
	for i := range runs {
		runs[i] = &episode{alter: func(q *request) *reply {
			if q.tool == "" {
				return nil
			}
			once[i].Do(func() { close(arrived[i]) })
			patience := time.NewTimer(2 * time.Second) // an agent may work on one run at a time
			defer patience.Stop()
			select {
			case <-arrived[1-i]:
			case <-patience.C:
			case <-ctx.Done():
			}
			return &reply{response: json.RawMessage(fmt.Sprintf(`{"doctor":%q}`, values[i]))}
		}}
		wait.Go(func() {
			defer func() { faults[i] = recover() }()
			defer once[i].Do(func() { close(arrived[i]) })
			c.dispatchAgain(ctx, runs[i])
		})
	}
	wait.Wait()
	if fault := cmp.Or(faults[0], faults[1]); fault != nil {
		panic(fault)
	}
	const do = "Make the agent and its tools inside the request handler, with the proxy URL and the run token of that request. " +
		"Keep neither in a global variable, a singleton or the environment."
	var foreign []string
	for _, e := range runs {
		foreign = append(foreign, tools(e.seen(func(q *request) bool { return !q.own }))...)
	}
	var f Finding
	switch late := c.setup.Run.Log().LastOrder() > before; {
	case len(foreign) > 0:
		f = failed(do, "a run called the proxy with the token or the URL of another run")
	case late:
		f = failed(do, "two further runs called the proxy of the first run")
	case shows(runs[0].said(), values[1]) || shows(runs[1].said(), values[0]):
		f = failed(do, "the answer of one run has the results of another")
	case !runs[0].result.WouldBeGraded() || !runs[1].result.WouldBeGraded():
		failing := runs[0]
		if failing.result.WouldBeGraded() {
			failing = runs[1]
		}
		if status := failing.result.Dispatch.Status; status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			f = warning("Let the endpoint take as many runs as the platform dispatches at the same time.",
				"one of two runs at the same time was rejected with %d, so it is not known whether they keep apart", status)
			f.Rule, f.Severity = `No document says how many runs the platform dispatches at the same time.`, Inferred
			break
		}
		f = failed(do, "one of two runs at the same time failed: %s", c.failure(failing.result))
	case idle(runs[0]) != nil || idle(runs[1]) != nil:
		return *cmp.Or(idle(runs[0]), idle(runs[1]))
	default:
		f = good("two runs at the same time keep their tokens, URLs and results apart")
	}
	return c.note(concurrentRuns, f, "two dispatches at the same time, with their own run tokens and proxy URLs")
}

// onlyHeaders removes from the body what the headers have, too.
func (c *checkup) onlyHeaders(ctx context.Context) Finding {
	return c.stripped(ctx, headersOnly, "a dispatch without odyssey_proxy_url, run_id and run_token_jti in its body",
		"Take the proxy URL from the header X-Pipelines-Odyssey-Proxy-URL if the body does not have it.",
		func(body map[string]json.RawMessage, _ http.Header) {
			for _, name := range []string{"odyssey_proxy_url", "run_id", "run_token_jti"} {
				delete(body, name)
			}
		})
}

// onlyBody removes from the headers what the body has, too.
func (c *checkup) onlyBody(ctx context.Context) Finding {
	return c.stripped(ctx, bodyOnly, "a dispatch whose only header of the platform is X-Pipelines-Run-Token",
		"Take the proxy URL and the ids from the body if there are no headers with them.",
		func(_ map[string]json.RawMessage, header http.Header) {
			for name := range header {
				if strings.HasPrefix(name, "X-Pipelines-") && name != "X-Pipelines-Run-Token" {
					header.Del(name)
				}
			}
		})
}

// stripped dispatches the sample with parts left out. It should run as before.
func (c *checkup) stripped(ctx context.Context, name Name, sent, do string, edit func(map[string]json.RawMessage, http.Header)) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	e := c.dispatchAgain(ctx, &episode{edit: edit})
	f := good("the run completes as before")
	switch {
	case !e.result.WouldBeGraded():
		f = failed(do, "the run failed: %s", c.failure(e.result))
	case len(e.result.Calls) == 0:
		f = warning(do, "no tool call arrives, although the sample made %s", count(len(c.result.Calls), "tool call"))
	}
	return c.note(name, f, sent)
}
