package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// TestDocumentedExamples sends the three examples of ToolBase records.
func TestDocumentedExamples(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	seen := map[string]bool{}
	is := func(answer reply, want string) { // the id is random
		t.Helper()
		id := s.id(answer)
		if seen[id] || len(id) != 36 || id[14] != '4' {
			t.Errorf("the id is %s", id)
		}
		seen[id] = true
		sameJSON(t, answer.want(t, 200, ""), `{"id":"`+id+`",`+want)
	}
	is(s.do("POST", "/tools/", minimal), `"name":"basic-calculator","framework":"langchain","tool_type":"custom",
		"version":"1.0.0","account_id":"`+account+`"}`)
	is(s.do("POST", "/tools/", `{"name":"advanced-analytics-tool","description":"Statistical analysis of data sets.",
		"framework":"langgraph","tool_type":"custom","version":"2.1.0"}`),
		`"name":"advanced-analytics-tool","framework":"langgraph","tool_type":"custom",
		"description":"Statistical analysis of data sets.","version":"2.1.0","account_id":"`+account+`"}`)
	is(s.upload("POST", "/tools/upload", part{"name", "", " analytics-tool "}, part{"description", "", "Analyses."},
		part{"framework", "", "langchain"}, part{"tool_type", "", "custom"}, part{"file", "analytics.py", source}),
		`"name":"analytics-tool","framework":"langchain","tool_type":"custom",
		"description":"Analyses.","version":"1.0.0","account_id":"`+account+`","plugin_class_name":"Analytics","module_name":"analytics"}`)
}

// TestCommonValidationErrors checks every row of the table Common Validation Errors.
func TestCommonValidationErrors(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{
		Plugin: catalog.PluginOptions{ServerVersion: "v0.1.84"},
		Register: func(_ context.Context, tool catalog.ListItem) error {
			if strings.Contains(tool.ScriptContent, "boom") {
				return errors.New("Traceback: secret boom")
			}
			return nil
		},
	})
	entry := source + "\ndef tool_plugin():\n    return Analytics()\n"
	taken := s.create(minimal)
	deleted := s.create(`{"name":"deleted","framework":"langchain","tool_type":"custom"}`)
	s.do("DELETE", "/tools/"+deleted, "").want(t, 200, "Tool deleted successfully")
	uploaded := s.id(s.upload("POST", "/tools/upload", part{"file", "a.py", entry}))

	for _, test := range []struct {
		name    string
		answer  reply
		status  int
		message string
	}{
		{"malformed code", s.upload("POST", "/tools/upload", part{"file", "a.py", entry + "def ("}), 400,
			"Invalid plugin file"},
		{"no tool_plugin", s.upload("POST", "/tools/upload", part{"file", "a.py", source}), 400, "Invalid plugin file"},
		{"malformed update", s.upload("PUT", "/tools/"+uploaded+"/upload", part{"file", "a.py", "'"}), 400,
			"Invalid plugin file"},
		{"unknown id", s.do("GET", "/tools/"+unknown, ""), 404, "Tool not found"},
		{"unknown id, put", s.do("PUT", "/tools/"+unknown, minimal), 404, "Tool not found"},
		{"unknown id, delete", s.do("DELETE", "/tools/"+unknown, ""), 404, "Tool not found"},
		{"unknown id, upload", s.upload("PUT", "/tools/"+unknown+"/upload", part{"file", "a.py", entry}), 404,
			"Tool not found"},
		{"unknown id, script", s.do("GET", "/tools/"+unknown+"/script", ""), 404, "Tool not found"},
		{"unknown id, restore", s.do("POST", "/tools/"+unknown+"/restore", ""), 404, "Tool not found or not deleted"},
		{"deleted id", s.do("GET", "/tools/"+deleted, ""), 404, "Tool not found"},
		{"deleted id, put", s.do("PUT", "/tools/"+deleted, minimal), 404, "Tool not found"},
		{"deleted id, delete", s.do("DELETE", "/tools/"+deleted, ""), 404, "Tool not found"},
		{"deleted id, upload", s.upload("PUT", "/tools/"+deleted+"/upload", part{"file", "a.py", entry}), 404,
			"Tool not found"},
		{"deleted id, script", s.do("GET", "/tools/"+deleted+"/script", ""), 404, "Tool not found"},
		{"not deleted", s.do("POST", "/tools/"+taken+"/restore", ""), 404, "Tool not found or not deleted"},
		{"no source", s.do("GET", "/tools/"+taken+"/source", ""), 404, "Tool not found"},
		{"malformed id, script", s.do("GET", "/tools/x/script", ""), 404, "Tool not found"},
		{"name taken", s.do("POST", "/tools/", minimal), 409, "Tool with name already exists"},
		{"name taken, put", s.do("PUT", "/tools/"+uploaded, `{"name":"basic-calculator"}`), 409,
			"Tool with name already exists"},
		{"name taken, upload", s.upload("POST", "/tools/upload", part{"file", "a.py", entry}), 409,
			"Tool with name already exists"},
		{"no fields", s.do("POST", "/tools/", `{}`), 422, "Validation error"},
		{"broken rules", s.do("POST", "/tools/", `{"name":" ","framework":"crewai","tool_type":"magic"}`), 422,
			"Validation error"},
		{"plugin raises", s.upload("POST", "/tools/upload", part{"name", "", "b"}, part{"file", "a.py", entry + "#boom"}),
			500, "Failed to register plugin"},
		{"plugin raises, update", s.upload("PUT", "/tools/"+uploaded+"/upload", part{"file", "a.py", entry + "#boom"}),
			500, "Failed to update plugin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.answer.want(t, test.status, test.message)
			if e := test.answer.json.Error; e == nil || e.Code == "" || e.Message != test.message {
				t.Errorf("the error payload is %+v", e)
			}
		})
	}
	if strings.Contains(s.log.String(), "boom") || strings.Contains(s.log.String(), "BaseTool") {
		t.Errorf("the log has source code: %s", s.log)
	}
	sameJSON(t, s.do("GET", "/tools/"+uploaded+"/script", "").json.Data, // has not changed
		scriptOf(uploaded, entry))
}

