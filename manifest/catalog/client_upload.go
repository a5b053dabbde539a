package catalog

import (
	"bytes"
	"context"
	"errors"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
)

// Upload registers a tool with its source code: POST /tools/upload. file is the name of the Python
// file; the client sends its last element. source is its text. If t.Name is "", the name is that of
// the tool class if it is a literal there. If t.Type is "", it is [Custom]. AccountID must be "",
// because no form field is documented for it. Tags must not contain commas, which separate them in
// the form.
//
// Upload checks the tool and the source before it sends anything; see [CheckPlugin]. If the source
// is not valid, or the server rejects it, the error has [CodePlugin]. If fields are not valid
// either, it has [CodeInvalid] and all problems. If the name is taken, it has [CodeConflict]. If
// the server fails to register the source, it has [CodeServer]. The request is kept in memory. Its
// parts other than the file may have 3 MiB.
func (c *Client) Upload(ctx context.Context, t Tool, file string, source []byte) (*ListItem, error) {
	plugin, err := CheckPlugin(file, source, &c.plugin)
	if t.Name == "" && err == nil {
		t.Name = plugin.Name
	}
	if t.Type == "" {
		t.Type = Custom
	}
	var ps problems
	ps.require(patchOf(t))
	r := newRequest("upload", http.MethodPost, "upload", bounded.Cut(t.Name, maxShown))
	r.said = []string{string(source), t.Description}
	r.unsure = "the tool may have been created: look for its name before uploading it again"
	return c.upload(ctx, r, &upload{
		patch: patchOf(t), known: ListItem{Tool: t}, file: file, source: source, problems: ps, pluginErr: err,
	})
}

// UploadUpdate replaces the source code of a tool: PUT /tools/{id}/upload. It sends the fields of
// the patch, which may be empty, and no others, so that the server keeps the rest. Fields of the
// result are empty if neither the response nor the patch contains them. Otherwise UploadUpdate is
// like [Client.Upload].
func (c *Client) UploadUpdate(ctx context.Context, id string, p Patch, file string, source []byte) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	r := newRequest("upload update", http.MethodPut, id+"/upload", id)
	r.said, r.unsure = []string{string(source)}, "the source may have been replaced"
	if p.Description != nil {
		r.said = append(r.said, *p.Description)
	}
	_, err := CheckPlugin(file, source, &c.plugin)
	known := ListItem{ID: id, Tool: p.apply(Tool{})}
	return c.upload(ctx, r, &upload{patch: p, known: known, file: file, source: source, pluginErr: err})
}

// upload is the content of an upload and its known problems.
type upload struct {
	patch     Patch    // the fields to send
	known     ListItem // what the response may leave out
	file      string
	source    []byte
	problems  problems
	pluginErr error // from CheckPlugin
}

func (c *Client) upload(ctx context.Context, r *request, u *upload) (*ListItem, error) {
	if err := u.check(r.tool); err != nil {
		return nil, err
	}
	r.plugin = true
	r.Proofs = append(r.Proofs, http.StatusInternalServerError) // documented for plugins that cannot be registered
	r.Body, r.Type = c.form(u)
	return do(ctx, c, r, itemOver(u.known, u.known.ID))
}

// check finds all problems of the fields and of the source.
func (u *upload) check(tool string) error {
	u.problems.check(u.patch)
	if u.patch.AccountID != nil {
		u.problems.add("account_id", ruleForm, "must be empty: no form field is documented for it")
	}
	if u.patch.Tags != nil {
		for _, tag := range *u.patch.Tags {
			if tag == "" || strings.Contains(tag, ",") || strings.TrimSpace(tag) != tag {
				u.problems.add("tags", ruleForm,
					"must not be blank, have commas or begin or end with white space: a form joins them by commas")
			}
		}
	}
	if e, ok := errors.AsType[*Error](u.pluginErr); ok {
		if len(u.problems) == 0 {
			e.Tool = tool
			return e
		}
		u.problems = append(u.problems, e.Problems...)
	}
	return u.problems.error(tool, "the tool cannot be uploaded")
}

// form returns the body of an upload, the fields before the file, and its media type.
func (c *Client) form(u *upload) ([]byte, string) {
	p := u.patch
	var body bytes.Buffer
	body.Grow(len(u.source) + 2048)
	w := multipart.NewWriter(&body) // its errors are nil, because it writes to memory
	field := func(name string, value *string) {
		if value != nil {
			_ = w.WriteField(name, *value)
		}
	}
	field("name", p.Name)
	field("description", p.Description)
	field("framework", (*string)(p.Framework))
	field(c.typeField, (*string)(p.Type))
	field("version", p.Version)
	if p.Tags != nil {
		field("tags", new(strings.Join(*p.Tags, ",")))
	}
	base := u.file[strings.LastIndexAny(u.file, `/\`)+1:]
	part, _ := w.CreateFormFile("file", base) // as application/octet-stream
	_, _ = part.Write(u.source)
	_ = w.Close()
	return body.Bytes(), w.FormDataContentType()
}
