package catalog

import (
	"context"
	"errors"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/restclient"
)

// Patch changes the fields of a tool that are not nil in p. The API has no such request. The client
// reads the tool, applies the patch, and sends the whole tool with the body of [Client.Update]. The
// result is the same whether the server replaces or merges. A change that another writer makes
// between the two requests is lost. To prevent that, let one writer at a time patch a tool.
//
// A retry repeats both requests, which keeps the time between them short. The client sends
// account_id only if the patch sets it, and does not send undocumented members of the response
// back. An empty patch only reads.
func (c *Client) Patch(ctx context.Context, id string, p Patch) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p == (Patch{}) {
		return c.Get(ctx, id)
	}
	var item ListItem
	whole := putRequest(id, &Tool{})
	failure := c.rest.Repeat(ctx, &whole.Request, func() *restclient.Failure {
		failed := c.attempt(ctx, getRequest(id), func(a *restclient.Response) (f *restclient.Failure) {
			item, f = itemOf(a, ListItem{}, id)
			return f
		})
		if failed != nil {
			failed.Unsure = false // no request that writes was sent
			return failed
		}
		item.Tool = p.apply(item.Tool)
		sent := item.Tool
		if p.AccountID == nil {
			sent.AccountID = ""
		}
		if e, invalid := errors.AsType[*Error](sent.Validate()); invalid {
			e.Tool, e.Message = id, "the tool of the catalog with the patch applied is not valid"
			return &restclient.Failure{Err: e}
		}
		put := putRequest(id, &sent)
		put.Body, whole.said = c.updateBody(&sent), put.said
		return c.attempt(ctx, put, func(a *restclient.Response) (f *restclient.Failure) {
			item, f = itemOf(a, item, id)
			return f
		})
	})
	if failure != nil {
		return nil, c.failed(whole, failure)
	}
	return &item, nil
}

// toolBody is a tool as it is sent. One of the two members for the type is set.
type toolBody struct {
	Name        string    `json:"name"`
	Framework   Framework `json:"framework"`
	ToolType    Type      `json:"tool_type,omitempty"`
	PlainType   Type      `json:"type,omitempty"`
	AccountID   string    `json:"account_id,omitempty"`
	Description *string   `json:"description,omitempty"`
	Tags        *[]string `json:"tags,omitempty"`
	Version     string    `json:"version,omitempty"`
}

// createBody returns the members that are set.
func (c *Client) createBody(t *Tool) []byte {
	body := c.requiredBody(t)
	body.Version = t.Version
	if t.Description != "" {
		body.Description = &t.Description
	}
	if len(t.Tags) > 0 {
		body.Tags = &t.Tags
	}
	return body.encode()
}

// updateBody returns all members, so that the result does not depend on what the server does with
// absent ones.
func (c *Client) updateBody(t *Tool) []byte {
	body := c.requiredBody(t)
	tags := append([]string{}, t.Tags...)
	body.Description, body.Tags, body.Version = &t.Description, &tags, t.Version
	if body.Version == "" {
		body.Version = DefaultVersion
	}
	return body.encode()
}

func (c *Client) requiredBody(t *Tool) *toolBody {
	body := &toolBody{Name: t.Name, Framework: t.Framework, AccountID: t.AccountID, ToolType: t.Type}
	if c.typeField == sdkTypeField {
		body.ToolType, body.PlainType = "", t.Type
	}
	return body
}

func (b *toolBody) encode() []byte {
	out, _ := rawjson.Encode(b) // cannot fail: it contains texts only
	return out
}
