package dispatch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// The request headers of a dispatch. A header counts if the body lacks its member.
const (
	headerProxyURL = "X-Pipelines-Odyssey-Proxy-Url"
	headerRunToken = "X-Pipelines-Run-Token"
	headerRunID    = "X-Pipelines-Run-Id"
	headerTaskID   = "X-Pipelines-Task-Id"
	headerJTI      = "X-Pipelines-Run-Token-Jti"
)

// envelope is the dispatch body. Its slices are parts of the body.
type envelope struct {
	body                         []byte
	taskID, runID, agentID       string
	proxyURL, runToken, tokenJTI string
	tokenInBody                  bool
	task                         task
}

// task is the member input of the envelope.
type task struct {
	id                  string
	instruction, latest string
	input               json.RawMessage
	messages            json.RawMessage
	sessionID, turnID   string
}

var (
	// The run depends on these, so a name that differs by case only is rejected. The members input
	// and messages are read by their exact names, because a later release may add a member that
	// differs from them by case.
	envelopeMembers = []string{"task_id", "run_id", "agent_id", "odyssey_proxy_url", "run_token", "run_token_jti"}
	taskMembers     = []string{"task_id", "user_instruction", "session_id", "turn_id", "latest_user_prompt"}
)

// decode reads the body in one pass, and takes missing members from the headers. Unknown members
// stay in the raw envelope only. The headers usually repeat the values; their strings are used
// instead of copies.
func decode(body []byte, header http.Header) (envelope, error) {
	e := envelope{body: body}
	err := rawjson.Read(body, envelopeLimits, func(r *rawjson.Reader) error {
		return r.Object(envelopeMembers, func(name string) (err error) {
			switch name {
			case "task_id":
				e.taskID, err = readID(r, only(header, headerTaskID))
			case "run_id":
				e.runID, err = readID(r, only(header, headerRunID))
			case "agent_id":
				e.agentID, err = readID(r, "")
			case "input":
				err = e.task.read(r, only(header, headerTaskID))
			case "odyssey_proxy_url":
				e.proxyURL, err = readText(r, only(header, headerProxyURL))
			case "run_token":
				e.runToken, err = r.Known(only(header, headerRunToken))
				e.tokenInBody = e.runToken != ""
			case "run_token_jti":
				e.tokenJTI, err = readID(r, only(header, headerJTI))
			}
			return err
		}, "input")
	})
	if err != nil {
		if _, ok := errors.AsType[*Error](err); ok {
			return e, err
		}
		return e, &Error{Code: CodeJSON, Message: err.Error(), Err: err}
	}
	if e.taskID == "" {
		e.taskID = e.task.id
	}
	fillID(&e.runID, header, headerRunID)
	fillID(&e.taskID, header, headerTaskID)
	fillID(&e.tokenJTI, header, headerJTI)
	err = cmp.Or(fillGap(&e.proxyURL, header, headerProxyURL), fillGap(&e.runToken, header, headerRunToken))
	switch {
	case err != nil:
	case e.proxyURL == "":
		err = envelopeError("no proxy URL: neither the member odyssey_proxy_url nor the header %s is set", headerProxyURL)
	case e.runToken == "":
		err = envelopeError("no run token: neither the header %s nor the member run_token is set", headerRunToken)
	}
	return e, err
}

// read reads the member input. knownID is the task id in the headers, or "".
func (t *task) read(r *rawjson.Reader, knownID string) error {
	if r.Kind() != '{' {
		if v, err := r.Value(); err != nil || isEmpty(v) {
			return err
		}
		return envelopeError("input must be an object with user_instruction and input")
	}
	return r.Object(taskMembers, func(name string) (err error) {
		switch name {
		case "task_id":
			t.id, err = readID(r, knownID)
		case "user_instruction":
			t.instruction, err = readText(r, "")
		case "input":
			if t.input, err = r.Value(); isEmpty(t.input) {
				t.input = nil
			}
		case "messages":
			t.messages, err = r.Value()
		case "session_id":
			t.sessionID, err = readID(r, "")
		case "turn_id":
			t.turnID, err = readID(r, "")
		case "latest_user_prompt":
			t.latest, err = readText(r, "")
		}
		return err
	}, "input", "messages")
}

// isEmpty reports whether a value is one that the documents' wrapper replaces by {}: null, false, 0, "",
// [] or {}.
func isEmpty(v json.RawMessage) bool {
	switch rawjson.Kind(v) {
	case '0':
		return rawjson.ParseNumber(string(v)).Compare(rawjson.ParseNumber("0")) == 0
	case '[', '{':
		return len(bytes.TrimSpace(v[1:len(v)-1])) == 0
	}
	return rawjson.IsNull(v) || string(v) == "false" || string(v) == `""`
}

// readText reads a string, or "" for a value that the documents' wrapper replaces. If the text equals
// known, readText returns known.
func readText(r *rawjson.Reader, known string) (string, error) {
	if kind := r.Kind(); kind == '"' || kind == 'n' {
		return r.Known(known)
	}
	v, err := r.Value()
	if err == nil && !isEmpty(v) {
		err = r.Errorf("must be a string, not %s", rawjson.KindName(rawjson.Kind(v)))
	}
	return "", err
}

// readID reads an id: an integer in plain digits, or a string. If the id equals known, readID returns
// known. Ids are for correlation only, so a malformed one reads as "".
func readID(r *rawjson.Reader, known string) (string, error) {
	kind := r.Kind()
	if kind == '"' || kind == 'n' {
		id, err := r.Known(known)
		if !validID(id) {
			return "", err
		}
		return id, err
	}
	v, err := r.Value()
	if err != nil || kind != '0' {
		return "", err
	}
	if string(v) == known {
		return known, nil
	}
	id := string(v)
	if bytes.ContainsAny(v, ".eE") {
		if n := rawjson.ParseNumber(id); n.Integer() {
			id, _ = n.Plain(maxID)
		} else {
			id = ""
		}
	}
	if !validID(id) {
		return "", nil
	}
	return id, nil
}

// maxID is the limit of an id, in bytes.
const maxID = 128

// validID accepts at most maxID bytes of visible ASCII, so that ids can appear in logs and headers.
// Today's ids are decimal.
func validID(id string) bool { return id == "" || len(id) <= maxID && httpcall.VisibleASCII(id) }

// envelopeLimits is how envelopes are read, nested at most 256 levels deep.
var envelopeLimits = rawjson.Limits{Mode: rawjson.Liberal}

// only returns the value of a header that is given once, or "".
func only(header http.Header, name string) string {
	if values := header[name]; len(values) == 1 {
		return values[0]
	}
	return ""
}

func fillGap(value *string, header http.Header, name string) error {
	if *value != "" {
		return nil
	}
	values := header[name]
	if len(values) > 1 {
		return envelopeError("the header %s is given %d times", name, len(values))
	}
	if len(values) == 1 {
		*value = values[0]
	}
	return nil
}

func fillID(id *string, header http.Header, name string) {
	if given := only(header, name); *id == "" && validID(given) {
		*id = given
	}
}
