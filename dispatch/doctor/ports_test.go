package doctor_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

// port is a small port without this module. Its zero value follows the document. Each field breaks
// it in one way that the document warns of.
type port struct {
	envelope    bool // the model gets the whole trace envelope
	decodes     bool // a second json.loads
	fallback    bool // the original tool body answers if the proxy does not
	original    bool // the original tool body answers, even if the proxy does
	impatient   bool // a 429 is not repeated
	eager       bool // each 503 is repeated
	pingFirst   bool // the ping is answered before authentication
	noPing      bool // the ping is parsed as a dispatch
	singleton   bool // the first run's URL and token are kept
	topLevel    bool // user_instruction is read beside input
	noFinal     bool // an empty final_response
	badMessages bool // tool messages without tool_call_id
	wraps       bool // {"arguments": {…}} is sent as the body
	bodyOnly    bool // the headers are not read for the proxy URL
	headersOnly bool // the body is not read for the proxy URL
	stubborn    bool // the call is repeated after any error
	label       string
	noTools     bool // {odyssey_proxy_url}/{name}
	objects     bool // results are objects in the messages
	alone       bool // without a proxy URL it answers by itself
	scheme      string
	caches      bool                            // a result is kept for all runs
	crashes     bool                            // a refused call makes the run fail
	late        func(call func())               // makes the call after the answer
	auth        func(given, want string) bool   // compares the header Authorization
	unwraps     func(body map[string]any) any   // makes the result of a tool
	keeps       func(input map[string]any) any  // the key by which it keeps what users said
	speaks      func(result any) (final string) // the answer has no messages

	mu                  sync.Mutex
	keptURL, keptToken  string
	kept                any // result
	said                map[any][]string
	turns               int
	failsAfterFirstTurn bool
}

// latin1 is a label that is not UTF-8, as clients send it that encode headers in ISO 8859-1.
const latin1 = "caf\xe9"

const orderTool = `[{"name":"get_order","description":"Looks an order up.","input_schema":{"type":"object","required":["order_id"],
	"additionalProperties":false,"properties":{"order_id":{"type":"string","description":"The order's id."}}}}]`

func (p *port) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodPost {
		say(w, 405, `{"error":"use POST"}`)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var body map[string]any
	parsed := json.Unmarshal(text, &body) == nil
	ping := func() bool { return parsed && reflect.DeepEqual(body, map[string]any{"ping": true}) }
	given, want := r.Header.Get("Authorization"), "Bearer "+handToken
	switch authorized := given == want || p.auth != nil && p.auth(given, want); {
	case p.pingFirst && ping():
		say(w, 200, `{"ok":true}`)
		return
	case !authorized:
		say(w, 401, `{"error":"no"}`)
		return
	case err != nil:
		say(w, 413, `{"error":"too large"}`)
		return
	case !parsed:
		say(w, 400, `{"error":"no JSON"}`)
		return
	case !p.noPing && ping():
		say(w, 200, `{"ok":true}`)
		return
	}
	input, _ := body["input"].(map[string]any)
	instruction, _ := input["user_instruction"].(string)
	if p.topLevel {
		instruction, _ = body["user_instruction"].(string)
	}
	proxyURL, _ := body["odyssey_proxy_url"].(string)
	if !p.bodyOnly {
		proxyURL = cmp.Or(proxyURL, r.Header.Get("X-Pipelines-Odyssey-Proxy-URL"))
	}
	if p.headersOnly {
		proxyURL = r.Header.Get("X-Pipelines-Odyssey-Proxy-URL")
	}
	token := r.Header.Get("X-Pipelines-Run-Token")
	p.mu.Lock()
	if p.singleton {
		p.keptURL, p.keptToken = cmp.Or(p.keptURL, proxyURL), cmp.Or(p.keptToken, token)
		proxyURL, token = p.keptURL, p.keptToken
	}
	p.turns++
	p.mu.Unlock()
	if p.alone && proxyURL == "" {
		say(w, 200, `{"final_response":"I know it by heart."}`)
		return
	}
	if proxyURL == "" || token == "" || instruction == "" {
		say(w, 400, `{"error":"no proxy URL, run token or instruction"}`)
		return
	}
	if turn, _ := input["turn_id"].(string); p.failsAfterFirstTurn && turn > "1" {
		say(w, 500, `{"error":"an unknown member"}`)
		return
	}
	p.mu.Lock()
	result, err := p.kept, error(nil)
	p.mu.Unlock()
	if result == nil || !p.caches {
		result, err = p.call(proxyURL, token)
		p.mu.Lock()
		p.kept = result
		p.mu.Unlock()
	}
	if err != nil {
		say(w, 500, `{"error":"the tool's result cannot be read"}`)
		return
	}
	if p.late != nil {
		go p.late(func() { _, _, _ = p.post(proxyURL, token) })
	}
	if p.speaks != nil {
		text, _ := json.Marshal(map[string]string{"final_response": p.speaks(result)})
		say(w, 200, string(text))
		return
	}
	content, _ := json.Marshal(result)
	row := map[string]any{"role": "tool", "tool_call_id": "c1", "content": string(content)}
	if p.objects {
		row["content"] = map[string]any{"result": result}
	}
	if p.badMessages {
		delete(row, "tool_call_id")
	}
	final := "The proxy answered."
	if p.keeps != nil {
		key := p.keeps(input)
		p.mu.Lock()
		if p.said == nil {
			p.said = map[any][]string{}
		}
		final += strings.Join(p.said[key], " ")
		p.said[key] = append(p.said[key], instruction)
		p.mu.Unlock()
	}
	if p.noFinal {
		final = ""
	}
	answer, _ := json.Marshal(map[string]any{"final_response": final, "messages": []any{
		map[string]any{"role": "user", "content": instruction},
		map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c1", "name": "get_order", "arguments": `{"order_id":"4521"}`}}},
		row,
		map[string]any{"role": "assistant", "content": final},
	}})
	say(w, 200, string(answer))
}

