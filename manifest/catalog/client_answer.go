package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/restclient"
)

// answerLimits admits a list of 40,000 tools.
var answerLimits = rawjson.Limits{Depth: 64, Mode: rawjson.Liberal}

// badJSON describes an error of reading. where is what was read, such as "entry 7 of the list". The
// text has no names of members, which the server chose. The offset is that within what was read.
func badJSON(a *restclient.Response, where string, err error) *restclient.Failure {
	why := err.Error()
	if wrong, ok := errors.AsType[*rawjson.Error](err); ok {
		why = fmt.Sprintf("at byte %d: %s", wrong.Offset, wrong.Problem)
	}
	return a.Bad(where + ": " + why)
}

// dataOf returns the member data of the envelope {"success", "data", "message", "timestamp"}. Without
// data it returns the envelope, and without an envelope the body. The result is valid JSON.
func dataOf(a *restclient.Response) (json.RawMessage, *restclient.Failure) {
	var success, data json.RawMessage
	err := rawjson.Read(a.Body, answerLimits, func(r *rawjson.Reader) error {
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
		return nil, badJSON(a, "it is not JSON that can be read", err)
	case success == nil:
		return a.Body, nil
	case string(success) == "false":
		return nil, a.Refusal(http.StatusBadRequest)
	case string(success) != "true":
		return nil, a.Bad("its member success is not a boolean")
	case data == nil:
		return a.Body, nil
	}
	return data, nil
}

// confirm reads a response that only confirms an operation.
func confirm(a *restclient.Response) (json.RawMessage, *restclient.Failure) {
	if a.Status == http.StatusNoContent {
		return nil, nil
	}
	return dataOf(a)
}

// itemOver returns a reader of one tool. Fields that the response lacks are taken from known. If id is
// not "", the response must describe that tool.
func itemOver(known ListItem, id string) func(a *restclient.Response) (*ListItem, *restclient.Failure) {
	return func(a *restclient.Response) (*ListItem, *restclient.Failure) {
		item, failure := itemOf(a, known, id)
		return &item, failure
	}
}

func itemOf(a *restclient.Response, known ListItem, id string) (ListItem, *restclient.Failure) {
	if a.Status == http.StatusNoContent && known.ID != "" {
		return known, nil
	}
	data, failure := dataOf(a)
	if failure != nil {
		return ListItem{}, failure
	}
	if string(data) == "null" && known.ID != "" {
		return known, nil
	}
	item, err := readItem(data, known)
	if err != nil {
		return ListItem{}, badJSON(a, "it is not a tool", err)
	}
	if id != "" && !strings.EqualFold(item.ID, id) {
		return ListItem{}, a.Bad("it describes another tool")
	}
	return item, nil
}

// readList reads a list of tools. One unreadable entry fails the list.
func readList(a *restclient.Response) ([]ListItem, *restclient.Failure) {
	data, failure := dataOf(a)
	if failure != nil {
		return nil, failure
	}
	var entries []json.RawMessage
	if json.Unmarshal(data, &entries) != nil || entries == nil { // null is not a list: an empty catalog returns []
		return nil, a.Bad("it is not a list of tools")
	}
	list := make([]ListItem, len(entries))
	for i, entry := range entries {
		var err error
		if list[i], err = readItem(entry, ListItem{}); err != nil {
			return nil, badJSON(a, fmt.Sprintf("entry %d of the list is not a tool", i), err)
		}
	}
	return list, nil
}

// readScript reads source code from the member script or, with some servers, content.
func readScript(a *restclient.Response) (string, *restclient.Failure) {
	data, failure := dataOf(a)
	if failure != nil {
		return "", failure
	}
	var script, content string
	err := rawjson.Read(data, answerLimits, func(r *rawjson.Reader) error {
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
		return "", badJSON(a, "it has no source", err)
	case script != "":
		return script, nil
	case content != "":
		return content, nil
	}
	return "", a.Bad("it has no source: script and content are absent or empty")
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
	case !bounded.ValidUUID(item.ID):
		return ListItem{}, errors.New("its id is not a UUID")
	case item.Name == "" && known.ID == "":
		return ListItem{}, errors.New("it has no name")
	}
	return item, nil
}