func TestFieldProblems(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	long := strings.Repeat("ä", 65_537)
	id := s.create(minimal)
	file := part{"file", "a.py", source}
	for _, test := range []struct {
		name   string
		answer reply
		loc    string
	}{
		{"all required", s.do("POST", "/tools/", `{}`), "body.name body.framework body.tool_type"},
		{"all wrong, in the order of the table", s.do("POST", "/tools/", `{"version":3,"tags":[1],"description":{},"account_id":"x",
			"tool_type":"x","framework":"x","name":""}`),
			"body.name body.framework body.tool_type body.account_id body.description body.tags body.version"},
		{"enum", s.do("POST", "/tools/", `{"name":"a","framework":"LangChain","tool_type":"custom"}`), "body.framework"},
		{"alias disagrees", s.do("POST", "/tools/",
			`{"name":"a","framework":"langchain","tool_type":"custom","type":"native"}`),
			"body.tool_type"},
		{"another account", s.do("POST", "/tools/",
			`{"name":"a","framework":"langchain","type":"custom","account_id":"`+another+`"}`), "body.account_id"},
		{"long description", s.do("POST", "/tools/",
			`{"name":"a","framework":"langchain","type":"custom","description":"`+long+`"}`),
			"body.description"},
		{"name twice", s.do("POST", "/tools/", `{"name":"a","name":"b"}`), "body"},
		{"name in another case", s.do("POST", "/tools/", `{"Name":"a"}`), "body"},
		{"not JSON", s.do("POST", "/tools/", `{"name":`), "body"},
		{"a list", s.do("POST", "/tools/", `[]`), "body"},
		{"put, only what is given", s.do("PUT", "/tools/"+id, `{"framework":"x","version":" "}`),
			"body.framework body.version"},
		{"put, null", s.do("PUT", "/tools/"+id, `{"name":null}`), "body.name"},
		{"id", s.do("GET", "/tools/x", ""), "path.id"},
		{"id, delete", s.do("DELETE", "/tools/upload", ""), "path.id"},
		{"type of list", s.do("GET", "/tools/?type=x", ""), "query.type"},
		{"empty type of list", s.do("GET", "/tools/?type=", ""), "query.type"},
		{"two types of list", s.do("GET", "/tools/?type=custom&type=native", ""), "query.type"},
		{"broken query", s.do("GET", "/tools/?type=native%", ""), "query"},
		{"query with a semicolon", s.do("GET", "/tools/?type=native;x=1", ""), "query"},
		{"no file", s.upload("POST", "/tools/upload", part{"name", "", "a"}), "body.file"},
		{"no parts", s.upload("POST", "/tools/upload"), "body.file"},
		{"no file, update", s.upload("PUT", "/tools/"+id+"/upload", part{"name", "", "a"}), "body.file"},
		{"file as a field", s.upload("POST", "/tools/upload", part{"file", "", source}), "body.file"},
		{"field as a file", s.upload("POST", "/tools/upload", file, part{"name", "name.txt", "a"}), "body.name"},
		{"two files", s.upload("POST", "/tools/upload", file, file), "body.file"},
		{"two names", s.upload("POST", "/tools/upload", file, part{"name", "", "a"}, part{"name", "", "a"}), "body.name"},
		{"field in another case", s.upload("POST", "/tools/upload", file, part{"Name", "", "a"}), "body.name"},
		{"a field that is not UTF-8", s.upload("POST", "/tools/upload", file, part{"name", "", "\xff"}), "body.name"},
		{"tags that are not UTF-8", s.upload("POST", "/tools/upload", file, part{"tags", "", "\xe2\x82,\xac"}), "body.tags"},
		{"blank name", s.upload("POST", "/tools/upload", file, part{"name", "", " "}), "body.name"},
		{"a native file", s.upload("POST", "/tools/upload", file, part{"type", "", "native"}), "body.tool_type"},
		{"fields disagree", s.upload("POST", "/tools/upload", file, part{"type", "", "native"},
			part{"tool_type", "", "custom"}),
			"body.tool_type"},
		{"every field", s.upload("POST", "/tools/upload", part{"name", "", ""}, part{"framework", "", "x"},
			part{"tool_type", "", "x"},
			part{"account_id", "", "x"}, part{"tags", "", "\xff"}, part{"version", "", "\n"}),
			"body.name body.framework body.tool_type body.account_id body.tags body.version body.file"},
		{"class without a name", s.upload("POST", "/tools/upload",
			part{"file", "a.py", "class A(BaseTool): name = compute()"}),
			"body.name"},
		{"class with a long description", s.upload("POST", "/tools/upload",
			part{"file", "a.py", "class A(BaseTool):\n    name = \"a\"\n    description = \"" + long + "\""}), "body.description"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.answer.want(t, 422, "Validation error")
			if got := test.answer.loc(); got != test.loc {
				t.Errorf("the problems are at %s, want %s: %s", got, test.loc, test.answer.body)
			}
		})
	}
	s.do("PUT", "/tools/"+id, `{"description":"äöüäö"}`).want(t, 200, "") // five characters
	list := s.do("GET", "/tools/", "").json.Data
	if bytes.Count(list, []byte(`"id"`)) != 1 {
		t.Errorf("something was created: %s", list)
	}
}

