package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire/manifest/catalog"
)

const (
	account = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
	another = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	unknown = "00000000-0000-4000-8000-000000000000"

	minimal = `{"name":"basic-calculator","framework":"langchain","tool_type":"custom"}`
	source  = "from langchain_core.tools import BaseTool\n\nclass Analytics(BaseTool):\n" +
		"    name: str = \"analytics_tool\"\n    description: str = 'Statistics <of> \"all\" kinds.'\n"
)

// keys are those that authenticate accepts.
var keys = map[string]string{"key-one": account, "key-two": another, "key-bad": "no uuid"}

func authenticate(r *http.Request, key string) (string, error) {
	switch key {
	case "key-viewer":
		if r.Method != http.MethodGet {
			return "", &catalog.Error{Code: catalog.CodeForbidden}
		}
		return account, nil
	case "key-panic":
		panic("key-panic is a secret")
	case "key-error":
		return "", errors.New("key-error is a secret")
	}
	if id, ok := keys[key]; ok {
		return id, nil
	}
	return "", fmt.Errorf("wrapped: %w", &catalog.Error{Code: catalog.CodeUnauthorized})
}

// server is a handler behind a real connection.
type server struct {
	t   *testing.T
	url string
	log *lockedBuffer
	key string // sent as X-API-Key
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newServer(t *testing.T, store catalog.Store, o catalog.HandlerOptions) *server {
	t.Helper()
	s := &server{t: t, log: &lockedBuffer{}, key: "key-one"}
	if o.Authenticate == nil && o.InsecureAccount == "" {
		o.Authenticate = authenticate
	}
	o.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if store == nil {
		store = catalog.NewMemoryStore()
	}
	h, err := catalog.NewHandler(store, &o)
	if err != nil {
		t.Fatal(err)
	}
	on := httptest.NewServer(h)
	t.Cleanup(on.Close)
	s.url = on.URL
	return s
}

// reply is an answer with its body decoded.
type reply struct {
	status int
	header http.Header
	body   string
	json   struct {
		Success   bool
		Data      json.RawMessage
		Message   string
		Error     *struct{ Code, Message string }
		Detail    []struct{ Loc []string }
		Timestamp time.Time
	}
}

func (s *server) send(r *http.Request) reply {
	s.t.Helper()
	if s.key != "" && r.Header.Get("X-API-Key") == "" {
		r.Header.Set("X-API-Key", s.key)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(r) // follows no redirects
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := reply{status: res.StatusCode, header: res.Header, body: string(body)}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &a.json); err != nil {
			s.t.Fatalf("the answer is no JSON: %s", body)
		}
		if a.json.Success != (a.status == 200) || a.json.Timestamp.IsZero() || res.Header.Get("Cache-Control") != "no-store" {
			s.t.Errorf("the envelope is wrong: %d %v %s", a.status, res.Header, body)
		}
	}
	return a
}

func (s *server) do(method, path, body string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	return s.send(r)
}

// part is one of a form. With a filename it is a file.
type part struct{ name, filename, content string }