// call is the shim of the document: one POST, repeated as the document says.
func (p *port) call(proxyURL, token string) (any, error) {
	original := map[string]any{"status": "shipped"}
	for attempt := 1; ; attempt++ {
		status, answer, err := p.post(proxyURL, token)
		if err != nil {
			return nil, err
		}
		if status != 200 && p.crashes {
			return nil, errors.New("refused")
		}
		var refusal struct {
			Detail struct {
				Class string `json:"error_class"`
			} `json:"detail"`
		}
		_ = json.Unmarshal(answer, &refusal)
		transient := status == 503 && (p.eager || slices.Contains([]string{"lock_contention", "context_store_unavailable"}, refusal.Detail.Class))
		if (status == 429 && !p.impatient || transient || p.stubborn && status != 200) && attempt < 4 {
			time.Sleep(150 * time.Millisecond)
			continue
		}
		if status != 200 {
			if p.fallback {
				return original, nil
			}
			return map[string]any{"error": refusal.Detail.Class}, nil
		}
		var body map[string]any
		if err := json.Unmarshal(answer, &body); err != nil {
			return nil, err
		}
		if p.envelope {
			return body, nil
		}
		if p.unwraps != nil {
			return p.unwraps(body), nil
		}
		if p.original {
			return original, nil
		}
		if text, ok := body["response"].(string); ok && p.decodes {
			var value any
			err := json.Unmarshal([]byte(text), &value)
			return value, err
		}
		return body["response"], nil
	}
}

func (p *port) post(proxyURL, token string) (status int, answer []byte, err error) {
	arguments := `{"order_id":"4521"}`
	if p.wraps {
		arguments = `{"arguments":` + arguments + `}`
	}
	path := "/tools/get_order"
	if p.noTools {
		path = "/get_order"
	}
	headers := map[string]string{"Content-Type": "application/json", "Authorization": cmp.Or(p.scheme, "Bearer") + " " + token}
	if p.label != "" {
		headers["X-Pipelines-Actor-Id"] = p.label
	}
	return exchange(strings.TrimRight(proxyURL, "/")+path, headers, arguments)
}