func TestKeys(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	id := s.create(minimal)
	for _, test := range []struct {
		name   string
		header http.Header
		method string
		status int
	}{
		{"X-API-Key", http.Header{"X-Api-Key": {"key-one"}}, "GET", 200},
		{"bearer", http.Header{"Authorization": {"Bearer key-one"}}, "GET", 200},
		{"bearer in lower case", http.Header{"Authorization": {"bearer key-one"}}, "GET", 200},
		{"the same twice", http.Header{"Authorization": {"Bearer key-one"}, "X-Api-Key": {"key-one"}}, "GET", 200},
		{"two keys", http.Header{"Authorization": {"Bearer key-one"}, "X-Api-Key": {"key-two"}}, "GET", 401},
		{"none", http.Header{"X-Api-Key": {""}}, "GET", 401},
		{"empty bearer", http.Header{"Authorization": {"Bearer "}}, "GET", 401},
		{"another scheme", http.Header{"Authorization": {"Basic key-one"}}, "GET", 401},
		{"a key beside another scheme", http.Header{"Authorization": {"Basic abc"}, "X-Api-Key": {"key-one"}}, "GET", 401},
		{"an unknown key", http.Header{"X-Api-Key": {"key-x"}}, "GET", 401},
		{"another account's", http.Header{"X-Api-Key": {"key-two"}}, "GET", 404},
		{"a viewer reads", http.Header{"X-Api-Key": {"key-viewer"}}, "GET", 200},
		{"a viewer deletes", http.Header{"X-Api-Key": {"key-viewer"}}, "DELETE", 403},
		{"the function panics", http.Header{"X-Api-Key": {"key-panic"}}, "GET", 500},
		{"the function fails", http.Header{"X-Api-Key": {"key-error"}}, "GET", 500},
		{"an account that is not a UUID", http.Header{"X-Api-Key": {"key-bad"}}, "GET", 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{t: t, url: s.url, log: s.log}
			r, err := http.NewRequestWithContext(t.Context(), test.method, s.url+"/tools/"+id, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = test.header
			a := s.send(r)
			a.want(t, test.status, "")
			if (test.status == 401) != (a.header.Get("WWW-Authenticate") == "Bearer") {
				t.Errorf("WWW-Authenticate is %q", a.header.Get("WWW-Authenticate"))
			}
		})
	}
	log := s.log.String()
	if strings.Contains(log, "key-") || strings.Contains(log, "geheim") || strings.Count(log, "status=401") != 6 ||
		strings.Count(log, "must carry one key") != 5 {
		t.Errorf("the log is %s", log)
	}
}

