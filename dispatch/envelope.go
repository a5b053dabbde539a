package dispatch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire"
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

// envelope is a run as a dispatch describes it, and the proxy that calls its tools. Its slices are
// parts of the body.
type envelope struct {
	run      Run    // without Proxy
	taskID   string // input.task_id, or else the header; used if the body has no task_id of its own
	latest   string // input.latest_user_prompt; used if there is no user_instruction
	proxyURL string
	runToken string
	values   int // values and names of the body
}

var (
	// The run depends on these, so a name that differs by case only is rejected. The members input
	// and messages are read by their exact names, because a later release may add a member that
	// differs from them by case.
	envelopeMembers = []string{"task_id", "run_id", "agent_id", "odyssey_proxy_url", "run_token", "run_token_jti"}
	taskMembers     = []string{"task_id", "user_instruction", "session_id", "turn_id", "latest_user_prompt"}
)

// decode reads the headers, and then the body in one pass. A member of the body takes precedence over
// its header. Unknown members stay in the raw envelope only. maxBody is the limit of the body, in bytes.
func decode(body []byte, header http.Header, maxBody int64) (envelope, error) {
	body = rawjson.WithoutMark(body)
	e := envelope{
		run:      Run{RunID: validID(only(header, headerRunID)), TokenJTI: validID(only(header, headerJTI)), Envelope: body},
		taskID:   validID(only(header, headerTaskID)),
		proxyURL: only(header, headerProxyURL), runToken: only(header, headerRunToken),
	}
	err := readBounded(body, maxBody, e.read)
	if rawjson.IsUTF16(body) {
		return e, &toolwire.Error{Package: "dispatch", Code: toolwire.CodeInvalidJSON, Message: "the body is in UTF-16; send it in UTF-8", Err: err}
	}
	if err != nil {
		if ownError(err) != nil {
			return e, err
		}
		message := err.Error()
		if bad, ok := errors.AsType[*rawjson.Error](err); ok && bad.Limit == rawjson.LimitValues {
			message += ", which is one for 16 bytes of Options.MaxBodyBytes; raise it"
		}
		return e, &toolwire.Error{Package: "dispatch", Code: toolwire.CodeInvalidJSON, Message: message, Err: err}
	}
	err = errors.Join(
		missing(e.proxyURL, "proxy URL", "odyssey_proxy_url", header, headerProxyURL),
		missing(e.runToken, "run token", "run_token", header, headerRunToken),
	)
	if err != nil {
		return e, envelopeError("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return e, nil
}

// only returns the value of a header that is given once, or "".
func only(header http.Header, name string) string {
	if values := header[name]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// missing returns an error if neither the body nor a header contains a value.
func missing(value, what, member string, header http.Header, name string) error {
	switch n := len(header[name]); {
	case value != "":
		return nil
	case n > 1:
		return fmt.Errorf("the header %s is given %d times", name, n)
	}
	return fmt.Errorf("no %s: neither the member %s nor the header %s is set", what, member, name)
}

// read reads the body.
func (e *envelope) read(r *rawjson.Reader) error {
	err := r.Object(envelopeMembers, func(name string) error {
		switch name {
		case "task_id":
			return readID(r, &e.run.TaskID)
		case "run_id":
			return readID(r, &e.run.RunID)
		case "agent_id":
			return readID(r, &e.run.AgentID)
		case "input":
			return e.readTask(r)
		case "odyssey_proxy_url":
			return readText(r, &e.proxyURL)
		case "run_token":
			return readString(r, &e.runToken)
		case "run_token_jti":
			return readID(r, &e.run.TokenJTI)
		}
		return nil
	}, "input")
	e.values = r.Values()
	return err
}

// readTask reads the member input.
func (e *envelope) readTask(r *rawjson.Reader) error {
	if r.Kind() != '{' {
		if v, err := r.Value(); err != nil || isEmpty(v) {
			return err
		}
		return envelopeError("input must be an object with user_instruction and input")
	}
	return r.Object(taskMembers, func(name string) error {
		switch name {
		case "task_id":
			return readID(r, &e.taskID)
		case "user_instruction":
			return readText(r, &e.run.Instruction)
		case "input":
			v, err := r.Value()
			if !isEmpty(v) {
				e.run.Input = v
			}
			return err
		case "messages":
			v, err := r.Value()
			if !rawjson.IsNull(v) {
				e.run.Messages = v
			}
			return err
		case "session_id":
			return readID(r, &e.run.SessionID)
		case "turn_id":
			return readID(r, &e.run.TurnID)
		case "latest_user_prompt":
			return readText(r, &e.latest)
		}
		return nil
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

// Each of the following functions reads a value into a variable. A value that the documents' wrapper
// replaces leaves the variable unchanged.

// readString reads a string or null.
func readString(r *rawjson.Reader, into *string) error {
	s, err := r.Known(*into) // a header usually has the same value
	*into = cmp.Or(s, *into)
	return err
}

// readText reads a string or an empty value.
func readText(r *rawjson.Reader, into *string) error {
	if r.Kind() == '"' {
		return readString(r, into)
	}
	v, err := r.Value()
	if err != nil || isEmpty(v) {
		return err
	}
	return r.Errorf("must be a string, not %s", rawjson.KindName(rawjson.Kind(v)))
}

// readID reads an id: an integer in plain digits, or a string. Ids are for correlation only, so a
// malformed one is ignored.
func readID(r *rawjson.Reader, into *string) error {
	if r.Kind() == '"' {
		id, err := r.Known(*into)
		*into = cmp.Or(validID(id), *into)
		return err
	}
	v, err := r.Value()
	if rawjson.Kind(v) == '0' && string(v) != *into {
		*into = cmp.Or(validID(plainInteger(string(v))), *into)
	}
	return err
}

// plainInteger returns an integer in plain digits: 4521 for 4521 and for 4.521e3. It returns "" for any
// other number.
func plainInteger(number string) string {
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	n := rawjson.ParseNumber(number)
	if !n.Integer() {
		return ""
	}
	plain, _ := n.Plain(maxID)
	return plain
}

// maxID is the limit of an id, in bytes.
const maxID = 128

// validID returns id, or "" if it is longer than maxID bytes or not visible ASCII. A valid id can appear
// in logs and headers. Today's ids are decimal.
func validID(id string) string {
	if len(id) > maxID || !httpcall.VisibleASCII(id) {
		return ""
	}
	return id
}

// readBounded reads an envelope, or the task input of one, with walk. It is nested at most 256 levels
// deep. A value takes far more memory decoded than as text, so the limit of its bytes is also one of
// values and names: one for 16 bytes of the limit, and at least 65,536.
func readBounded(doc []byte, maxBytes int64, walk func(*rawjson.Reader) error) error {
	values := int(min(max(maxBytes/16, 1<<16), math.MaxInt32))
	return rawjson.Read(doc, rawjson.Limits{Values: values, Mode: rawjson.Liberal}, walk)
}
