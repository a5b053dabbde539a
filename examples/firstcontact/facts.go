package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A fact is a row of "Unknown facts of the wire" in docs/design.md. A test compares ids and names.
type fact struct {
	id, name string
	needs    string // what a capture must have to show it
	todo     string // what to do if the assumption does not hold
	judge    func(e *evidence, f *finding)
}

// A finding is what a capture shows of a fact.
type finding struct {
	fact                    *fact
	confirmed, contradicted []observation
}

// The verdicts.
const (
	confirmed    = "confirmed"
	contradicted = "contradicted"
	notSeen      = "not seen"
)

func (f *finding) verdict() string {
	switch {
	case len(f.contradicted) > 0:
		return contradicted
	case len(f.confirmed) > 0:
		return confirmed
	}
	return notSeen
}

// as notes an observation that the assumption holds or does not hold.
func (f *finding) as(holds bool, place, format string, args ...any) {
	o := observation{place, fmt.Sprintf(format, args...)}
	if holds {
		f.confirmed = append(f.confirmed, o)
	} else {
		f.contradicted = append(f.contradicted, o)
	}
}

// judge judges all facts.
func judge(e *evidence) []finding {
	list := make([]finding, len(facts))
	for i := range facts {
		list[i].fact = &facts[i]
		facts[i].judge(e, &list[i])
	}
	return list
}

// facts are in the order of the table.
var facts = []fact{
	{
		"actor-labels", "pattern of actor labels", "a call with a sub-agent's label (proxy.Client.As)",
		"use labels that the platform accepts, and the same ones in agent.config; report the label, " +
			"because the emulator should judge it in the same way",
		judgeActorLabels,
	},
	{
		"handoff-members", "member names of handoff events", "a handoff (proxy.Client.Handoff)",
		"send the event by proxy.Client.Trace with proxy.EventHandoff and the names that the platform expects",
		judgeHandoffs,
	},
	{
		"retry-after", "`Retry-After` from the proxy", "a response of the proxy with 429 or 503",
		"a call that is asked to wait for more than 60 s fails: lower the pace with proxy.Options.Pacer; " +
			"report a form that cannot be read",
		judgeRetryAfter,
	},
	{
		"retry-503", "whether 503 is retried", "a response of the proxy with 503",
		"if the class is transient, add it to the three in proxy.Options.TransientClasses",
		judge503,
	},
	{
		"bare-response", "legacy answers without `response`", "a successful tool call",
		"set proxy.Options.LegacyBareResponse",
		judgeBareResponses,
	},
	{
		"multi-turn", "where multi-turn members stand", "a dispatch of a session with several turns",
		"no option moves them: read them from dispatch.Run.Envelope, and report the place",
		judgeTurns,
	},
	{
		"ids", "ids", "a dispatch",
		"no option accepts other ids, and the handler rejects the dispatch with invalid_envelope: report the form",
		judgeIDs,
	},
	{
		"catalog-type", "a catalog's form fields, and `tool_type` or `type`", "an upload or a record of a catalog",
		"set catalog.ClientOptions.TypeField to \"type\", and report other fields that are rejected",
		judgeCatalogType,
	},
	{
		"toolbox-pages", "pages of Bedrock's lists of tools", "a list of toolbox.Client",
		"a list of another form is incomplete or an error: pass the definitions to toolbox.Parse, and report it",
		judgeToolboxPages,
	},
	{
		"source-path", "path of a tool's source", "a source of a tool (catalog.Client.Script)",
		"with /script the client works, and needs one request more; if both paths fail, report it",
		judgeSourcePath,
	},
	{
		"redacted-script", "form of redacted `script_content`", "a list of a catalog",
		"do not use ListItem.ScriptContent of lists; read the source by catalog.Client.Script; report the form",
		judgeRedactedScripts,
	},
	{
		"deleted-names", "whether a deleted tool blocks its name",
		"a deleted tool, and another that is created with its name, or the first restored while the name is taken",
		"restore the deleted tool by catalog.Client.Restore, or give the new one another name; " +
			"tests against catalog.NewHandler do not show this",
		judgeDeletedNames,
	},
}

// judgeActorLabels compares what the platform accepts with what the emulator accepts.
func judgeActorLabels(e *evidence, f *finding) {
	for _, x := range e.of("call") {
		label := x.request.Headers.Get("X-Pipelines-Actor-Id")
		if label == "" || isShape(label) {
			continue
		}
		why := odd(label, e.content)
		switch refused := x.errorClass() == "actor_id_invalid"; {
		case refused:
			f.as(why != "", place(&x.response), "the label %s is refused%s", label, why)
		case x.ok():
			f.as(why == "", place(&x.response), "the label %s is accepted%s", label, why)
		}
	}
}

// odd says why the emulator refuses a label, "" if it does not. Without content, label is a
// pattern.
func odd(label string, content bool) string {
	foreign := func(c rune) bool { return c <= ' ' || c > '~' }
	if !content {
		foreign = func(c rune) bool { return strings.ContainsRune(" ?x", c) }
	}
	switch {
	case len(label) > 256:
		return ", which has more than 256 bytes"
	case strings.ContainsFunc(label, foreign):
		return ", which has other characters than visible ASCII"
	case slices.Contains(strings.Split(label, "/"), ""):
		return ", which has an empty segment"
	}
	return ""
}