// judgedPorts are ports and what the doctor finds about them.
var judgedPorts = []judgedPort{
	{"as the document says", &port{}, nil, nil, ""},
	{"a label", &port{label: "supervisor/refunds"}, nil, nil, ""},
	{"the scheme in lower case", &port{scheme: "bearer"}, nil, nil, ""},
	{"hands the envelope on", &port{envelope: true}, names{"dispatch"}, nil, "the whole trace envelope"},
	{"decodes twice", &port{decodes: true}, names{"result_kinds"}, nil, "text: agent_5xx"},
	{"keeps the tool's body as a fallback", &port{fallback: true}, nil, names{"failing_tools"}, "all tool calls were refused"},
	{"keeps the tool's body", &port{original: true}, names{"unwrap"}, nil, "another content"},
	{"does not repeat a 429", &port{impatient: true}, names{"retry_429"}, nil, "not repeated after a 429: get_order"},
	{"repeats every 503", &port{eager: true}, nil, names{"terminal_503"}, "not transient: get_order"},
	{"answers the ping first", &port{pingFirst: true}, names{"auth_before_ping"}, nil, "only after the ping"},
	{"does not know the ping", &port{noPing: true}, names{"ping"}, nil, "answers 400"},
	{"keeps the first run", &port{singleton: true}, names{"concurrent_runs"}, nil, "proxy of the first run"},
	{"reads the wrong member", &port{topLevel: true}, names{"dispatch"}, nil, "no proxy URL, run token or instruction"},
	{"has no final response", &port{noFinal: true}, names{"dispatch"}, nil, "final_response_missing"},
	{"has malformed messages", &port{badMessages: true}, nil, names{"dispatch"}, "tool_call_id"},
	{"has objects in its messages", &port{objects: true}, nil, names{"dispatch"}, "messages_malformed"},
	{"wraps the arguments", &port{wraps: true}, names{"dispatch"}, nil, "do not match the input_schema"},
	{"does not read the headers", &port{bodyOnly: true}, names{"headers_only"}, nil, "no proxy URL"},
	{"answers without the headers", &port{bodyOnly: true, alone: true}, nil, names{"headers_only"}, "no tool call arrives"},
	{"does not read the body", &port{headersOnly: true}, names{"body_only"}, nil, "no proxy URL"},
	{"sends a malformed label", &port{label: latin1}, names{"dispatch"}, nil, "actor_id_invalid"},
	{"sends a doubtful label", &port{label: "a b"}, nil, names{"dispatch"}, "that the platform might refuse"},
	{"forgets /tools", &port{noTools: true}, names{"dispatch"}, nil, "but the agent sent POST {odyssey_proxy_url}/get_order"},
	{"repeats every error", &port{stubborn: true}, nil, names{"terminal_503", "expired_token"}, "3 requests after the proxy had said"},
	{"fails in a session", &port{failsAfterFirstTurn: true}, names{"session_replay", "session_stateful"}, nil, "turn 2 of a session failed"},
	{"falls back on the envelope", &port{unwraps: func(body map[string]any) any { return fallBack(body["response"], body) }}, names{"result_kinds"},
		nil, "null: the model was given the whole trace envelope"},
	{"cuts results", &port{unwraps: cut}, nil, names{"result_kinds"}, "a tool message has only"},
	{"fails when a call is refused", &port{crashes: true}, names{"retry_429"}, names{"retry_503", "failing_tools"}, "the run fails when its tool calls are refused"},
	{"keeps results of equal calls", &port{caches: true}, names{"concurrent_runs"}, nil, "no call of the run arrived at the proxy"},
	{"keeps what users say by the task", &port{keeps: func(input map[string]any) any { return input["task_id"] }}, names{"memory_replay", "memory_stateful"},
		nil, "one session has what only another session said"},
}

// ofEndpoints are the faults that a program in code mode cannot have: it receives no requests, and keeps
// nothing.
var ofEndpoints = []string{
	"a label", "answers the ping first", "does not know the ping", "keeps the first run", "does not read the headers", "answers without the headers",
	"does not read the body", "keeps what users say by the task", "keeps results of equal calls",
}

// cut shortens what is long.
func cut(body map[string]any) any {
	if text, ok := body["response"].(string); ok {
		return text[:min(len(text), 2000)]
	}
	return body["response"]
}

type judgedPort struct {
	name           string
	port           *port
	failed, warned names
	seen           string
}

// Each port has the findings that its fault causes, and no other.
func TestCheckJudgesPorts(t *testing.T) {
	t.Parallel()
	for _, tt := range judgedPorts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := examineWith(t, byHand(tt.port), &doctor.Options{
				Task:        &dispatchtest.Task{Instruction: "Where is order #4521?"},
				ToolsSchema: []byte(orderTool), Scenarios: doctor.Scenarios(), Timeout: 5 * time.Minute, LateCallWait: 10 * time.Millisecond,
			})
			expect(t, report, tt.failed, tt.warned, tt.seen)
			if f := find(t, report, "dispatch"); tt.port.label == latin1 && !strings.Contains(f.Rule, "Multi-agent attribution") {
				t.Errorf("the rule is %s", f.Rule)
			}
			text, err := json.Marshal(report)
			if err != nil || bytes.Contains(text, []byte(handToken[:10])) {
				t.Errorf("a secret is in the report, or it cannot be written: %v\n%s", err, text)
			}
			for _, f := range report.Findings {
				if slices.Contains(judged(), f.Name) && f.Status == doctor.StatusSkipped && f.Because == "" && !tt.port.crashes {
					t.Errorf("%s was not played: %s", f.Name, f.Seen)
				}
			}
		})
	}
}
