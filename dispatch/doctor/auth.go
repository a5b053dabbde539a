package doctor

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch/internal/testrun"
)

const answer401 = "Answer 401: only that and 403 are reported as a matter of the bearer."

const authFirst = "Compare the bearer first, in constant time, and answer 401 with nothing else if it is not the right one; " +
	"only then look at the body."

// auth sends a ping without an auth value.
func (c *checkup) auth(ctx context.Context) Finding {
	ping := c.found[checkPing]
	if c.first.timeout { // other requests would time out too
		return *because(checkPing)
	}
	if !c.hasAuth {
		if ping.Status != StatusFailed {
			c.open = true
			return warning("Configure a bearer token in the agent and at registration: without one, every client that reaches "+
				"the endpoint can make the agent work.", "the endpoint asks for no bearer, and none is registered")
		}
		if c.first.refuses() {
			return good("a ping without a bearer is refused with %d", c.first.status)
		}
		return *because(checkPing)
	}
	a := c.send(ctx, probe{body: aPing})
	c.refusal = a.status
	switch {
	case a.refuses():
		return good("a ping without a bearer is refused with %d", a.status)
	case ping.Status == StatusFailed: // probably for the same reason
		return *because(checkPing)
	case !a.ok():
		return warning(answer401, "a ping without a bearer is answered %s", c.tell(a))
	}
	c.pings = true
	if d := c.send(ctx, c.decoy("")); d.status < 400 || d.status >= 500 {
		c.open = true
		return failed(authFirst, "no bearer is asked for at all: a ping without one is answered %s, and a dispatch %s",
			c.tell(a), c.tell(d))
	}
	return failed(authFirst, "the bearer is checked only after the ping: a ping without one is answered %s. "+
		"A wrong bearer then passes the platform's Test connection and fails the first run", c.tell(a))
}

// bearer sends a ping and a dispatch with a wrong auth value of the right form.
func (c *checkup) bearer(ctx context.Context) Finding {
	auth, ping := c.found[checkAuthBeforePing], c.found[checkPing]
	switch {
	case c.first.timeout:
		return *because(checkPing)
	case c.open && auth.Status == StatusFailed:
		return *because(checkAuthBeforePing)
	case c.open:
		return skipped("", "no bearer is asked for")
	}
	other := c.otherBearer()
	probes := []struct {
		what string
		probe
	}{{"ping", probe{body: aPing, auth: other}}, {"dispatch", c.decoy(other)}}
	if c.pings {
		probes = probes[1:] // auth reported that pings without one are answered
	}
	var weak *Finding
	for _, p := range probes {
		switch a := c.send(ctx, p.probe); {
		case a.refuses():
		case ping.Status == StatusFailed:
			return *because(checkPing)
		case a.ok():
			return failed(authFirst, "a %s with a wrong bearer is accepted: %s", p.what, c.tell(a))
		case a.status != c.refusal && (a.timeout || a.status >= 500): // the agent may have run
			return failed(authFirst, "a %s with a wrong bearer is not refused: the answer is %s", p.what, c.tell(a))
		case weak == nil:
			f := warning(answer401, "a %s with a wrong bearer is answered %s", p.what, c.tell(a))
			weak = &f
		}
	}
	if weak != nil && auth.Status != StatusWarning { // auth reported it
		return *weak
	}
	return good("another bearer is not accepted")
}

// decoy returns a dispatch that the endpoint should reject. Its run has ended.
func (c *checkup) decoy(auth string) probe {
	s := *c.setup
	s.Run = s.Platform.NewRun()
	s.Run.End("")
	s.ProxyURL = strings.TrimSuffix(s.ProxyURL, c.setup.Run.Path) + s.Run.Path
	body := s.Envelope(testrun.Payload{Instruction: "This dispatch has no valid bearer and must be refused."})
	return probe{body: string(body), auth: auth, header: s.Header()}
}

// object returns the members of a JSON object, and whether body is one.
func object(body []byte) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(body, &members)
	return members, err == nil && members != nil
}
