package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// bigBody is larger than any dispatch. A session of many turns, each with results of up to 1 MiB,
// stays below 16 MiB.
const bigBody = 32 << 20

// bodyLimit sends a ping with white space, so that an endpoint that accepts it runs no agent.
func (c *checkup) bodyLimit(ctx context.Context) Finding {
	const do = "Bound the request body, at 16 MiB for example, and answer 413 without reading the rest."
	a := c.send(ctx, probe{
		pad: bigBody - int64(len(aPing)), body: aPing, auth: c.setup.Target.AuthValue,
		header: http.Header{"Expect": {"100-continue"}}, // an endpoint that checks the length need not read the body
	})
	switch {
	case a.status >= 400 && a.status < 500:
		return good("a body of 32 MiB is refused with %d", a.status)
	case a.timeout && !a.conn.sent && !c.local():
		return warning("Give a slow line more time. If that does not help: "+do,
			"a body of 32 MiB could not be sent within %s, and was not refused", c.opts.Timeout)
	case a.timeout:
		return warning(do, "a body of 32 MiB is neither read nor refused within %s", c.opts.Timeout)
	case a.status == 0:
		return good("the connection is closed while a body of 32 MiB is sent")
	case a.ok():
		return warning(do, "a body of 32 MiB is read whole and answered %s: who has the bearer can use up the agent's memory", c.tell(a))
	}
	return warning(do, "a body of 32 MiB is answered %s", c.tell(a))
}

// malformed sends the beginning of a dispatch.
func (c *checkup) malformed(ctx context.Context) Finding {
	const do = `Reject a body that is not JSON with 400 and {"error": …}: the platform shows the first 500 characters.`
	a := c.send(ctx, probe{body: `{"task_id": 1, "input": {"user_instruction": `, auth: c.setup.Target.AuthValue})
	switch {
	case a.status < 400:
		return warning(do, "a body that is not JSON is answered %s", c.tell(a))
	case a.status >= 500:
		return warning(do, "a body that is not JSON is answered %s, which looks like a fault of the agent", c.tell(a))
	case a.refuses():
		return warning(do, "a body that is not JSON is answered %d, which the platform reports as a wrong bearer", a.status)
	case a.status == http.StatusRequestTimeout:
		return warning(do, "a body that is not JSON is answered %d, which the platform reports as a time-out", a.status)
	case !json.Valid(a.body):
		return warning(do, "a body that is not JSON is rejected, but not in JSON: %s", c.tell(a))
	}
	return good("a body that is not JSON is rejected with %d, in JSON", a.status)
}

// contentType checks the responses to the ping and to the sample dispatch.
func (c *checkup) contentType(context.Context) Finding {
	type answered struct{ what, media string }
	var answers, wrong []answered
	if len(c.first.body) > 0 {
		answers = append(answers, answered{"the ping", c.first.header.Get("Content-Type")})
	}
	if c.result != nil && c.result.WouldBeGraded() {
		answers = append(answers, answered{"the dispatch", c.sampleMedia})
	}
	for _, a := range answers {
		media, _, err := mime.ParseMediaType(a.media)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			wrong = append(wrong, a)
		}
	}
	switch {
	case len(answers) == 0:
		return skipped("", "no response has a body")
	case len(wrong) == 0:
		return good("application/json")
	}
	var texts []string
	for _, a := range wrong {
		if a.media == "" {
			a.media = "no content type"
		}
		texts = append(texts, fmt.Sprintf("%s is answered with %s", a.what, a.media))
	}
	return warning("Set Content-Type: application/json on every answer.", "%s", strings.Join(texts, ", "))
}