func (s *server) upload(method, path string, parts ...part) reply {
	s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range parts {
		header := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name="%s"`, p.name)
		if p.filename != "" {
			disposition += fmt.Sprintf(`; filename="%s"`, p.filename)
			header.Set("Content-Type", "application/octet-stream")
		}
		header.Set("Content-Disposition", disposition)
		to, err := w.CreatePart(header)
		if err != nil {
			s.t.Fatal(err)
		}
		_, _ = io.WriteString(to, p.content) // into memory
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, &body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	return s.send(r)
}

// want checks status and message, and returns the data.
func (a reply) want(t *testing.T, status int, message string) json.RawMessage {
	t.Helper()
	if a.status != status || message != "" && a.json.Message != message {
		t.Errorf("the answer is %d %s, want %d %q", a.status, a.body, status, message)
	}
	return a.json.Data
}

// loc lists where the problems of a 422 are.
func (a reply) loc() string {
	var all []string
	for _, d := range a.json.Detail {
		all = append(all, strings.Join(d.Loc, "."))
	}
	return strings.Join(all, " ")
}

func (s *server) create(record string) (id string) {
	s.t.Helper()
	return s.id(s.do("POST", "/tools/", record))
}

func (s *server) id(a reply) string {
	s.t.Helper()
	var item struct{ ID string }
	if err := json.Unmarshal(a.want(s.t, 200, ""), &item); err != nil {
		s.t.Fatal(err)
	}
	return item.ID
}

func sameJSON(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b)); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the data is\n\t%s, want\n\t%s", got, want)
	}
}

// TestDocumentedExamples has the three examples of ToolBase records.
func TestDocumentedExamples(t *testing.T) {
	n := 0
	s := newServer(t, nil, catalog.HandlerOptions{NewID: func() string { n++; return fmt.Sprintf("%s%d", unknown[:35], n) }})
	sameJSON(t, s.do("POST", "/tools/", minimal).want(t, 200, "Tool created successfully"),
		`{"id":"00000000-0000-4000-8000-000000000001","name":"basic-calculator","framework":"langchain","tool_type":"custom",
		"version":"1.0.0","account_id":"`+account+`"}`)
	sameJSON(t, s.do("POST", "/tools/", `{"name":"advanced-analytics-tool","description":"Statistical analysis of data sets.",
		"framework":"langgraph","tool_type":"custom","version":"2.1.0"}`).want(t, 200, ""),
		`{"id":"00000000-0000-4000-8000-000000000002","name":"advanced-analytics-tool","framework":"langgraph","tool_type":"custom",
		"description":"Statistical analysis of data sets.","version":"2.1.0","account_id":"`+account+`"}`)
	sameJSON(t, s.upload("POST", "/tools/upload", part{"name", "", "analytics-tool"}, part{"description", "", "Analyses."},
		part{"framework", "", "langchain"}, part{"tool_type", "", "custom"}, part{"file", "analytics.py", source}).want(t, 200, ""),
		`{"id":"00000000-0000-4000-8000-000000000003","name":"analytics-tool","framework":"langchain","tool_type":"custom",
		"description":"Analyses.","version":"1.0.0","account_id":"`+account+`","plugin_class_name":"Analytics","module_name":"analytics"}`)
}

// TestCommonValidationErrors has every row of that table.
func TestCommonValidationErrors(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{
		Plugin: catalog.PluginOptions{ServerVersion: "v0.1.84"},
		Register: func(_ context.Context, u catalog.Upload) error {
			if strings.Contains(u.Tool.ScriptContent, "boom") {
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
		{"malformed code", s.upload("POST", "/tools/upload", part{"file", "a.py", entry + "def ("}), 400, "Invalid plugin file"},
		{"no tool_plugin", s.upload("POST", "/tools/upload", part{"file", "a.py", source}), 400, "Invalid plugin file"},
		{"malformed update", s.upload("PUT", "/tools/"+uploaded+"/upload", part{"file", "a.py", "'"}), 400, "Invalid plugin file"},
		{"unknown id", s.do("GET", "/tools/"+unknown, ""), 404, "Tool not found"},
		{"unknown id, put", s.do("PUT", "/tools/"+unknown, minimal), 404, "Tool not found"},
		{"unknown id, delete", s.do("DELETE", "/tools/"+unknown, ""), 404, "Tool not found"},
		{"unknown id, upload", s.upload("PUT", "/tools/"+unknown+"/upload", part{"file", "a.py", entry}), 404, "Tool not found"},
		{"unknown id, script", s.do("GET", "/tools/"+unknown+"/script", ""), 404, "Tool or script not found"},
		{"unknown id, restore", s.do("POST", "/tools/"+unknown+"/restore", ""), 404, "Tool not found or not deleted"},
		{"deleted id", s.do("GET", "/tools/"+deleted, ""), 404, "Tool not found"},
		{"deleted id, put", s.do("PUT", "/tools/"+deleted, minimal), 404, "Tool not found"},
		{"deleted id, delete", s.do("DELETE", "/tools/"+deleted, ""), 404, "Tool not found"},
		{"deleted id, upload", s.upload("PUT", "/tools/"+deleted+"/upload", part{"file", "a.py", entry}), 404, "Tool not found"},
		{"deleted id, script", s.do("GET", "/tools/"+deleted+"/script", ""), 404, "Tool or script not found"},
		{"not deleted", s.do("POST", "/tools/"+taken+"/restore", ""), 404, "Tool not found or not deleted"},
		{"no source", s.do("GET", "/tools/"+taken+"/source", ""), 404, "Tool or script not found"},
		{"id of no form, script", s.do("GET", "/tools/x/script", ""), 404, "Tool or script not found"},
		{"name taken", s.do("POST", "/tools/", minimal), 409, "Tool with name already exists"},
		{"name taken, put", s.do("PUT", "/tools/"+uploaded, `{"name":"basic-calculator"}`), 409, "Tool with name already exists"},
		{"name taken, upload", s.upload("POST", "/tools/upload", part{"file", "a.py", entry}), 409, "Tool with the same name already exists"},
		{"no fields", s.do("POST", "/tools/", `{}`), 422, "Validation error"},
		{"broken rules", s.do("POST", "/tools/", `{"name":" ","framework":"crewai","tool_type":"magic"}`), 422, "Validation error"},
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
	sameJSON(t, s.do("GET", "/tools/"+uploaded+"/script", "").json.Data, // is what it was
		`{"id":"`+uploaded+`","script":`+quote(entry)+`}`)
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string
	return string(b)
}

func TestFieldProblems(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{MaxDescription: 5})
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
		{"alias disagrees", s.do("POST", "/tools/", `{"name":"a","framework":"langchain","tool_type":"custom","type":"native"}`), "body.tool_type"},
		{"another account", s.do("POST", "/tools/", `{"name":"a","framework":"langchain","type":"custom","account_id":"`+another+`"}`), "body.account_id"},
		{"long description", s.do("POST", "/tools/", `{"name":"a","framework":"langchain","type":"custom","description":"äöüäöü"}`), "body.description"},
		{"name twice", s.do("POST", "/tools/", `{"name":"a","name":"b"}`), "body"},
		{"name in another case", s.do("POST", "/tools/", `{"Name":"a"}`), "body"},
		{"no JSON", s.do("POST", "/tools/", `{"name":`), "body"},
		{"a list", s.do("POST", "/tools/", `[]`), "body"},
		{"put, only what is given", s.do("PUT", "/tools/"+id, `{"framework":"x","version":" "}`), "body.framework body.version"},
		{"put, null", s.do("PUT", "/tools/"+id, `{"name":null}`), "body.name"},
		{"id", s.do("GET", "/tools/x", ""), "path.id"},
		{"id, delete", s.do("DELETE", "/tools/upload", ""), "path.id"},
		{"type of list", s.do("GET", "/tools/?type=x", ""), "query.type"},
		{"empty type of list", s.do("GET", "/tools/?type=", ""), "query.type"},
		{"two types of list", s.do("GET", "/tools/?type=custom&type=native", ""), "query.type"},
		{"no file", s.upload("POST", "/tools/upload", part{"name", "", "a"}), "body.file"},
		{"no parts", s.upload("POST", "/tools/upload"), "body.file"},
		{"no file, update", s.upload("PUT", "/tools/"+id+"/upload", part{"name", "", "a"}), "body.file"},
		{"file as a field", s.upload("POST", "/tools/upload", part{"file", "", source}), "body.file"},
		{"field as a file", s.upload("POST", "/tools/upload", file, part{"name", "name.txt", "a"}), "body.name"},
		{"two files", s.upload("POST", "/tools/upload", file, file), "body.file"},
		{"two names", s.upload("POST", "/tools/upload", file, part{"name", "", "a"}, part{"name", "", "a"}), "body.name"},
		{"field in another case", s.upload("POST", "/tools/upload", file, part{"Name", "", "a"}), "body.name"},
		{"field is no UTF-8", s.upload("POST", "/tools/upload", file, part{"name", "", "\xff"}), "body.name"},
		{"blank name", s.upload("POST", "/tools/upload", file, part{"name", "", " "}), "body.name"},
		{"a native file", s.upload("POST", "/tools/upload", file, part{"type", "", "native"}), "body.tool_type"},
		{"fields disagree", s.upload("POST", "/tools/upload", file, part{"type", "", "native"}, part{"tool_type", "", "custom"}), "body.tool_type"},
		{"every field", s.upload("POST", "/tools/upload", part{"name", "", ""}, part{"framework", "", "x"}, part{"tool_type", "", "x"},
			part{"account_id", "", "x"}, part{"description", "", "123456"}, part{"tags", "", "\xff"}, part{"version", "", "\n"}),
			"body.name body.framework body.tool_type body.account_id body.description body.tags body.version body.file"},
		{"class without a name", s.upload("POST", "/tools/upload", part{"file", "a.py", "class A(BaseTool): name = compute()"}), "body.name"},
		{"class with a long description", s.upload("POST", "/tools/upload", file), "body.description"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.answer.want(t, 422, "Validation error")
			if got := test.answer.loc(); got != test.loc {
				t.Errorf("the problems are at %s, want %s: %s", got, test.loc, test.answer.body)
			}
		})
	}
	list := s.do("GET", "/tools/", "").json.Data
	if bytes.Count(list, []byte(`"id"`)) != 1 {
		t.Errorf("something was created: %s", list)
	}
}

func TestLimits(t *testing.T) {
	const room = 600
	s := newServer(t, nil, catalog.HandlerOptions{MaxBodyBytes: room, MaxUploadBytes: 2 * room, MaxFieldBytes: 10, MaxParts: 3,
		Plugin: catalog.PluginOptions{MaxBytes: room}})
	pad := func(n int) string { return source + strings.Repeat("#", n-len(source)) }
	for _, test := range []struct {
		name    string
		answer  reply
		status  int
		message string
	}{
		{"the largest file", s.upload("POST", "/tools/upload", part{"file", "a.py", pad(room)}), 200, ""},
		{"a larger file", s.upload("POST", "/tools/upload", part{"file", "a.py", pad(room + 1)}), 413, "The file is too large"},
		{"a large form", s.upload("POST", "/tools/upload", part{"file", "a.py", pad(room)}, part{"else", "", "x"},
			part{"file2", "b", strings.Repeat("x", room)}), 413, "The body is too large"},
		{"a large field", s.upload("POST", "/tools/upload", part{"name", "", "12345678901"}), 413, "A field of the form is too large"},
		{"a large unknown field", s.upload("POST", "/tools/upload", part{"x", "", "12345678901"}), 413, "A field of the form is too large"},
		{"the most parts", s.upload("POST", "/tools/upload", part{"a", "", ""}, part{"b", "", ""}, part{"c", "", ""}), 422, ""},
		{"more parts", s.upload("POST", "/tools/upload", part{"a", "", ""}, part{"b", "", ""}, part{"c", "", ""}, part{"d", "", ""}),
			413, "The form has too many parts"},
		{"a large body", s.do("POST", "/tools/", strings.Repeat(" ", room+1)), 413, "The body is too large"},
	} {
		t.Run(test.name, func(t *testing.T) { test.answer.want(t, test.status, test.message) })
	}

	t.Run("chunked", func(t *testing.T) { // no Content-Length to go by
		for _, media := range []string{"application/json", "multipart/form-data; boundary=x"} {
			path := map[bool]string{true: "/tools/", false: "/tools/upload"}[media == "application/json"]
			body := io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.py\"\r\n\r\n"),
				strings.NewReader(strings.Repeat("x", 10*room)))
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", media)
			s.send(r).want(t, 413, "")
		}
	})
	t.Run("cut off", func(t *testing.T) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/tools/upload",
			strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.py\"\r\n\r\nclass"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		s.send(r).want(t, 422, "Validation error")
	})
	t.Run("slow", func(t *testing.T) {
		s := newServer(t, nil, catalog.HandlerOptions{BodyTimeout: 20 * time.Millisecond})
		for path, media := range map[string]string{"/tools/": "application/json", "/tools/upload": "multipart/form-data; boundary=x"} {
			body, hold := io.Pipe()
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", media)
			s.send(r).want(t, 408, "The body took too long to arrive")
			_ = hold.Close()
		}
	})
	t.Run("media types", func(t *testing.T) {
		for path, media := range map[string]string{"/tools/": "text/plain", "/tools/upload": "application/json"} {
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(minimal))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", media)
			s.send(r).want(t, 422, "Validation error")
		}
	})
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
		{"an unknown key", http.Header{"X-Api-Key": {"key-x"}}, "GET", 401},
		{"another account's", http.Header{"X-Api-Key": {"key-two"}}, "GET", 404},
		{"a viewer reads", http.Header{"X-Api-Key": {"key-viewer"}}, "GET", 200},
		{"a viewer deletes", http.Header{"X-Api-Key": {"key-viewer"}}, "DELETE", 403},
		{"the function panics", http.Header{"X-Api-Key": {"key-panic"}}, "GET", 500},
		{"the function fails", http.Header{"X-Api-Key": {"key-error"}}, "GET", 500},
		{"an account that is no UUID", http.Header{"X-Api-Key": {"key-bad"}}, "GET", 500},
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
	if log := s.log.String(); strings.Contains(log, "key-") || strings.Contains(log, "secret") || !strings.Contains(log, "status=401") {
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
				t.Errorf("the answer is %d %v %s, want %d and %s %q", a.status, a.header, a.body, test.status, test.header, test.value)
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
		res, err := http.Post(on.URL+"/api/v1/tools", "application/json", strings.NewReader(minimal)) // is redirected
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 || res.Request.URL.Path != "/api/v1/tools/" {
			t.Errorf("the answer is %d from %s", res.StatusCode, res.Request.URL.Path)
		}
	})
}

func TestLifeCycle(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	native := s.create(`{"name":"time_tool","framework":"google_adk","type":"native","tags":"clock, time,,"}`)
	up := s.upload("POST", "/tools/upload", part{"file", `C:\tools\Analytics.py`, source}, part{"tags", "", "a, b"}, part{"unknown", "", "x"})
	custom := s.id(up)
	sameJSON(t, up.json.Data, `{"id":"`+custom+`","name":"analytics_tool","description":"Statistics <of> \"all\" kinds.","framework":"langchain",
		"tool_type":"custom","tags":["a","b"],"version":"1.0.0","account_id":"`+account+`","plugin_class_name":"Analytics","module_name":"Analytics"}`)

	names := func(query string) string {
		var items []catalog.ListItem
		if err := json.Unmarshal(s.do("GET", "/tools/"+query, "").want(t, 200, ""), &items); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, i := range items {
			if err := i.Validate(); err != nil {
				t.Error(err)
			}
			names = append(names, i.Name)
		}
		return strings.Join(names, " ")
	}
	for query, want := range map[string]string{"": "analytics_tool time_tool", "?type=native": "time_tool", "?type=custom": "analytics_tool"} {
		if got := names(query); got != want {
			t.Errorf("the list with %q is %s, want %s", query, got, want)
		}
	}
	for _, path := range []string{"script", "source"} {
		sameJSON(t, s.do("GET", "/tools/"+custom+"/"+path, "").want(t, 200, ""), `{"id":"`+custom+`","script":`+quote(source)+`}`)
	}

	// A new file changes what the file says, and the fields that are sent.
	again := strings.ReplaceAll(source, "Analytics(", "Better(")
	sameJSON(t, s.upload("PUT", "/tools/"+custom+"/upload", part{"file", "better.py", again}, part{"version", "", "2"}).want(t, 200, ""),
		`{"id":"`+custom+`","name":"analytics_tool","description":"Statistics <of> \"all\" kinds.","framework":"langchain",
		"tool_type":"custom","tags":["a","b"],"version":"2","account_id":"`+account+`","plugin_class_name":"Better","module_name":"better"}`)
	s.upload("PUT", "/tools/"+native+"/upload", part{"file", "a.py", source}).want(t, 422, "Validation error")

	// Metadata changes leave the code alone.
	sameJSON(t, s.do("PUT", "/tools/"+custom, `{"name":"renamed","framework":"langgraph","type":"custom"}`).want(t, 200, ""),
		`{"id":"`+custom+`","name":"renamed","framework":"langgraph","tool_type":"custom","version":"1.0.0","account_id":"`+account+`",
		"plugin_class_name":"Better","module_name":"better"}`)
	s.do("PUT", "/tools/"+custom, `{"tool_type":"native"}`).want(t, 422, "Validation error")
	sameJSON(t, s.do("GET", "/tools/"+custom+"/script", "").json.Data, `{"id":"`+custom+`","script":`+quote(again)+`}`)

	// A deleted tool is gone, frees its name, and comes back unless that was taken.
	sameJSON(t, s.do("DELETE", "/tools/"+custom, "").want(t, 200, "Tool deleted successfully"),
		`{"id":"`+custom+`","message":"Tool deleted successfully"}`)
	if got := names(""); got != "time_tool" {
		t.Errorf("the list after deleting is %s", got)
	}
	other := s.create(`{"name":"renamed","framework":"langchain","tool_type":"custom"}`)
	s.do("POST", "/tools/"+custom+"/restore", "").want(t, 409, "Tool with name already exists")
	s.do("DELETE", "/tools/"+other, "").want(t, 200, "")
	s.do("POST", "/tools/"+custom+"/restore", "").want(t, 200, "Tool restored successfully")
	s.do("POST", "/tools/"+custom+"/restore", "").want(t, 404, "Tool not found or not deleted")
	sameJSON(t, s.do("GET", "/tools/"+custom+"/source", "").want(t, 200, ""), `{"id":"`+custom+`","script":`+quote(again)+`}`)
	if strings.Contains(s.log.String(), "BaseTool") {
		t.Error("the log has source code")
	}
}

func TestPut(t *testing.T) {
	const before = `{"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"3"}`
	full := `{"name":"b","framework":"langgraph","tool_type":"native"}`
	for _, test := range []struct {
		name string
		mode catalog.PutMode
		body string
		want string // without id and account; "" is a 422
	}{
		{"full body replaces", catalog.PutByBody, full, `"name":"b","framework":"langgraph","tool_type":"native","version":"1.0.0"`},
		{"partial body updates", catalog.PutByBody, `{"version":"4"}`,
			`"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"4"`},
		{"empty body changes nothing", catalog.PutByBody, `{}`,
			`"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"3"`},
		{"null clears", catalog.PutByBody, `{"description":null,"tags":null,"version":null,"account_id":null}`,
			`"name":"a","framework":"langchain","tool_type":"custom","version":"1.0.0"`},
		{"empty clears", catalog.PutByBody, `{"description":"","tags":[]}`,
			`"name":"a","framework":"langchain","tool_type":"custom","version":"3"`},
		{"the account may be sent back", catalog.PutByBody, `{"account_id":"` + strings.ToUpper(account) + `","id":"x","script_content":"x"}`,
			`"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"3"`},
		{"replace: full", catalog.PutReplace, full, `"name":"b","framework":"langgraph","tool_type":"native","version":"1.0.0"`},
		{"replace: partial", catalog.PutReplace, `{"version":"4"}`, ""},
		{"merge: full", catalog.PutMerge, full,
			`"name":"b","framework":"langgraph","tool_type":"native","description":"d","tags":["t"],"version":"3"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, nil, catalog.HandlerOptions{Put: test.mode})
			id := s.create(before)
			a := s.do("PUT", "/tools/"+id, test.body)
			if test.want == "" {
				a.want(t, 422, "Validation error")
				return
			}
			want := `{"id":"` + id + `","account_id":"` + account + `",` + test.want + `}`
			sameJSON(t, a.want(t, 200, "Tool updated successfully"), want)
			sameJSON(t, s.do("GET", "/tools/"+id, "").want(t, 200, ""), want)
		})
	}
}

func TestOneNameUnderARace(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	const crowd = 50
	statuses := make([]int, crowd)
	var wg sync.WaitGroup
	for n := range crowd {
		wg.Go(func() {
			if n%2 == 0 {
				statuses[n] = s.do("POST", "/tools/", `{"name":"analytics_tool","framework":"langchain","tool_type":"custom"}`).status
			} else {
				statuses[n] = s.upload("POST", "/tools/upload", part{"file", "a.py", source}).status
			}
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	if statuses[0] != 200 || statuses[1] != 409 || statuses[crowd-1] != 409 {
		t.Errorf("the answers are %v, want one 200 and else 409", statuses)
	}
}

func TestRegister(t *testing.T) {
	var seen []catalog.Upload
	var answer error
	s := newServer(t, nil, catalog.HandlerOptions{Register: func(_ context.Context, u catalog.Upload) error {
		seen = append(seen, u)
		return answer
	}})
	id := s.id(s.upload("POST", "/tools/upload", part{"file", "a.py", source}))
	s.upload("PUT", "/tools/"+id+"/upload", part{"file", "b.py", source}).want(t, 200, "")
	s.upload("POST", "/tools/upload", part{"file", "a.py", source}).want(t, 409, "") // is not even registered
	s.create(minimal)                                                                // has no file
	if len(seen) != 2 || seen[0].Update || !seen[1].Update || seen[0].Tool.ID != id || seen[1].Tool.ID != id ||
		seen[1].Tool.ModuleName != "b" || seen[0].Tool.ScriptContent != source || seen[0].Plugin.ClassName != "Analytics" {
		t.Errorf("Register saw %+v", seen)
	}
	answer = &catalog.Error{Code: catalog.CodePlugin}
	s.upload("PUT", "/tools/"+id+"/upload", part{"file", "b.py", source}).want(t, 400, "Invalid plugin file")
}

// badStore fails in one way.
type badStore struct {
	catalog.Store
	fail func() error
}

func (b badStore) List(ctx context.Context, _ string, _ catalog.Type) ([]catalog.Record, error) {
	if b.fail == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, b.fail()
}

func TestFaultsOfAStore(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("disk full") },
		"panic": func() error { panic(errors.New("panic value")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, badStore{fail: fail}, catalog.HandlerOptions{})
			a := s.do("GET", "/tools/", "")
			a.want(t, 500, "Internal server error")
			if strings.Contains(a.body, "disk") || strings.Contains(s.log.String(), "panic value") || !strings.Contains(s.log.String(), "level=ERROR") {
				t.Errorf("the answer is %s, the log %s", a.body, s.log)
			}
		})
	}
	t.Run("abort", func(t *testing.T) {
		h, err := catalog.NewHandler(badStore{fail: func() error { panic(http.ErrAbortHandler) }},
			&catalog.HandlerOptions{InsecureAccount: account})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("http.ErrAbortHandler must be passed on")
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
				t.Errorf("the answer is %d %s, want %d", w.Code, w.Body, want)
			}
		}
	})
}

func TestHandlerOptions(t *testing.T) {
	_, err := catalog.NewHandler(nil, &catalog.HandlerOptions{Put: 9, MaxParts: -1, BodyTimeout: -1,
		Plugin: catalog.PluginOptions{ServerVersion: "new", MaxBytes: -1}})
	e, ok := errors.AsType[*catalog.Error](err)
	if !ok || e.Code != catalog.CodeOptions {
		t.Fatalf("the error is %v", err)
	}
	for _, word := range []string{"store", "Authenticate", "Put", "MaxParts", "BodyTimeout", "ServerVersion", "MaxBytes"} {
		if !strings.Contains(e.Message, word) {
			t.Errorf("the error does not name %s: %v", word, e)
		}
	}
	for _, o := range []*catalog.HandlerOptions{nil, {InsecureAccount: "x"}, {InsecureAccount: account, Authenticate: authenticate}} {
		if _, err := catalog.NewHandler(catalog.NewMemoryStore(), o); err == nil {
			t.Errorf("%+v makes a handler", o)
		}
	}
}
