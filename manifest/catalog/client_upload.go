package catalog

import (
	"bytes"
	"context"
	"errors"
	"mime/multipart"
	"net/http"
	"strings"
)

// Upload registers a tool with its source code: POST /tools/upload. file is the name of the Python file, of which the part
// after the last slash is sent; source is its text. A type that is "" is [Custom], as uploaded tools are. AccountID must
// be "": forms have no field for it; so must tags be free of commas, which join them there.
//
// The tool and the source are checked before anything is sent, see [CheckPlugin]. A source that does not pass, or that the
// server refuses, is [CodePlugin]; if fields are wrong too it is [CodeInvalid] with all problems. A name that is taken is
// [CodeConflict], a source that fails while it is registered [CodeServer]. The request is held in memory, within [ClientOptions.MaxRequestBytes].
func (c *Client) Upload(ctx context.Context, t Tool, file string, source []byte) (*ListItem, error) {
	if t.Type == "" {
		t.Type = Custom
	}
	p := patchOf(t)
	var ps problems
	ps.require(p)
	r := &request{
		name: "upload", method: http.MethodPost, path: "tools/upload", tool: cut(t.Name), said: []string{string(source), t.Description},
		unsure: "the tool may have been created: look for its name before uploading it again",
	}
	return c.upload(ctx, r, &ps, p, ListItem{Tool: t}, file, source)
}

// UploadUpdate replaces the source code of a tool: PUT /tools/{id}/upload. The fields of the patch are sent along, and no
// others, so that what is not mentioned stays as it is; the empty patch is fine. Of the item that is returned, fields are
// empty that neither the answer nor the patch has. Otherwise it is like [Client.Upload].
func (c *Client) UploadUpdate(ctx context.Context, id string, p Patch, file string, source []byte) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	r := &request{
		name: "upload update", method: http.MethodPut, path: "tools/" + id + "/upload", tool: id, said: []string{string(source)},
		unsure: "the source may have been replaced",
	}
	if p.Description != nil {
		r.said = append(r.said, *p.Description)
	}
	return c.upload(ctx, r, &problems{}, p, ListItem{ID: id, Tool: p.Apply(Tool{})}, file, source)
}

func (c *Client) upload(
	ctx context.Context, r *request, ps *problems, p Patch, known ListItem, file string, source []byte,
) (*ListItem, error) {
	ps.check(p)
	if p.AccountID != nil {
		ps.add("account_id", ruleForm, "must be empty: a form has no field for it")
	}
	if p.Tags != nil {
		for _, tag := range *p.Tags {
			if tag == "" || strings.Contains(tag, ",") || strings.TrimSpace(tag) != tag {
				ps.add("tags", ruleForm, "must not be blank, have commas or begin or end with white space: a form joins them by commas")
			}
		}
	}
	file = file[strings.LastIndexAny(file, `/\`)+1:]
	_, pluginErr := CheckPlugin(file, source, &c.plugin)
	if e, ok := errors.AsType[*Error](pluginErr); ok && len(*ps) == 0 {
		e.Tool = r.tool
		return nil, e
	} else if ok {
		*ps = append(*ps, e.Problems...)
	}
	if err := ps.error(r.tool, "the tool cannot be uploaded"); err != nil {
		return nil, err
	}
	r.plugin = true
	r.body, r.contentType = c.form(p, file, source)
	var item ListItem
	err := c.do(ctx, r, func(a *response) (err error) {
		item, err = a.item(known, known.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &item, nil
}

// form is the body of an upload: the fields that are given, and then the file.
func (c *Client) form(p Patch, file string, source []byte) ([]byte, string) {
	var body bytes.Buffer
	body.Grow(len(source) + 2048)
	w := multipart.NewWriter(&body) // writes to memory: its errors are all nil
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
	part, _ := w.CreateFormFile("file", file) // as application/octet-stream
	_, _ = part.Write(source)
	_ = w.Close()
	return body.Bytes(), w.FormDataContentType()
}