func TestPathsAndMethods(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	id := s.create(minimal)
	for _, test := range []struct {
		method, path  string
		status        int
		header, value string
	}{
		{"PATCH", "/tools/", 405, "Allow", "GET, HEAD, POST"},
		{"POST", "/tools/" + id, 405, "Allow", "DELETE, GET, HEAD, PUT"},
		{"GET", "/tools/" + id + "/restore", 405, "Allow", "POST"},
		{"POST", "/tools/" + id + "/script", 405, "Allow", "GET, HEAD"},
		{"POST", "/tools/" + id + "/upload", 405, "Allow", "PUT"},
		{"OPTIONS", "/tools/", 405, "Allow", "GET, HEAD, POST"},
		{"GET", "/tools", 307, "Location", "tools/"},
		{"GET", "/tools?type=custom", 307, "Location", "tools/?type=custom"},
		{"GET", "/tools/" + id + "/", 307, "Location", "../" + id},
		{"GET", "/tools/" + id + "/script/", 307, "Location", "../script"},
		{"GET", "/", 404, "", ""},
		{"GET", "/tools//", 404, "", ""},
		{"GET", "/tools//script", 404, "", ""},
		{"GET", "/tools/" + id + "/install", 404, "", ""},
		{"GET", "/tools/" + id + "/script/more", 404, "", ""},
		{"GET", "/x/tools/", 404, "", ""},
		{"GET", "/tools/" + strings.ToUpper(id), 200, "", ""},
		{"HEAD", "/tools/" + id, 200, "", ""},
		{"HEAD", "/tools/" + unknown, 404, "", ""},
		{"HEAD", "/tools/", 200, "", ""},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			a := s.do(test.method, test.path, "")
			if a.status != test.status || test.header != "" && a.header.Get(test.header) != test.value {
				t.Errorf("the response is %d %v %s, want %d and %s %q", a.status, a.header, a.body, test.status, test.header,
					test.value)
			}
			if test.method == "HEAD" && (a.body != "" || a.header.Get("Content-Length") == "0") {
				t.Errorf("HEAD gives %v %q", a.header, a.body)
			}
		})
	}

	t.Run("under a prefix", func(t *testing.T) {
		h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{InsecureAccount: account})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle("/api/v1/", http.StripPrefix("/api/v1", h))
		on := httptest.NewServer(mux)
		defer on.Close()
		res, err := http.Post(on.URL+"/api/v1/tools", "application/json", strings.NewReader(minimal)) // follows a redirect
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 || res.Request.URL.Path != "/api/v1/tools/" {
			t.Errorf("the response is %d from %s", res.StatusCode, res.Request.URL.Path)
		}
	})
}

