package catalog_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/manifest/catalog"
)

const (
	clientKey = `sk-live_0123456789"abc/def`
	clientID  = "11111111-2222-4333-8444-555555555555"
	account   = "99999999-2222-4333-8444-555555555555"
	shortItem = `{"id":"` + clientID + `","name":"basic-calculator","framework":"langchain","tool_type":"custom"}`
)

func minimalTool() catalog.Tool {
	return catalog.Tool{Name: "basic-calculator", Framework: catalog.LangChain, Type: catalog.Custom}
}

func fullTool() catalog.Tool {
	return catalog.Tool{
		Name: "advanced-analytics-tool", Description: "Statistics & more.", Framework: catalog.LangGraph, Type: catalog.Custom,
		Version: "2.1.0",
	}
}

func newClient(t testing.TB, baseURL string, o *catalog.ClientOptions) *catalog.Client {
	t.Helper()
	c, err := catalog.NewClient(baseURL, clientKey, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a server that answers every request in the same way, and a client that asks once.
func serve(t *testing.T, o *catalog.ClientOptions, handler http.HandlerFunc) *catalog.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if o == nil {
		o = &catalog.ClientOptions{MaxAttempts: 1}
	}
	if o.Transport == nil {
		transport := &http.Transport{DisableKeepAlives: true}
		o.Transport = transport
	}
	return newClient(t, server.URL, o)
}

func answering(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func failed(t *testing.T, err error, code catalog.Code) *catalog.Error {
	t.Helper()
	e, ok := errors.AsType[*catalog.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("want code %s, got %v", code, err)
	}
	return e
}

// calls are all methods of a client, each as one request.
var calls = map[string]func(ctx context.Context, c *catalog.Client) error{
	"create": func(ctx context.Context, c *catalog.Client) error { return second(c.Create(ctx, fullTool())) },
	"list":   func(ctx context.Context, c *catalog.Client) error { return second(c.List(ctx, nil)) },
	"get":    func(ctx context.Context, c *catalog.Client) error { return second(c.Get(ctx, clientID)) },
	"update": func(ctx context.Context, c *catalog.Client) error { return second(c.Update(ctx, clientID, fullTool())) },
	"patch": func(ctx context.Context, c *catalog.Client) error {
		return second(c.Patch(ctx, clientID, catalog.Patch{Name: new("x")}))
	},
	"delete":  func(ctx context.Context, c *catalog.Client) error { return c.Delete(ctx, clientID) },
	"restore": func(ctx context.Context, c *catalog.Client) error { return c.Restore(ctx, clientID) },
	"script":  func(ctx context.Context, c *catalog.Client) error { return second(c.Script(ctx, clientID)) },
	"upload": func(ctx context.Context, c *catalog.Client) error {
		return second(c.Upload(ctx, fullTool(), "tool.py", []byte(source)))
	},
	"upload update": func(ctx context.Context, c *catalog.Client) error {
		return second(c.UploadUpdate(ctx, clientID, catalog.Patch{}, "tool.py", []byte(source)))
	},
	"find": func(ctx context.Context, c *catalog.Client) error { return second(c.Find(ctx, "x")) },
}

func second[T any](_ T, err error) error { return err }

func TestClientRequestsOnTheWire(t *testing.T) {
	const fullBody = `{"name":"advanced-analytics-tool","framework":"langgraph","tool_type":"custom",` +
		`"description":"Statistics & more.","version":"2.1.0"}`
	tagged := minimalTool()
	tagged.AccountID, tagged.Tags = account, []string{"a", "b"}
	for name, test := range map[string]struct {
		options   catalog.ClientOptions
		call      func(ctx context.Context, c *catalog.Client) error
		line      string
		body      string
		answer    string
		userAgent string
	}{
		"create, the minimal example": {line: "POST /v1/tools/", answer: shortItem,
			body: `{"name":"basic-calculator","framework":"langchain","tool_type":"custom"}`,
			call: func(ctx context.Context, c *catalog.Client) error { return second(c.Create(ctx, minimalTool())) }},
		"create, the full example": {line: "POST /v1/tools/", answer: shortItem, body: fullBody, call: calls["create"]},
		"create with the SDK's type": {line: "POST /v1/tools/", answer: shortItem,
			options: catalog.ClientOptions{TypeField: "type", UserAgent: "me/1"}, userAgent: "me/1",
			body: `{"name":"basic-calculator","framework":"langchain","type":"custom","account_id":"` + account + `","tags":["a","b"]}`,
			call: func(ctx context.Context, c *catalog.Client) error { return second(c.Create(ctx, tagged)) }},
		"list":       {line: "GET /v1/tools/", answer: `[]`, call: calls["list"]},
		"list, zero": {line: "GET /v1/tools/", answer: `[]`, call: func(ctx context.Context, c *catalog.Client) error { return second(c.List(ctx, &catalog.ListOptions{})) }},
		"list of a type": {line: "GET /v1/tools/?type=native", answer: `[]`, call: func(ctx context.Context, c *catalog.Client) error {
			return second(c.List(ctx, &catalog.ListOptions{Type: catalog.Native}))
		}},
		"get": {line: "GET /v1/tools/" + clientID, answer: shortItem, call: calls["get"]},
		"update clears what is empty": {line: "PUT /v1/tools/" + clientID, answer: shortItem,
			body: `{"name":"basic-calculator","framework":"langchain","tool_type":"custom","description":"","tags":[],"version":"1.0.0"}`,
			call: func(ctx context.Context, c *catalog.Client) error {
				return second(c.Update(ctx, clientID, minimalTool()))
			}},
		"update": {line: "PUT /v1/tools/" + clientID, answer: shortItem,
			body: `{"name":"basic-calculator","framework":"langchain","tool_type":"custom","account_id":"` + account +
				`","description":"","tags":["a","b"],"version":"1.0.0"}`,
			call: func(ctx context.Context, c *catalog.Client) error { return second(c.Update(ctx, clientID, tagged)) }},
		"empty patch": {line: "GET /v1/tools/" + clientID, answer: shortItem, call: func(ctx context.Context, c *catalog.Client) error {
			return second(c.Patch(ctx, clientID, catalog.Patch{}))
		}},
		"delete":  {line: "DELETE /v1/tools/" + clientID, answer: `{"success":true,"data":{"message":"gone"}}`, call: calls["delete"]},
		"restore": {line: "POST /v1/tools/" + clientID + "/restore", answer: `{"success":true}`, call: calls["restore"]},
		"script":  {line: "GET /v1/tools/" + clientID + "/script", answer: `{"script":"x"}`, call: calls["script"]},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				body, _ := io.ReadAll(r.Body)
				want := http.Header{"X-Api-Key": {clientKey}, "Accept": {"application/json"}, "User-Agent": {"toolwire"}}
				if test.userAgent != "" {
					want.Set("User-Agent", test.userAgent)
				}
				if test.body != "" {
					want.Set("Content-Type", "application/json")
					want.Set("Content-Length", fmt.Sprint(len(test.body)))
				} else if r.Method == http.MethodPost {
					want.Set("Content-Length", "0")
				}
				r.Header.Del("Accept-Encoding") // the transport's
				if got := r.Method + " " + r.RequestURI; got != test.line || string(body) != test.body || !reflect.DeepEqual(r.Header, want) {
					t.Errorf("got  %s %s %q\nwant %s %s %q", got, body, r.Header, test.line, test.body, want)
				}
				_, _ = io.WriteString(w, test.answer)
			}))
			defer server.Close()
			if err := test.call(t.Context(), newClient(t, server.URL+"/v1/", &test.options)); err != nil || asked != 1 {
				t.Errorf("%d requests, %v", asked, err)
			}
		})
	}
}

