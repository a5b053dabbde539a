package catalog

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// form is an upload: a file and fields.
type form struct {
	filename string
	file     []byte // nil if the form has no file
	patch    Patch
	problems problems
}

// formFields are the known parts.
var formFields = []string{"file", "name", "framework", "tool_type", "type", "account_id", "description", "tags",
	"version"}

// readForm reads a multipart body part by part. It keeps only known parts, in memory.
func (h *handler) readForm(c *call) (*form, error) {
	media, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil, invalid("body", toolwire.Problem{Code: ruleForm,
			Message: "Content-Type must be multipart/form-data with a boundary"})
	}
	body := httpserve.OpenBody(c.w, c.r, int64(h.opts.Plugin.limit())+h.formRoom, time.Now().Add(h.opts.BodyTimeout))
	defer func() { c.read = body.Done() }()
	if body.Err() != nil {
		return nil, body.Err()
	}
	f := &form{}
	err = h.readParts(f, multipart.NewReader(&body, params["boundary"]))
	if err == nil { // net/http would wait for the rest before it responds.
		_, err = io.Copy(io.Discard, &body)
	}
	if err != nil {
		if body.Err() != nil { // the reason why the form is malformed
			return nil, bodyError(c, body.Err())
		}
		if _, ok := errors.AsType[*failure](err); ok {
			return nil, err
		}
		return nil, invalid("body", toolwire.Problem{Code: ruleForm, Message: "is not a proper multipart form"})
	}
	return f, nil
}

// readParts reads the fields and the file.
func (h *handler) readParts(f *form, parts *multipart.Reader) error {
	fields := map[string]string{}
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n == maxFormParts {
			return refusal(http.StatusRequestEntityTooLarge, toolwire.CodeRequestTooLarge, "The form has too many parts")
		}
		if err := h.readPart(f, fields, part); err != nil {
			return err
		}
	}
	for name, text := range fields {
		if list := json.RawMessage(text); name == "tags" && rawjson.Kind(list) == '[' { // not tags with commas
			if err := rawjson.Check(list, rawjson.Limits{}); err != nil {
				f.problems.add("tags", ruleType, "begins as a JSON list and is none; send a list of strings, or texts with commas")
				continue
			}
			f.patch.Tags = readTags(&f.problems, list)
			continue
		}
		f.patch.set(name, text)
	}
	if kind, ok := fields["type"]; ok {
		f.patch.setAlias(&f.problems, &kind)
	}
	return nil
}

func (h *handler) readPart(f *form, fields map[string]string, part *multipart.Part) error {
	name, what, most := part.FormName(), "A field of the form", maxField
	if name == "file" {
		what, most = "The file", h.opts.Plugin.limit()
	}
	known := slices.Contains(formFields, name)
	if i := slices.IndexFunc(formFields, func(f string) bool { return strings.EqualFold(f, name) }); !known && i >= 0 {
		f.problems.add(formFields[i], ruleForm, "is spelled in another case here; names are case-sensitive")
	}
	content, err := io.ReadAll(io.LimitReader(part, int64(most)+1))
	switch _, again := fields[name]; {
	case err != nil:
		return err
	case len(content) > most && !known:
		return refusal(http.StatusRequestEntityTooLarge, toolwire.CodeRequestTooLarge, what+" is too large")
	case len(content) > most:
		return refusal(http.StatusRequestEntityTooLarge, toolwire.CodeRequestTooLarge, what+" is too large", tooLarge(name, most))
	case !known:
	case again:
		f.problems.add(name, ruleRepeated, "must be given once")
	case name == "file" && part.FileName() == "":
		f.problems.add(name, ruleType, "must be a file part, with a filename")
	case name == "file":
		f.filename, f.file, fields[name] = part.FileName(), content, ""
	case part.FileName() != "":
		f.problems.add(name, ruleType, "must be a field, not a file")
	case name == "name":
		fields[name] = strings.TrimSpace(string(content))
	default:
		fields[name] = string(content)
	}
	return nil
}