// Every request is observed, with a route that clients cannot invent.
func TestOnRequest(t *testing.T) {
	var ends []catalog.RequestEnd
	s := newServer(t, catalog.NewMemoryStore(), catalog.HandlerOptions{OnRequest: func(_ context.Context, end catalog.RequestEnd) {
		if ends = append(ends, end); end.Route == "unknown" {
			panic("at the disco")
		}
	}})
	id := s.create(minimal)
	s.do("GET", "/tools/"+strings.ToUpper(id), "").want(t, 200, "")
	s.do("DELETE", "/tools/no-uuid", "").want(t, 422, "")
	s.do("PATCH", "/tools/", "").want(t, 405, "")
	s.do("GET", "/elsewhere/"+id, "").want(t, 404, "")
	var got []string
	for _, end := range ends {
		got = append(got, fmt.Sprintf("%s %s %d %s %s %s", end.Method, end.Route, end.Status, end.Code, end.Account, end.Tool))
	}
	want := []string{
		"POST /tools/ 200  " + account + " ", "GET /tools/{id} 200  " + account + " " + id, "DELETE /tools/{id} 422 rejected " + account + " ",
		"PATCH /tools/ 405 method_not_allowed  ", "GET unknown 404 not_found  ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if !strings.Contains(s.log.String(), "OnRequest panicked") {
		t.Errorf("the log is %s", s.log)
	}
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		h, err := catalog.NewHandler(badStore{fail: func() error { time.Sleep(3 * time.Second); return errors.New("x") }},
			&catalog.HandlerOptions{InsecureAccount: account, OnRequest: func(_ context.Context, end catalog.RequestEnd) { took = end.Duration }})
		if err != nil {
			t.Fatal(err)
		}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/tools/", nil))
		if took != 3*time.Second {
			t.Errorf("a request of 3s took %s", took)
		}
	})
}

// badStore fails in List.
type badStore struct {
	catalog.Store
	fail func() error
}

func (b badStore) List(ctx context.Context, _ string, _ catalog.Type) ([]catalog.StoredTool, error) {
	if b.fail == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, b.fail()
}