func TestClientPatchReadsMergesAndSends(t *testing.T) {
	stored := `{"id":"` + clientID + `","name":"old","framework":"langgraph","type":"native","account_id":"` + account +
		`","description":"About it.","tags":"a, b","version":"2.0.0","plugin_class_name":"Old","script_content":null,"created_at":1}`
	for name, test := range map[string]struct {
		patch  catalog.Patch
		body   string
		answer string
		want   catalog.Tool
	}{
		"one field": {catalog.Patch{Name: new("new")},
			`{"name":"new","framework":"langgraph","tool_type":"native","description":"About it.","tags":["a","b"],"version":"2.0.0"}`,
			`{"success":true,"data":{"name":"new"}}`,
			catalog.Tool{Name: "new", Framework: "langgraph", Type: "native", AccountID: account, Description: "About it.",
				Tags: []string{"a", "b"}, Version: "2.0.0"}},
		"clearing, and the server's last word": {
			catalog.Patch{Description: new(""), Tags: &[]string{}, Version: new(""), AccountID: new(account)},
			`{"name":"old","framework":"langgraph","tool_type":"native","account_id":"` + account +
				`","description":"","tags":[],"version":"1.0.0"}`,
			`{"version":"1.0.0","description":null}`,
			catalog.Tool{Name: "old", Framework: "langgraph", Type: "native", AccountID: account, Version: "1.0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			c := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				lines = append(lines, r.Method+" "+r.RequestURI+" "+string(body))
				if r.Method == http.MethodGet {
					_, _ = io.WriteString(w, stored)
					return
				}
				_, _ = io.WriteString(w, test.answer)
			})
			got, err := c.Patch(t.Context(), clientID, test.patch)
			if err != nil {
				t.Fatal(err)
			}
			path := "/tools/" + clientID + " "
			if want := []string{"GET " + path, "PUT " + path + test.body}; !slices.Equal(lines, want) {
				t.Errorf("got  %q\nwant %q", lines, want)
			}
			if !reflect.DeepEqual(got.Tool, test.want) || got.ID != clientID || got.PluginClassName != "Old" {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("what is read must be a whole record", func(t *testing.T) {
		puts := 0
		c := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				puts++
			}
			_, _ = io.WriteString(w, `{"id":"`+clientID+`","name":"old","framework":"other"}`)
		})
		_, err := c.Patch(t.Context(), clientID, catalog.Patch{Name: new("new")})
		e := failed(t, err, catalog.CodeInvalid)
		if puts != 0 || len(e.Problems) != 2 || e.Problems[0].Field != "framework" || e.Problems[1].Field != "tool_type" {
			t.Errorf("%d puts, %v", puts, err)
		}
	})
}

