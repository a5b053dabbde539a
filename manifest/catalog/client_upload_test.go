package catalog_test

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

const clientSource = `from langchain_core.tools import BaseTool


class AnalyticsTool(BaseTool):
    name: str = "analytics-tool"
    description: str = "Analyses."
    password: str = "hunter2-and-then-some"

    def _run(self, text: str) -> str:
        return text


def tool_plugin():
    return AnalyticsTool()
`

// formPart is one part of a form: its headers and its text.
type formPart struct{ disposition, contentType, text string }

func TestClientUploadsOnTheWire(t *testing.T) {
	field := func(name, value string) formPart { return formPart{`form-data; name="` + name + `"`, "", value} }
	file := formPart{`form-data; name="file"; filename="analytics.py"`, "application/octet-stream", clientSource}
	for name, test := range map[string]struct {
		options catalog.ClientOptions
		call    func(ctx context.Context, c *catalog.Client) (*catalog.ListItem, error)
		line    string
		parts   []formPart
	}{
		"the upload example": {line: "POST /tools/upload",
			call: func(ctx context.Context, c *catalog.Client) (*catalog.ListItem, error) {
				return c.Upload(ctx, catalog.Tool{
					Name: "analytics-tool", Description: "Line 1\r\nLine 2", Framework: catalog.LangChain, Type: catalog.Custom,
				}, "analytics.py", []byte(clientSource))
			}, parts: []formPart{field("name", "analytics-tool"), field("description", "Line 1\r\nLine 2"),
				field("framework", "langchain"),
				field("tool_type", "custom"), file}},
		"all fields, the SDK's type": {line: "POST /tools/upload", options: catalog.ClientOptions{TypeField: "type"},
			call: func(ctx context.Context, c *catalog.Client) (*catalog.ListItem, error) {
				return c.Upload(ctx, catalog.Tool{
					Name: "analytics-tool", Framework: catalog.LangGraph, Tags: []string{"a", "b c"}, Version: "1.2.0",
				}, `C:\Users\me/secret/analytics.py`, []byte(clientSource))
			}, parts: []formPart{field("name", "analytics-tool"), field("framework", "langgraph"), field("type", "custom"),
				field("version", "1.2.0"), field("tags", "a,b c"), file}},
		"source alone": {line: "PUT /tools/" + clientID + "/upload",
			call: func(ctx context.Context, c *catalog.Client) (*catalog.ListItem, error) {
				return c.UploadUpdate(ctx, clientID, catalog.Patch{}, "analytics.py", []byte(clientSource))
			}, parts: []formPart{file}},
		"source and fields": {line: "PUT /tools/" + clientID + "/upload",
			call: func(ctx context.Context, c *catalog.Client) (*catalog.ListItem, error) {
				return c.UploadUpdate(ctx, clientID, catalog.Patch{Version: new("3"), Description: new(""), Tags: &[]string{}},
					"analytics.py",
					[]byte(clientSource))
			}, parts: []formPart{field("description", ""), field("version", "3"), field("tags", ""), file}},
		"name and type of the class": {line: "POST /tools/upload",
			call: func(ctx context.Context, c *catalog.Client) (*catalog.ListItem, error) {
				return c.Upload(ctx, catalog.Tool{Framework: catalog.LangChain}, "analytics.py", []byte(clientSource))
			}, parts: []formPart{field("name", "analytics-tool"), field("framework", "langchain"), field("tool_type", "custom"),
				file}},
	} {
		t.Run(name, func(t *testing.T) {
			var parts []formPart
			c := serveClient(t, &test.options, func(w http.ResponseWriter, r *http.Request) {
				if line := r.Method + " " + r.RequestURI; line != test.line || r.Header.Get("X-API-Key") != clientKey ||
					r.ContentLength <= 0 {
					t.Errorf("got %s %q of %d bytes", line, r.Header, r.ContentLength)
				}
				form, err := r.MultipartReader()
				if err != nil {
					t.Error(err)
					return
				}
				parts = readParts(t, form)
				answerWith(200, `{"success":true,"data":`+calculatorItem+`,"message":"ok","timestamp":"2026-01-01T00:00:00Z"}`)(w,
					r)
			})
			item, err := test.call(t.Context(), c)
			if err != nil || item.ID != clientID || item.Type != catalog.Custom {
				t.Errorf("got %+v, %v", item, err)
			}
			if !reflect.DeepEqual(parts, test.parts) {
				t.Errorf("got  %q\nwant %q", parts, test.parts)
			}
		})
	}
}