func judgeHandoffs(e *evidence, f *finding) {
	for _, x := range e.of("call") {
		sent := body(&x.request)
		if x.path() != "/traces/handoff" || !has(sent, "from_sub_agent") || !has(sent, "to_sub_agent") {
			continue
		}
		switch status := x.response.Status; {
		case x.ok() && string(at(body(&x.response), "/accepted")) == "false":
			f.as(false, place(&x.response), "the event is answered with accepted: false")
		case x.ok():
			f.as(true, place(&x.response), "accepted; look in the trace tab whether the structure shows it")
		case (status == 400 || status == 422) && x.errorClass() != "actor_id_invalid":
			f.as(false, place(&x.response), "the event is refused with %d%s", status, classOf(x))
		}
	}
}

func classOf(x *exchange) string {
	if class := x.errorClass(); class != "" {
		return " and the error class " + class
	}
	return ""
}

const longestWait = 60 * time.Second

func judgeRetryAfter(e *evidence, f *finding) {
	for _, x := range e.of("call") {
		status := x.response.Status
		values := x.response.Headers["Retry-After"]
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			continue
		}
		if len(values) == 0 {
			f.as(true, place(&x.response), "%d without Retry-After: the client waits as for other failures", status)
			continue
		}
		wait, known := httpcall.RetryAfter(http.Header{"Retry-After": values})
		if when, err := http.ParseTime(values[0]); err == nil { // of the past by now
			wait, known = when.Sub(x.response.Time), true
		}
		switch {
		case !known:
			f.as(false, place(&x.response), "%d with Retry-After %q, which cannot be read", status, values[0])
		default:
			f.as(wait <= longestWait, place(&x.response), "%d with Retry-After %q", status, values[0])
		}
	}
}

// transient are the classes of proxy.Options.TransientClasses.
var transient = []string{"lock_contention", "context_store_unavailable", "trace_sequence_contended"}

func judge503(e *evidence, f *finding) {
	for _, x := range e.of("call") {
		if x.response.Status != http.StatusServiceUnavailable {
			continue
		}
		class := x.errorClass()
		if class == "" {
			f.as(false, place(&x.response), "503 without an error class")
		} else {
			f.as(slices.Contains(transient, class), place(&x.response), "503 with the error class %s", class)
		}
	}
}

func judgeBareResponses(e *evidence, f *finding) {
	for _, x := range e.of("call") {
		if !x.isTool() || !x.ok() || x.response.Body == nil || x.response.Body.Cut {
			continue
		}
		if has(body(&x.response), "response") {
			f.as(true, place(&x.response), "the answer to %s has a member response", x.path())
		} else {
			f.as(false, place(&x.response), "the answer to %s has no member response", x.path())
		}
	}
}

// turnMembers are the members of a session.
var turnMembers = []string{"messages", "session_id", "turn_id", "latest_user_prompt"}

func judgeTurns(e *evidence, f *finding) {
	for _, x := range e.of("dispatch") {
		doc := body(&x.request)
		for _, name := range turnMembers {
			switch inner := at(doc, "/input/input"); {
			case has(doc, name):
				f.as(false, place(&x.request), "%s stands beside input, not in it", name)
			case has(at(doc, "/input"), name):
				f.as(true, place(&x.request), "%s stands in input", name)
			case has(inner, name) && has(inner, "session_id"):
				f.as(false, place(&x.request), "%s stands in the inner input", name)
			}
		}
	}
}

func judgeIDs(e *evidence, f *finding) {
	for _, x := range e.of("dispatch") {
		doc := body(&x.request)
		for _, pointer := range []string{
			"/task_id", "/run_id", "/agent_id", "/run_token_jti",
			"/input/task_id", "/input/session_id", "/input/turn_id",
		} {
			if v := at(doc, pointer); v != nil {
				f.as(isID(v), place(&x.request), "%s is %s", pointer, idForm(v))
			}
		}
		for _, name := range []string{"X-Pipelines-Run-Id", "X-Pipelines-Task-Id", "X-Pipelines-Run-Token-Jti"} {
			if value := x.request.Headers.Get(name); value != "" {
				quoted := rawjson.Quote(value)
				f.as(isID(quoted), place(&x.request), "%s is %s", name, idForm(quoted))
			}
		}
	}
}

// isID reports whether the handler takes a value as an id.
func isID(v json.RawMessage) bool {
	switch rawjson.Kind(v) {
	case 'n':
		return true
	case '0':
		return !strings.ContainsAny(string(v), ".eE-")
	case '"':
		id := rawjson.Text(v)
		visible := !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' })
		return !isShape(id) && visible && len(id) <= 128
	}
	return false
}

func idForm(v json.RawMessage) string {
	if s := rawjson.Text(v); isShape(s) {
		return s
	}
	if !isID(v) {
		return "a value of the kind " + kind(v) + " that is not an id"
	}
	if strings.Trim(string(v), `"0123456789`) == "" {
		return "a decimal " + kind(v)
	}
	return "a " + kind(v)
}