func TestClientSendsNothingThatIsInvalid(t *testing.T) {
	canceled, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user went away")
	cancel(why)
	late, cancelLate := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancelLate()
	c := serve(t, &catalog.ClientOptions{MaxRequestBytes: 300, MaxAttempts: 3}, func(_ http.ResponseWriter, r *http.Request) {
		t.Error("sent:", r.Method, r.URL)
	})
	big := fullTool()
	big.Description = strings.Repeat("x", 300)
	for name, test := range map[string]struct {
		ctx    context.Context
		code   catalog.Code
		fields string
		call   func(ctx context.Context) error
	}{
		"empty record": {t.Context(), catalog.CodeInvalid, "name framework tool_type",
			func(ctx context.Context) error { return second(c.Create(ctx, catalog.Tool{})) }},
		"empty replacement": {t.Context(), catalog.CodeInvalid, "name framework tool_type",
			func(ctx context.Context) error { return second(c.Update(ctx, clientID, catalog.Tool{})) }},
		"bad patch": {t.Context(), catalog.CodeInvalid, "framework",
			func(ctx context.Context) error {
				return second(c.Patch(ctx, clientID, catalog.Patch{Framework: new(catalog.Framework("crew"))}))
			}},
		"bad type": {t.Context(), catalog.CodeInvalid, "type",
			func(ctx context.Context) error { return second(c.List(ctx, &catalog.ListOptions{Type: "a&b"})) }},
		"id with a path":   {t.Context(), catalog.CodeInvalid, "id", func(ctx context.Context) error { return second(c.Get(ctx, "../x")) }},
		"id to update":     {t.Context(), catalog.CodeInvalid, "id", func(ctx context.Context) error { return second(c.Update(ctx, "", fullTool())) }},
		"id to patch":      {t.Context(), catalog.CodeInvalid, "id", func(ctx context.Context) error { return second(c.Patch(ctx, "x", catalog.Patch{})) }},
		"id to delete":     {t.Context(), catalog.CodeInvalid, "id", func(ctx context.Context) error { return c.Delete(ctx, clientID+"?") }},
		"id to restore":    {t.Context(), catalog.CodeInvalid, "id", func(ctx context.Context) error { return c.Restore(ctx, "") }},
		"id of the script": {t.Context(), catalog.CodeInvalid, "id", func(ctx context.Context) error { return second(c.Script(ctx, "7")) }},
		"id to upload to": {t.Context(), catalog.CodeInvalid, "id", func(ctx context.Context) error {
			return second(c.UploadUpdate(ctx, "7", catalog.Patch{}, "a.py", []byte(source)))
		}},
		"too large":   {t.Context(), catalog.CodeTooLarge, "", func(ctx context.Context) error { return second(c.Create(ctx, big)) }},
		"upload size": {t.Context(), catalog.CodeTooLarge, "", func(ctx context.Context) error { return calls["upload"](ctx, c) }},
		"canceled":    {canceled, catalog.CodeCanceled, "", func(ctx context.Context) error { return calls["get"](ctx, c) }},
		"late":        {late, catalog.CodeTimeout, "", func(ctx context.Context) error { return calls["create"](ctx, c) }},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.call(test.ctx)
			e := failed(t, err, test.code)
			var fields []string
			for _, p := range e.Problems {
				fields = append(fields, p.Field)
			}
			if strings.Join(fields, " ") != test.fields || e.Status != 0 || strings.Contains(err.Error(), "may have been") {
				t.Errorf("got %v", err)
			}
			switch test.code {
			case catalog.CodeCanceled:
				if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
					t.Errorf("%v does not unwrap to its cause", err)
				}
			case catalog.CodeTimeout:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v does not unwrap to its cause", err)
				}
			}
		})
	}
}

func TestNewClientReportsAllMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		url, key string
		options  *catalog.ClientOptions
		fields   []string
	}{
		"everything": {"http://u:p@aip.example.com/tools/?x#y", " ", &catalog.ClientOptions{
			Timeout: -1, MaxAttempts: -1, MaxRetryAfter: -1, MaxRequestBytes: -1, MaxResponseBytes: -1, TypeField: "kind", UserAgent: "a\nb",
		}, []string{"base URL", "base URL", "base URL", "API key", "UserAgent", "TypeField", "Timeout", "MaxAttempts", "MaxRetryAfter",
			"MaxRequestBytes", "MaxResponseBytes"}},
		"no URL":          {"", "k", nil, []string{"base URL"}},
		"no scheme":       {"aip.example.com", "k", nil, []string{"base URL"}},
		"another scheme":  {"ftp://127.0.0.1", "k", nil, []string{"base URL"}},
		"not parseable":   {"https://[", "k", nil, []string{"base URL"}},
		"no key":          {"https://aip.example.com", "", nil, []string{"API key"}},
		"key on 2 lines":  {"https://aip.example.com", "a\r\nX: y", nil, []string{"API key"}},
		"http, looks it":  {"http://localhost.example.com", "k", nil, []string{"base URL"}},
		"https":           {"https://aip.example.com/base", "k", nil, nil},
		"http, localhost": {"http://localhost:8000", "k", nil, nil},
		"http, ::1":       {"http://[::1]:8000", "k", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := catalog.NewClient(test.url, test.key, test.options)
			if test.fields == nil {
				if err != nil || c == nil {
					t.Error(err)
				}
				return
			}
			e := failed(t, err, catalog.CodeOptions)
			var fields []string
			for _, p := range e.Problems {
				fields = append(fields, p.Field)
			}
			if !slices.Equal(fields, test.fields) || strings.Contains(err.Error(), "u:p") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestClientCopiesOptions(t *testing.T) {
	o := &catalog.ClientOptions{MaxAttempts: 1, MaxResponseBytes: 1000}
	c := serve(t, o, answering(200, `[]`))
	o.MaxResponseBytes, o.Transport = 1, nil
	if _, err := c.List(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A redirect of any kind ends the call, and the key goes nowhere else.
func TestClientDoesNotFollowRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("X-API-Key"))
	}))
	defer elsewhere.Close()
	for name, call := range calls {
		for _, status := range []int{301, 302, 303, 307, 308} {
			asked := 0
			c := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(status)
			})
			err := call(t.Context(), c)
			e := failed(t, err, catalog.CodeBadAnswer)
			if e.Status != status || asked != 1 || !strings.Contains(err.Error(), "base URL") || strings.Contains(err.Error(), elsewhere.URL) {
				t.Errorf("%s, %d: %v after %d requests", name, status, err, asked)
			}
		}
	}
}

