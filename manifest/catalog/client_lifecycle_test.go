package catalog_test

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// The client manages tools of the handler over HTTP, below a prefix, for every
// TypeField.
func TestClientAgainstHandler(t *testing.T) {
	for _, typeField := range []string{"", "type"} {
		t.Run(typeField, func(t *testing.T) {
			handler, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{
				Authenticate: func(_ *http.Request, key string) (string, error) {
					if subtle.ConstantTimeCompare([]byte(key), []byte(clientKey)) != 1 {
						return "", &toolwire.Error{Code: toolwire.CodeUnauthorized}
					}
					return clientAccount, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.StripPrefix("/aip", handler))
			defer server.Close()
			live(t, newClient(t, server.URL+"/aip", &catalog.ClientOptions{TypeField: typeField}))

			stranger, err := catalog.NewClient(server.URL+"/aip", "another", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range clientCalls {
				failedWith(t, call(t.Context(), stranger), toolwire.CodeUnauthorized)
			}
			lost := newClient(t, server.URL, nil)
			failedWith(t, clientCalls["get"](t.Context(), lost), toolwire.CodeNotFound)
		})
	}
}

// live creates, changes and deletes tools.
func live(t *testing.T, c *catalog.Client) {
	ctx := t.Context()
	must := func(item *catalog.ListItem, err error) *catalog.ListItem {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return item
	}
	isTool := func(item *catalog.ListItem, want catalog.Tool) {
		t.Helper()
		want.AccountID = clientAccount
		if !reflect.DeepEqual(item.Tool, want) || item.ScriptContent != "" {
			t.Errorf("got  %+v\nwant %+v", item, want)
		}
	}

	// Create, the two examples.
	minimal := must(c.Create(ctx, calculatorTool()))
	want := calculatorTool()
	want.Version = "1.0.0"
	isTool(minimal, want)
	native := analyticsTool()
	native.Type, native.Tags = catalog.Native, []string{"a", "b c"}
	full := must(c.Create(ctx, native))
	isTool(full, native)
	_, err := c.Create(ctx, calculatorTool())
	failedWith(t, err, toolwire.CodeConflict)

	// List, get, find.
	for kind, ids := range map[catalog.Type][]string{
		"": {full.ID, minimal.ID}, catalog.Native: {full.ID}, catalog.Custom: {minimal.ID},
	} {
		list, err := c.List(ctx, kind)
		var got []string
		for _, item := range list {
			got = append(got, item.ID)
		}
		if err != nil || !reflect.DeepEqual(got, ids) {
			t.Errorf("%q: %s, %v", kind, got, err)
		}
	}
	isTool(must(c.Get(ctx, minimal.ID)), want)
	isTool(must(c.Find(ctx, "Basic-Calculator")), want)

	// Update replaces, patch does not.
	want = catalog.Tool{Name: "calculator", Framework: catalog.GoogleADK, Type: catalog.Custom, Description: "Sums.",
		Tags: []string{"x"}, Version: "2.0.0"}
	isTool(must(c.Update(ctx, minimal.ID, want)), want)
	want.Description = "Sums & products."
	isTool(must(c.Patch(ctx, minimal.ID, catalog.Patch{Description: &want.Description})), want)
	want.Tags = nil
	isTool(must(c.Patch(ctx, minimal.ID, catalog.Patch{Tags: &[]string{}})), want)
	want.Description, want.Version = "", "1.0.0"
	isTool(must(c.Update(ctx, minimal.ID, want)), want)
	isTool(must(c.Get(ctx, minimal.ID)), want)
	_, err = c.Patch(ctx, minimal.ID, catalog.Patch{Name: &full.Name})
	failedWith(t, err, toolwire.CodeConflict)
	_, err = c.Script(ctx, minimal.ID)
	failedWith(t, err, toolwire.CodeNotFound)

	// Upload, source, new source.
	uploaded := must(c.Upload(ctx, catalog.Tool{
		Name: "analytics-tool", Description: "Analyses.", Framework: catalog.LangChain, Tags: []string{"a", "b c"},
	}, "analytics.py", []byte(clientSource)))
	want = catalog.Tool{Name: "analytics-tool", Description: "Analyses.", Framework: catalog.LangChain,
		Type: catalog.Custom,
		Tags: []string{"a", "b c"}, Version: "1.0.0"}
	isTool(uploaded, want)
	if uploaded.PluginClassName != "AnalyticsTool" || uploaded.ModuleName != "analytics" {
		t.Errorf("got %+v", uploaded)
	}
	if got, err := c.Script(ctx, uploaded.ID); got != clientSource || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = c.Upload(ctx, want, "again.py", []byte(clientSource))
	failedWith(t, err, toolwire.CodeConflict)
	edited := strings.Replace(clientSource, "return text", "return text.upper()", 1)
	want.Version = "1.1.0"
	isTool(must(c.UploadUpdate(ctx, uploaded.ID, catalog.Patch{Version: &want.Version}, "analytics.py", []byte(edited))),
		want)
	if got, err := c.Script(ctx, uploaded.ID); got != edited || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	want.Name = "analytics-tool-2"
	isTool(must(c.Patch(ctx, uploaded.ID, catalog.Patch{Name: &want.Name})), want)
	if got, err := c.Script(ctx, uploaded.ID); got != edited || err != nil {
		t.Errorf("a change of metadata changed the source: %q, %v", got, err)
	}

	// Delete, 404, restore.
	if err := c.Delete(ctx, minimal.ID); err != nil {
		t.Error(err)
	}
	_, err = c.Get(ctx, minimal.ID)
	failedWith(t, err, toolwire.CodeNotFound)
	_, err = c.Find(ctx, "calculator")
	failedWith(t, err, toolwire.CodeNotFound)
	failedWith(t, c.Delete(ctx, minimal.ID), toolwire.CodeNotFound)
	if err := c.Restore(ctx, minimal.ID); err != nil {
		t.Error(err)
	}
	failedWith(t, c.Restore(ctx, minimal.ID), toolwire.CodeNotFound)
	if got := must(c.Get(ctx, minimal.ID)); got.Name != "calculator" {
		t.Errorf("got %+v", got)
	}

	// The name is taken while the tool is deleted.
	if err := c.Delete(ctx, minimal.ID); err != nil {
		t.Error(err)
	}
	taken := calculatorTool()
	taken.Name = "calculator"
	must(c.Create(ctx, taken))
	failedWith(t, c.Restore(ctx, minimal.ID), toolwire.CodeConflict)
	_, err = c.Get(ctx, clientID)
	if e := failedWith(t, err, toolwire.CodeNotFound); e.Message != "Tool not found" || e.Tool != clientID {
		t.Errorf("got %v", err)
	}
}

// Problems that the handler sends arrive in the client's error.
func TestClientReadsTheHandlersProblems(t *testing.T) {
	handler, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{
		InsecureAccount: clientAccount, Plugin: catalog.PluginOptions{ServerVersion: "v0.1.80", MaxBytes: 400},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := serveClient(t, nil, handler.ServeHTTP)
	long := analyticsTool()
	long.Description = strings.Repeat("ä", 65_537)
	_, err = c.Create(t.Context(), long)
	e := failedWith(t, err, toolwire.CodeRejected)
	if len(e.Problems) != 1 || e.Problems[0].Pointer != "/body/description" || e.Problems[0].Code != "too_long" ||
		e.Response.Status != 422 {
		t.Errorf("got %v", err)
	}
	without, _, _ := strings.Cut(clientSource, "def tool_plugin")
	_, err = c.Upload(t.Context(), calculatorTool(), "tool.py", []byte(without))
	e = failedWith(t, err, "invalid_plugin")
	if len(e.Problems) != 1 || e.Problems[0].Pointer != "/file" || e.Problems[0].Code != "entry_point" || e.Response.Status != 400 {
		t.Errorf("got %v", err)
	}
	_, err = c.Upload(t.Context(), calculatorTool(), "tool.py", []byte(clientSource+strings.Repeat("#", 400)))
	if e := failedWith(t, err, toolwire.CodeRequestTooLarge); e.Response.Status != 413 {
		t.Errorf("got %v", err)
	}
}

// faultyStore fails every call with the same error.
type faultyStore struct{ fail func() error }

func (f faultyStore) Create(context.Context, catalog.StoredTool) error { return f.fail() }
func (f faultyStore) Get(context.Context, string, string) (catalog.StoredTool, error) {
	return catalog.StoredTool{}, f.fail()
}
func (f faultyStore) List(context.Context, string, catalog.Type) ([]catalog.StoredTool, error) {
	return nil, f.fail()
}
func (f faultyStore) Update(context.Context, string, string, func(*catalog.StoredTool) error) (catalog.StoredTool, error) {
	return catalog.StoredTool{}, f.fail()
}

// For every failure of every operation, the client's error is what the handler sent.
func TestClientAndHandlerAgreeOnFailures(t *testing.T) {
	coded := func(code toolwire.Code) func() error { return func() error { return &toolwire.Error{Code: code} } }
	for name, test := range map[string]struct {
		store  func() error
		key    func() error
		plugin catalog.PluginOptions
		code   toolwire.Code
		status int
		only   string // the operation that fails; "" for all
	}{
		"not found":    {store: coded(toolwire.CodeNotFound), code: toolwire.CodeNotFound, status: 404},
		"conflict":     {store: coded(toolwire.CodeConflict), code: toolwire.CodeConflict, status: 409},
		"fault":        {store: func() error { return errors.New("disk full") }, code: toolwire.CodeServerError, status: 500},
		"panic":        {store: func() error { panic("at the disco") }, code: toolwire.CodeServerError, status: 500},
		"unauthorized": {key: coded(toolwire.CodeUnauthorized), code: toolwire.CodeUnauthorized, status: 401},
		"forbidden":    {key: coded(toolwire.CodeForbidden), code: toolwire.CodeForbidden, status: 403},
		"too large": {plugin: catalog.PluginOptions{MaxBytes: 10}, code: toolwire.CodeRequestTooLarge, status: 413,
			only: "upload"},
		"no entry point": {plugin: catalog.PluginOptions{ServerVersion: "v0.1.84"}, code: "invalid_plugin", status: 400,
			only: "upload"},
		"description long": {code: toolwire.CodeRejected, status: 422, only: "create"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.store == nil {
				test.store = func() error { return nil }
			}
			handler, err := catalog.NewHandler(faultyStore{test.store}, &catalog.HandlerOptions{
				Plugin: test.plugin,
				Authenticate: func(*http.Request, string) (string, error) {
					if test.key != nil {
						return "", test.key()
					}
					return clientAccount, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			var answered struct {
				Message string
				Error   struct {
					Code     toolwire.Code
					Problems []struct{ Field, Type, Message string }
				}
				Detail []struct {
					Loc       []string
					Msg, Type string
				}
			}
			c := serveClient(t, nil, func(w http.ResponseWriter, r *http.Request) {
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, r)
				answered.Error.Problems, answered.Detail = nil, nil
				if err := json.Unmarshal(recorder.Body.Bytes(), &answered); err != nil {
					t.Errorf("the response is %s", recorder.Body)
				}
				answerWith(recorder.Code, recorder.Body.String())(w, r)
			})
			calls := maps.Clone(clientCalls)
			calls["upload"] = func(ctx context.Context, c *catalog.Client) error {
				return errorOf(c.Upload(ctx, analyticsTool(), "tool.py", []byte(strings.ReplaceAll(clientSource, "tool_plugin", "entry"))))
			}
			if name == "description long" {
				calls["create"] = func(ctx context.Context, c *catalog.Client) error {
					long := analyticsTool()
					long.Description = strings.Repeat("x", 65_537)
					return errorOf(c.Create(ctx, long))
				}
			}
			for operation, call := range calls {
				if test.only != "" && operation != test.only {
					continue
				}
				e := failedWith(t, call(t.Context(), c), test.code)
				var want []toolwire.Problem
				for _, d := range answered.Detail {
					want = append(want, toolwire.Problem{Pointer: "/" + strings.Join(d.Loc, "/"), Code: d.Type, Message: d.Msg})
				}
				for _, p := range answered.Error.Problems {
					want = append(want, toolwire.Problem{Pointer: "/" + p.Field, Code: p.Type, Message: p.Message})
				}
				if e.Response.Status != test.status || e.Code != answered.Error.Code || !strings.HasPrefix(e.Message, answered.Message) ||
					!reflect.DeepEqual(e.Problems, want) ||
					test.only != "" && len(want) != 1 {
					t.Errorf("%s: got %+v, answered %+v", operation, e, answered)
				}
			}
		})
	}
}
