package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// response is the whole response of a catalog to one request.
type response struct {
	request *request
	status  int
	header  http.Header
	body    []byte
	hideKey func(text string) string // and puts the text on one line
}

// answerLimits admits a list of 40,000 tools.
var answerLimits = rawjson.Limits{Depth: 64, Mode: rawjson.Liberal}

// bad returns the error for a 2xx response that a catalog does not send.
func (a *response) bad(why string) *Error {
	return &Error{Code: CodeBadAnswer, Status: a.status, Tool: a.request.tool, RequestID: a.requestID(),
		Message: a.hideKey("the response cannot be used: " + why)}
}

// badJSON describes an error of reading. where is what was read, such as "entry 7 of the list". The
// text has no names of members, which the server chose. The offset is that within what was read.
func (a *response) badJSON(where string, err error) *Error {
	why := err.Error()
	if wrong, ok := errors.AsType[*rawjson.Error](err); ok {
		why = fmt.Sprintf("at byte %d: %s", wrong.Offset, wrong.Problem)
	}
	return a.bad(where + ": " + why)
}

// data returns the member data of the envelope {"success", "data", "message", "timestamp"}. Without
// data it returns the envelope, and without an envelope the body. The result is valid JSON.
func (a *response) data() (json.RawMessage, error) {
	var success, data json.RawMessage
	err := rawjson.Read(a.body, answerLimits, func(r *rawjson.Reader) error {
		if r.Kind() != '{' {
			_, err := r.Value()
			return err
		}
		return r.Object(nil, func(name string) (err error) {
			switch name {
			case "success":
				success, err = r.Value()
			case "data":
				data, err = r.Value()
			}
			return err
		}, "success", "data")
	})
	switch {
	case err != nil:
		return nil, a.badJSON("it is not JSON that can be read", err)
	case success == nil:
		return a.body, nil
	case string(success) == "false":
		return nil, a.refusal().Error
	case string(success) != "true":
		return nil, a.bad("its member success is not a boolean")
	case data == nil:
		return a.body, nil
	}
	return data, nil
}

// confirmed reads a response that only confirms an operation.
func (a *response) confirmed() error {
	if a.status == http.StatusNoContent {
		return nil
	}
	_, err := a.data()
	return err
}

// item reads one tool. Fields that the response lacks are taken from known. If id is not "", the
// response must describe that tool.
func (a *response) item(known ListItem, id string) (ListItem, error) {
	if a.status == http.StatusNoContent && known.ID != "" {
		return known, nil
	}
	data, err := a.data()
	if err != nil {
		return ListItem{}, err
	}
	if string(data) == "null" && known.ID != "" {
		return known, nil
	}
	item, err := readItem(data, known)
	if err != nil {
		return ListItem{}, a.badJSON("it is not a tool", err)
	}
	if id != "" && !strings.EqualFold(item.ID, id) {
		return ListItem{}, a.bad("it describes another tool")
	}
	return item, nil
}

// list reads a list of tools. One unreadable entry fails the list.
func (a *response) list() ([]ListItem, error) {
	data, err := a.data()
	if err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if json.Unmarshal(data, &entries) != nil || entries == nil { // null is not a list: an empty catalog returns []
		return nil, a.bad("it is not a list of tools")
	}
	list := make([]ListItem, len(entries))
	for i, entry := range entries {
		if list[i], err = readItem(entry, ListItem{}); err != nil {
			return nil, a.badJSON(fmt.Sprintf("entry %d of the list is not a tool", i), err)
		}
	}
	return list, nil
}

// script reads source code from the member script or, with some servers, content.
func (a *response) script() (string, error) {
	data, err := a.data()
	if err != nil {
		return "", err
	}
	var script, content string
	err = rawjson.Read(data, answerLimits, func(r *rawjson.Reader) error {
		return r.Object(nil, func(name string) (err error) {
			switch name {
			case "script":
				script, err = r.String()
			case "content":
				content, err = r.String()
			}
			return err
		}, "script", "content")
	})
	switch {
	case err != nil:
		return "", a.badJSON("it has no source", err)
	case script != "":
		return script, nil
	case content != "":
		return content, nil
	}
	return "", a.bad("it has no source: script and content are absent or empty")
}

// readItem reads a tool over what is known of it. An id is required, and a name unless the id was
// known. Unknown values of enums are kept, so that a new framework does not hide the rest.
func readItem(doc []byte, known ListItem) (ListItem, error) {
	item := known
	p, ps, err := readPatch(doc, theirs, textMember{"id", &item.ID},
		textMember{"plugin_class_name", &item.PluginClassName},
		textMember{"module_name", &item.ModuleName}, textMember{"script_content", &item.ScriptContent})
	item.Tool = p.apply(item.Tool)
	switch {
	case err != nil:
		return ListItem{}, err
	case len(ps) > 0:
		return ListItem{}, errors.New(ps[0].field() + " " + ps[0].Message)
	case !clip.ValidUUID(item.ID):
		return ListItem{}, errors.New("its id is not a UUID")
	case item.Name == "" && known.ID == "":
		return ListItem{}, errors.New("it has no name")
	}
	return item, nil
}