func TestFaultsOfAStore(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("disk full") },
		"code":  func() error { return &toolwire.Error{Code: "failed", Message: "disk full"} },
		"panic": func() error { panic(errors.New("panic value")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, badStore{fail: fail}, catalog.HandlerOptions{})
			a := s.do("GET", "/tools/", "")
			a.want(t, 500, "Internal server error")
			if strings.Contains(a.body, "disk") || strings.Contains(s.log.String(), "panic value") ||
				!strings.Contains(s.log.String(),
					"level=ERROR") {
				t.Errorf("the response is %s, the log %s", a.body, s.log)
			}
		})
	}
	for _, code := range []toolwire.Code{toolwire.CodeTransport, "busy"} {
		t.Run("out of reach: "+string(code), func(t *testing.T) {
			var fail error = &toolwire.Error{Code: code, Message: "disk locked"}
			s := newServer(t, badStore{fail: func() error { return fmt.Errorf("list: %w", fail) }}, catalog.HandlerOptions{})
			a := s.do("GET", "/tools/", "")
			a.want(t, 503, "The catalog cannot reach its data; try again")
			if a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, `"code":"busy"`) || strings.Contains(a.body, "disk") ||
				!strings.Contains(s.log.String(), "disk locked") {
				t.Errorf("the response is %v %s, the log %s", a.header, a.body, s.log)
			}
			fail = errors.New("disk full")
			if a = s.do("GET", "/tools/", ""); a.status != 500 || a.header.Get("Retry-After") != "" {
				t.Errorf("the response is %d %v", a.status, a.header)
			}
		})
	}
	t.Run("new source under the old name", func(t *testing.T) { // does not need a list
		store := badStore{Store: catalog.NewMemoryStore(), fail: func() error { return errors.New("disk full") }}
		s := newServer(t, store, catalog.HandlerOptions{Register: func(context.Context, catalog.ListItem) error {
			return nil
		}})
		path := "/tools/" + s.create(minimal) + "/upload"
		s.upload("PUT", path, part{"file", "a.py", source}).want(t, 200, "")
		s.upload("PUT", path, part{"file", "a.py", source}, part{"name", "", "other"}).want(t, 500, "Internal server error")
	})
	t.Run("abort", func(t *testing.T) {
		h, err := catalog.NewHandler(badStore{fail: func() error { panic(http.ErrAbortHandler) }},
			&catalog.HandlerOptions{InsecureAccount: account})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("http.ErrAbortHandler did not reach the caller")
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/tools/", nil))
	})
	t.Run("contexts", func(t *testing.T) {
		h, err := catalog.NewHandler(badStore{}, &catalog.HandlerOptions{InsecureAccount: account})
		if err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		defer cancel()
		gone, leave := context.WithCancel(t.Context())
		leave()
		for want, ctx := range map[int]context.Context{504: ended, 503: gone} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/tools/", nil))
			if w.Code != want {
				t.Errorf("the response is %d %s, want %d", w.Code, w.Body, want)
			}
		}
	})
}

func TestHandlerOptions(t *testing.T) {
	_, err := catalog.NewHandler(nil, &catalog.HandlerOptions{BodyTimeout: -1,
		Plugin: catalog.PluginOptions{ServerVersion: "new", MaxBytes: -1}})
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || e.Code != toolwire.CodeInvalidOptions {
		t.Fatalf("the error is %v", err)
	}
	var fields []string
	for _, p := range e.Problems {
		fields = append(fields, p.Pointer)
	}
	if got, want := strings.Join(fields, " "),
		"/store /Authenticate /BodyTimeout /Plugin/MaxBytes /Plugin/ServerVersion"; got != want {
		t.Errorf("the problems are at %s, want %s", got, want)
	}
	for _, o := range []*catalog.HandlerOptions{nil, {InsecureAccount: "x"}, {InsecureAccount: account,
		Authenticate: authenticate}} {
		if _, err := catalog.NewHandler(catalog.NewMemoryStore(), o); err == nil {
			t.Errorf("NewHandler accepts %+v", o)
		}
	}
}

// Tags of a form are texts with commas or a JSON list. What is neither is refused, not stored in pieces.
func TestTagsOfForms(t *testing.T) {
	for tags, want := range map[string]string{
		`a, b,,`: `["a","b"]`, `["a","b,c"]`: `["a","b,c"]`, `a[1], b]`: `["a[1]","b]"]`, `["a",7]`: "", `["a"`: "", `[a]`: "",
	} {
		s := newServer(t, nil, catalog.HandlerOptions{})
		r := s.upload("POST", "/tools/upload", part{"tags", "", tags}, part{"file", "a.py", source})
		if want == "" {
			r.want(t, 422, "Validation error")
			continue
		}
		var record struct{ Tags json.RawMessage }
		if err := json.Unmarshal(r.want(t, 200, ""), &record); err != nil || string(record.Tags) != want {
			t.Errorf("%s: %s, %v; want %s", tags, record.Tags, err, want)
		}
	}
}
