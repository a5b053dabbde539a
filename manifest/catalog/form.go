package catalog

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
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
func (h *Handler) readForm(c *call) (*form, error) {
	media, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil, invalid("body", Problem{Code: ruleForm,
			Message: "Content-Type must be multipart/form-data with a boundary"})
	}
	body := httpserve.OpenBody(c.w, c.r, int64(h.opts.Plugin.MaxBytes)+h.formRoom, time.Now().Add(h.opts.BodyTimeout))
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
		return nil, invalid("body", Problem{Code: ruleForm, Message: "is not a proper multipart form"})
	}
	return f, nil
}

func (h *Handler) readParts(f *form, parts *multipart.Reader) error {
	seen := map[string]string{}
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n == maxFormParts {
			return &failure{code: CodeTooLarge, status: http.StatusRequestEntityTooLarge, message: "The form has too many parts"}
		}
		if err := h.readPart(f, seen, part); err != nil {
			return err
		}
	}
	f.fill(seen)
	return nil
}

func (h *Handler) readPart(f *form, seen map[string]string, part *multipart.Part) error {
	name, known := part.FormName(), false
	for _, field := range formFields {
		if known = name == field; known {
			break
		}
		if strings.EqualFold(name, field) {
			f.problems.add(field, ruleForm, "is spelled in another case here; names are case-sensitive")
		}
	}
	most := int64(maxField)
	if name == "file" {
		most = int64(h.opts.Plugin.MaxBytes)
	}
	content, err := io.ReadAll(io.LimitReader(part, most+1))
	if err != nil {
		return err
	}
	if int64(len(content)) > most {
		what := "A field of the form"
		if name == "file" {
			what = "The file"
		}
		f := &failure{code: CodeTooLarge, status: http.StatusRequestEntityTooLarge, message: what + " is too large"}
		if known {
			f.problems = []Problem{tooLarge(name, most)}
		}
		return f
	}
	if !known {
		return nil
	}
	if _, again := seen[name]; again {
		f.problems.add(name, ruleRepeated, "must be given once")
		return nil
	}
	seen[name] = ""
	isFile := part.FileName() != ""
	switch {
	case name == "file" && !isFile:
		f.problems.add(name, ruleType, "must be a file part, with a filename")
	case name == "file":
		f.filename, f.file = part.FileName(), content
		if content == nil {
			f.file = []byte{}
		}
	case isFile:
		f.problems.add(name, ruleType, "must be a field, not a file")
	default:
		seen[name] = string(content)
	}
	return nil
}

// fill sets the patch from the fields.
func (f *form) fill(fields map[string]string) {
	text := func(name string) *string {
		value, ok := fields[name]
		if !ok {
			return nil
		}
		return &value
	}
	f.patch = Patch{AccountID: text("account_id"), Description: text("description"), Version: text("version")}
	if name := text("name"); name != nil {
		f.patch.Name = new(strings.TrimSpace(*name))
	}
	if framework := text("framework"); framework != nil {
		f.patch.Framework = new(Framework(*framework))
	}
	kind, alias := text("tool_type"), text("type")
	if kind != nil && alias != nil && *kind != *alias {
		f.problems.add("tool_type", ruleClash, "and its alias type disagree; send one of them")
	}
	if kind == nil {
		kind = alias
	}
	if kind != nil {
		f.patch.Type = new(Type(*kind))
	}
	if tags := text("tags"); tags != nil {
		f.patch.Tags = new(splitTags(*tags))
	}
}