func TestClientCancellationAndSlowServers(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	arrived := make(chan struct{}, 1)
	wait := func(r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see the client go
		arrived <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-hang:
		}
	}
	slowHead := func(_ http.ResponseWriter, r *http.Request) { wait(r) }
	slowBody := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `[{"id":`)
		_ = http.NewResponseController(w).Flush()
		wait(r)
	}
	for name, handler := range map[string]http.HandlerFunc{"before the answer": slowHead, "within the answer": slowBody} {
		t.Run("canceled "+name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c := serve(t, nil, handler)
			go func() { <-arrived; cancel() }()
			_, err := c.List(ctx, nil)
			failed(t, err, catalog.CodeCanceled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("slow "+name, func(t *testing.T) {
			c := serve(t, &catalog.ClientOptions{Timeout: 50 * time.Millisecond}, handler)
			err := calls["create"](t.Context(), c)
			<-arrived
			failed(t, err, catalog.CodeTimeout)
			if errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ClientOptions.Timeout") ||
				!strings.Contains(err.Error(), "may have been created") {
				t.Errorf("got %v", err)
			}
		})
		t.Run("deadline "+name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := calls["list"](ctx, serve(t, nil, handler))
			<-arrived
			failed(t, err, catalog.CodeTimeout)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestClientBrokenAnswers(t *testing.T) {
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			out := bufio.NewWriter(conn)
			_, _ = out.WriteString(text)
			_ = out.Flush()
			_ = conn.Close()
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		code    catalog.Code
		status  int
		text    string
	}{
		"closed":        {raw(""), catalog.CodeUnreachable, 0, "the connection was closed"},
		"no HTTP":       {raw("SSH-2.0-OpenSSH\r\n\r\n"), catalog.CodeUnreachable, 0, "no HTTP"},
		"truncated":     {raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]"), catalog.CodeUnreachable, 200, "the connection was closed"},
		"truncated 404": {raw("HTTP/1.1 404 x\r\nContent-Length: 100\r\n\r\nTool"), catalog.CodeNotFound, 404, "no such tool"},
		"too large":     {answering(200, "["+strings.Repeat(" ", 2000)+"]"), catalog.CodeBadAnswer, 200, "more than 1000 bytes"},
		"too large 500": {answering(500, strings.Repeat("secret ", 2000)), catalog.CodeServer, 500, "the server failed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, &catalog.ClientOptions{MaxAttempts: 1, MaxResponseBytes: 1000}, test.handler)
			for name, call := range calls {
				err := call(t.Context(), c)
				if e := failed(t, err, test.code); e.Status != test.status || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = listener.Close()
		c := newClient(t, "http://"+listener.Addr().String(), &catalog.ClientOptions{MaxAttempts: 1})
		for _, call := range calls {
			err := call(t.Context(), c)
			failed(t, err, catalog.CodeUnreachable)
			if strings.Contains(err.Error(), "may have been") || strings.Contains(err.Error(), listener.Addr().String()) ||
				!errors.As(err, new(*net.OpError)) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestClientFind(t *testing.T) {
	ids := []string{"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002",
		"00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000004"}
	var entries []string
	for i, name := range []string{"time_tool", "Twice", "twice", "Same", "Same"} {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"name":%q,"framework":"langchain","tool_type":"native"}`, ids[i], name))
	}
	asked := 0
	c := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		asked++
		answering(200, `{"success":true,"data":[`+strings.Join(entries, ",")+`]}`)(w, r)
	})
	for ref, want := range map[string]string{
		"time_tool": ids[0], "TIME_Tool": ids[0], "twice": ids[2], "Twice": ids[1], clientID: clientID,
		"TWICE": "ambiguous", "Same": "ambiguous", "same": "ambiguous", "time": "not_found", "": "not_found",
	} {
		got, err := c.Resolve(t.Context(), ref)
		if e, ok := errors.AsType[*catalog.Error](err); ok {
			got = string(e.Code)
		}
		if got != want {
			t.Errorf("%q is %s, %v, want %s", ref, got, err, want)
		}
	}
	if asked != 9 {
		t.Errorf("%d requests: an id needs none, a name one", asked)
	}
	item, err := c.Find(t.Context(), "Time_tool")
	if err != nil || item.Name != "time_tool" || item.Type != catalog.Native {
		t.Errorf("got %+v, %v", item, err)
	}
}

func TestClientLogs(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := serve(t, &catalog.ClientOptions{Logger: logger}, answering(404, `{"detail":"Tool not found"}`))
	for _, call := range calls {
		_ = call(t.Context(), c)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(calls) {
		t.Errorf("%d lines for %d calls", len(lines), len(calls))
	}
	for _, line := range lines {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry["msg"] != "catalog attempt" || entry["status"] != 404. ||
			entry["code"] != "not_found" || entry["attempt"] != 1. || entry["operation"] == "" {
			t.Errorf("got %s", line)
		}
	}
	for _, secret := range []string{clientKey, "advanced", "Statistics", "Tool not found", "class"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}
