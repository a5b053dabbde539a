package catalog_test

import (
	"bytes"
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
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/testkit"
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

// keys maps the keys that authenticate accepts to accounts.
var keys = map[string]string{"key-one": account, "key-two": another, "key-bad": "no uuid"}

func authenticate(r *http.Request, key string) (string, error) {
	switch key {
	case "": // so that a request without a key, or with two, is served if the function is asked
		return account, nil
	case "key-viewer":
		if r.Method != http.MethodGet {
			return "", &toolwire.Error{Code: toolwire.CodeForbidden}
		}
		return account, nil
	case "key-panic":
		panic("key-panic is geheim")
	case "key-error":
		return "", errors.New("key-error is geheim")
	}
	if id, ok := keys[key]; ok {
		return id, nil
	}
	return "", fmt.Errorf("wrapped: %w", &toolwire.Error{Code: toolwire.CodeUnauthorized})
}

// server is a handler that listens.
type server struct {
	t   *testing.T
	url string
	log *testkit.Buffer
	key string // sent as X-API-Key

	handler http.Handler
}

func newServer(t *testing.T, store catalog.Store, o catalog.HandlerOptions) *server {
	t.Helper()
	s := &server{t: t, log: &testkit.Buffer{}, key: "key-one"}
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
	s.handler = h
	on := httptest.NewServer(h)
	t.Cleanup(on.Close)
	s.url = on.URL
	return s
}

// reply is a response with its body decoded.
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
	res, err := transport.RoundTrip(r) // does not follow redirects
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
			s.t.Fatalf("the response is not JSON: %s", body)
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

// part is one part of a form. It is a file if it has a filename.
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

// want checks the status and the message and returns the data.
func (a reply) want(t *testing.T, status int, message string) json.RawMessage {
	t.Helper()
	if a.status != status || message != "" && a.json.Message != message {
		t.Errorf("the response is %d %s, want %d %q", a.status, a.body, status, message)
	}
	return a.json.Data
}

// loc returns the places of the problems of a 422.
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

func quote(text string) string {
	b, _ := json.Marshal(text) // a string
	return string(b)
}