func readParts(t *testing.T, form *multipart.Reader) (parts []formPart) {
	for {
		p, err := form.NextRawPart()
		if err == io.EOF {
			return parts
		}
		if err != nil {
			t.Error(err)
			return parts
		}
		text, err := io.ReadAll(p)
		if err != nil {
			t.Error(err)
		}
		if len(p.Header) > 2 {
			t.Errorf("headers %q", p.Header)
		}
		parts = append(parts, formPart{p.Header.Get("Content-Disposition"), p.Header.Get("Content-Type"), string(text)})
	}
}

func TestClientUploadChecksFirst(t *testing.T) {
	c := serveClient(t, nil, func(_ http.ResponseWriter, r *http.Request) { t.Error("sent:", r.Method, r.URL) })
	tool := analyticsTool()
	with := func(change func(*catalog.Tool)) catalog.Tool {
		changed := tool
		change(&changed)
		return changed
	}
	for name, test := range map[string]struct {
		tool   catalog.Tool
		fields string
	}{
		"only a source":     {catalog.Tool{}, "/framework"},
		"account":           {with(func(t *catalog.Tool) { t.AccountID = clientAccount }), "/account_id"},
		"comma in a tag":    {with(func(t *catalog.Tool) { t.Tags = []string{"a,b"} }), "/tags"},
		"blank tag":         {with(func(t *catalog.Tool) { t.Tags = []string{"a", ""} }), "/tags"},
		"tag with margins":  {with(func(t *catalog.Tool) { t.Tags = []string{" a"} }), "/tags"},
		"unknown framework": {with(func(t *catalog.Tool) { t.Framework = "crew" }), "/framework"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Upload(t.Context(), test.tool, "tool.py", []byte(clientSource))
			e := failedWith(t, err, "invalid_tool")
			var fields []string
			for _, p := range e.Problems {
				fields = append(fields, p.Pointer)
			}
			if strings.Join(fields, " ") != test.fields {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := c.UploadUpdate(t.Context(), clientID, catalog.Patch{Tags: &[]string{","}}, "tool.py", []byte(clientSource))
	failedWith(t, err, "invalid_tool")

	for name, test := range map[string]struct {
		file, source string
		code         toolwire.Code
		types        string
	}{
		"name":        {"tool.txt", clientSource, "invalid_plugin", "filename"},
		"not UTF-8":   {"tool.py", clientSource + "# \xff\n", "invalid_plugin", "encoding"},
		"all of it":   {"tool", "x = 1\n", "invalid_plugin", "filename tool_class"},
		"empty":       {"tool.py", "", "invalid_plugin", "tool_class"},
		"over 1 MiB":  {"tool.py", clientSource + strings.Repeat("#", 1<<20), toolwire.CodeRequestTooLarge, "too_large"},
		"with fields": {"tool.py", "", "invalid_tool", "enum tool_class"},
	} {
		changed := tool
		if name == "with fields" {
			changed.Framework = "crew"
		}
		_, err := c.Upload(t.Context(), changed, test.file, []byte(test.source))
		e := failedWith(t, err, test.code)
		var types []string
		for _, p := range e.Problems {
			types = append(types, p.Code)
		}
		if strings.Join(types, " ") != test.types || e.Tool != tool.Name || e.Response != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	rules := catalog.PluginOptions{ServerVersion: "v0.1.84", MaxBytes: 1000}
	old := serveClient(t, &catalog.ClientOptions{Plugin: rules}, answerWith(200, calculatorItem))
	if _, err := old.UploadUpdate(t.Context(), clientID, catalog.Patch{}, "tool.py", []byte(clientSource)); err != nil {
		t.Error(err)
	}
	without, _, _ := strings.Cut(clientSource, "def tool_plugin")
	_, err = old.UploadUpdate(t.Context(), clientID, catalog.Patch{}, "tool.py", []byte(without))
	if e := failedWith(t, err, "invalid_plugin"); len(e.Problems) != 1 || e.Problems[0].Code != "entry_point" ||
		e.Tool != clientID || !strings.Contains(err.Error(), "AddEntryPoint") {
		t.Errorf("got %v", err)
	}
}

// A response to an upload need not repeat the tool.
func TestClientUploadUpdateWithBareAnswers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"204": answerWith(204, ""), "message": answerWith(200, `{"success":true,"message":"updated"}`),
		"null": answerWith(200, `{"success":true,"data":null}`), "id": answerWith(200, `{"id":"`+clientID+`"}`),
	} {
		item, err := serveClient(t, nil, handler).UploadUpdate(t.Context(), clientID, catalog.Patch{Version: new("2")},
			"tool.py", []byte(clientSource))
		if err != nil || !reflect.DeepEqual(*item, catalog.ListItem{ID: clientID, Tool: catalog.Tool{Version: "2"}}) {
			t.Errorf("%s: %+v, %v", name, item, err)
		}
	}
}
