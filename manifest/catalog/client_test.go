package catalog_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/manifest/catalog"
)

const (
	clientKey      = `sk-live_0123456789"abc/def`
	clientID       = "11111111-2222-4333-8444-555555555555"
	clientAccount  = "99999999-2222-4333-8444-555555555555"
	calculatorItem = `{"id":"` + clientID + `","name":"basic-calculator","framework":"langchain","tool_type":"custom"}`
)

func calculatorTool() catalog.Tool {
	return catalog.Tool{Name: "basic-calculator", Framework: catalog.LangChain, Type: catalog.Custom}
}

func analyticsTool() catalog.Tool {
	return catalog.Tool{
		Name: "advanced-analytics-tool", Description: "Statistics & more.", Framework: catalog.LangGraph,
		Type:    catalog.Custom,
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

// serveClient starts a server and returns a client of it. Without options the client does not
// retry.
func serveClient(t *testing.T, o *catalog.ClientOptions, handler http.HandlerFunc) *catalog.Client {
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

func answerWith(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func failedWith(t *testing.T, err error, code toolwire.Code) *toolwire.Error {
	t.Helper()
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("want code %s, got %v", code, err)
	}
	return e
}

// clientCalls has all methods of a client.
var clientCalls = map[string]func(ctx context.Context, c *catalog.Client) error{
	"create": func(ctx context.Context, c *catalog.Client) error { return errorOf(c.Create(ctx, analyticsTool())) },
	"list":   func(ctx context.Context, c *catalog.Client) error { return errorOf(c.List(ctx, "")) },
	"get":    func(ctx context.Context, c *catalog.Client) error { return errorOf(c.Get(ctx, clientID)) },
	"update": func(ctx context.Context, c *catalog.Client) error {
		return errorOf(c.Update(ctx, clientID, analyticsTool()))
	},
	"patch": func(ctx context.Context, c *catalog.Client) error {
		return errorOf(c.Patch(ctx, clientID, catalog.Patch{Name: new("x")}))
	},
	"delete":  func(ctx context.Context, c *catalog.Client) error { return c.Delete(ctx, clientID) },
	"restore": func(ctx context.Context, c *catalog.Client) error { return c.Restore(ctx, clientID) },
	"script":  func(ctx context.Context, c *catalog.Client) error { return errorOf(c.Script(ctx, clientID)) },
	"upload": func(ctx context.Context, c *catalog.Client) error {
		return errorOf(c.Upload(ctx, analyticsTool(), "tool.py", []byte(clientSource)))
	},
	"upload update": func(ctx context.Context, c *catalog.Client) error {
		return errorOf(c.UploadUpdate(ctx, clientID, catalog.Patch{}, "tool.py", []byte(clientSource)))
	},
	"find": func(ctx context.Context, c *catalog.Client) error { return errorOf(c.Find(ctx, "x")) },
}

func errorOf[T any](_ T, err error) error { return err }

func TestClientRequestsOnTheWire(t *testing.T) {
	const fullBody = `{"name":"advanced-analytics-tool","framework":"langgraph","tool_type":"custom",` +
		`"description":"Statistics & more.","version":"2.1.0"}`
	tagged := calculatorTool()
	tagged.AccountID, tagged.Tags = clientAccount, []string{"a", "b"}
	for name, test := range map[string]struct {
		options catalog.ClientOptions
		call    func(ctx context.Context, c *catalog.Client) error
		line    string
		body    string
		answer  string
	}{
		"create, the minimal example": {line: "POST /v1/tools/", answer: calculatorItem,
			body: `{"name":"basic-calculator","framework":"langchain","tool_type":"custom"}`,
			call: func(ctx context.Context, c *catalog.Client) error { return errorOf(c.Create(ctx, calculatorTool())) }},
		"create without tags": {line: "POST /v1/tools/", answer: calculatorItem,
			body: `{"name":"basic-calculator","framework":"langchain","tool_type":"custom"}`,
			call: func(ctx context.Context, c *catalog.Client) error {
				untagged := calculatorTool()
				untagged.Tags = []string{}
				return errorOf(c.Create(ctx, untagged))
			}},
		"create, the full example": {line: "POST /v1/tools/", answer: calculatorItem, body: fullBody,
			call: clientCalls["create"]},
		"create with the SDK's type": {line: "POST /v1/tools/", answer: calculatorItem,
			options: catalog.ClientOptions{TypeField: "type"},
			body: `{"name":"basic-calculator","framework":"langchain","type":"custom","account_id":"` + clientAccount +
				`","tags":["a","b"]}`,
			call: func(ctx context.Context, c *catalog.Client) error { return errorOf(c.Create(ctx, tagged)) }},
		"list": {line: "GET /v1/tools/", answer: `[]`, call: clientCalls["list"]},
		"list, zero": {line: "GET /v1/tools/", answer: `[]`, call: func(ctx context.Context, c *catalog.Client) error {
			return errorOf(c.List(ctx, ""))
		}},
		"list of a type": {line: "GET /v1/tools/?type=native", answer: `[]`,
			call: func(ctx context.Context, c *catalog.Client) error {
				return errorOf(c.List(ctx, catalog.Native))
			}},
		"get": {line: "GET /v1/tools/" + clientID, answer: calculatorItem, call: clientCalls["get"]},
		"update clears what is empty": {line: "PUT /v1/tools/" + clientID, answer: calculatorItem,
			body: `{"name":"basic-calculator","framework":"langchain","tool_type":"custom","description":"","tags":[],"version":"1.0.0"}`,
			call: func(ctx context.Context, c *catalog.Client) error {
				return errorOf(c.Update(ctx, clientID, calculatorTool()))
			}},
		"update": {line: "PUT /v1/tools/" + clientID, answer: calculatorItem,
			body: `{"name":"basic-calculator","framework":"langchain","tool_type":"custom","account_id":"` + clientAccount +
				`","description":"","tags":["a","b"],"version":"1.0.0"}`,
			call: func(ctx context.Context, c *catalog.Client) error { return errorOf(c.Update(ctx, clientID, tagged)) }},
		"empty patch": {line: "GET /v1/tools/" + clientID, answer: calculatorItem,
			call: func(ctx context.Context, c *catalog.Client) error {
				return errorOf(c.Patch(ctx, clientID, catalog.Patch{}))
			}},
		"delete": {line: "DELETE /v1/tools/" + clientID, answer: `{"success":true,"data":{"message":"gone"}}`,
			call: clientCalls["delete"]},
		"restore": {line: "POST /v1/tools/" + clientID + "/restore", answer: `{"success":true}`,
			call: clientCalls["restore"]},
		"script": {line: "GET /v1/tools/" + clientID + "/source", answer: `{"script":"x"}`, call: clientCalls["script"]},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				body, _ := io.ReadAll(r.Body)
				want := http.Header{"X-Api-Key": {clientKey}, "Accept": {"application/json"}, "User-Agent": {"toolwire"}}
				if test.body != "" {
					want.Set("Content-Type", "application/json")
					want.Set("Content-Length", fmt.Sprint(len(test.body)))
				} else if r.Method == http.MethodPost {
					want.Set("Content-Length", "0")
				}
				r.Header.Del("Accept-Encoding") // of the transport
				if got := r.Method + " " + r.RequestURI; got != test.line || string(body) != test.body ||
					!reflect.DeepEqual(r.Header, want) {
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
	stored := `{"id":"` + clientID + `","name":"old","framework":"langgraph","type":"native","account_id":"` +
		clientAccount +
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
			catalog.Tool{Name: "new", Framework: "langgraph", Type: "native", AccountID: clientAccount, Description: "About it.",
				Tags: []string{"a", "b"}, Version: "2.0.0"}},
		"clearing, and the server's last word": {
			catalog.Patch{Description: new(""), Tags: &[]string{}, Version: new(""), AccountID: new(clientAccount)},
			`{"name":"old","framework":"langgraph","tool_type":"native","account_id":"` + clientAccount +
				`","description":"","tags":[],"version":"1.0.0"}`,
			`{"version":"1.0.0","description":null}`,
			catalog.Tool{Name: "old", Framework: "langgraph", Type: "native", AccountID: clientAccount, Version: "1.0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			c := serveClient(t, nil, func(w http.ResponseWriter, r *http.Request) {
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
		c := serveClient(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				puts++
			}
			_, _ = io.WriteString(w, `{"id":"`+clientID+`","name":"old","framework":"other"}`)
		})
		_, err := c.Patch(t.Context(), clientID, catalog.Patch{Name: new("new")})
		e := failedWith(t, err, "invalid_tool")
		if puts != 0 || len(e.Problems) != 2 || e.Problems[0].Pointer != "/framework" ||
			e.Problems[1].Pointer != "/tool_type" {
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
	c := serveClient(t, &catalog.ClientOptions{MaxAttempts: 3, Plugin: catalog.PluginOptions{MaxBytes: 3000}},
		func(_ http.ResponseWriter, r *http.Request) {
			t.Error("sent:", r.Method, r.URL)
		})
	big := analyticsTool()
	big.Description = strings.Repeat("x", 3<<20+3000)
	for name, test := range map[string]struct {
		ctx    context.Context
		code   toolwire.Code
		fields string
		call   func(ctx context.Context) error
	}{
		"empty record": {t.Context(), "invalid_tool", "/name /framework /tool_type",
			func(ctx context.Context) error { return errorOf(c.Create(ctx, catalog.Tool{})) }},
		"empty replacement": {t.Context(), "invalid_tool", "/name /framework /tool_type",
			func(ctx context.Context) error { return errorOf(c.Update(ctx, clientID, catalog.Tool{})) }},
		"bad patch": {t.Context(), "invalid_tool", "/framework",
			func(ctx context.Context) error {
				return errorOf(c.Patch(ctx, clientID, catalog.Patch{Framework: new(catalog.Framework("crew"))}))
			}},
		"bad type": {t.Context(), "invalid_tool", "/type",
			func(ctx context.Context) error { return errorOf(c.List(ctx, "a&b")) }},
		"id with a path": {t.Context(), "invalid_tool", "/id", func(ctx context.Context) error {
			return errorOf(c.Get(ctx, "../x"))
		}},
		"id to update": {t.Context(), "invalid_tool", "/id", func(ctx context.Context) error {
			return errorOf(c.Update(ctx, "", analyticsTool()))
		}},
		"id to patch": {t.Context(), "invalid_tool", "/id", func(ctx context.Context) error {
			return errorOf(c.Patch(ctx, "x", catalog.Patch{}))
		}},
		"id to delete": {t.Context(), "invalid_tool", "/id", func(ctx context.Context) error {
			return c.Delete(ctx, clientID+"?")
		}},
		"id to restore": {t.Context(), "invalid_tool", "/id", func(ctx context.Context) error {
			return c.Restore(ctx, "")
		}},
		"id of the script": {t.Context(), "invalid_tool", "/id", func(ctx context.Context) error {
			return errorOf(c.Script(ctx, "7"))
		}},
		"id to upload to": {t.Context(), "invalid_tool", "/id", func(ctx context.Context) error {
			return errorOf(c.UploadUpdate(ctx, "7", catalog.Patch{}, "a.py", []byte(clientSource)))
		}},
		"too large": {t.Context(), toolwire.CodeRequestTooLarge, "", func(ctx context.Context) error {
			return errorOf(c.Create(ctx, big))
		}},
		"upload size": {t.Context(), toolwire.CodeRequestTooLarge, "", func(ctx context.Context) error {
			return errorOf(c.Upload(ctx, big, "a.py", []byte(clientSource)))
		}},
		"canceled": {canceled, toolwire.CodeCanceled, "", func(ctx context.Context) error {
			return clientCalls["get"](ctx, c)
		}},
		"late": {late, toolwire.CodeDeadline, "", func(ctx context.Context) error {
			return clientCalls["create"](ctx, c)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.call(test.ctx)
			e := failedWith(t, err, test.code)
			var fields []string
			for _, p := range e.Problems {
				fields = append(fields, p.Pointer)
			}
			if strings.Join(fields, " ") != test.fields || e.Response != nil || strings.Contains(err.Error(), "may have been") {
				t.Errorf("got %v", err)
			}
			switch test.code {
			case toolwire.CodeCanceled:
				if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
					t.Errorf("%v does not unwrap to its cause", err)
				}
			case toolwire.CodeDeadline:
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
			Timeout: -1, MaxAttempts: -1, MaxResponseBytes: -1, TypeField: "kind",
			Plugin: catalog.PluginOptions{MaxBytes: -1, ServerVersion: "x"},
		}, []string{"/baseURL", "/baseURL", "/baseURL", "/apiKey",
			"/TypeField", "/Plugin/MaxBytes", "/Plugin/ServerVersion", "/Timeout", "/MaxAttempts", "/MaxResponseBytes"}},
		"no URL":          {"", "k", nil, []string{"/baseURL"}},
		"no scheme":       {"aip.example.com", "k", nil, []string{"/baseURL"}},
		"another scheme":  {"ftp://127.0.0.1", "k", nil, []string{"/baseURL"}},
		"not parseable":   {"https://[", "k", nil, []string{"/baseURL"}},
		"no key":          {"https://aip.example.com", "", nil, []string{"/apiKey"}},
		"long key":        {"https://aip.example.com", strings.Repeat("k", 4097), nil, []string{"/apiKey"}},
		"longest key":     {"https://aip.example.com", strings.Repeat("k", 4096), nil, nil},
		"key on 2 lines":  {"https://aip.example.com", "a\r\nX: y", nil, []string{"/apiKey"}},
		"http, looks it":  {"http://localhost.example.com", "k", nil, []string{"/baseURL"}},
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
			e := failedWith(t, err, toolwire.CodeInvalidOptions)
			var fields []string
			for _, p := range e.Problems {
				fields = append(fields, p.Pointer)
			}
			if !slices.Equal(fields, test.fields) || strings.Contains(err.Error(), "u:p") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestClientCopiesOptions(t *testing.T) {
	o := &catalog.ClientOptions{MaxAttempts: 1, MaxResponseBytes: 1000}
	c := serveClient(t, o, answerWith(200, `[]`))
	o.MaxResponseBytes, o.Transport = 1, nil
	if _, err := c.List(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

// Go reads proxy settings once per process, so this test starts a process of its own.
func TestClientReadsNoProxySettings(t *testing.T) {
	const proxied = "CATALOG_TEST_PROXIED"
	if os.Getenv(proxied) != "" {
		c := newClient(t, "https://0.0.0.0:1", &catalog.ClientOptions{MaxAttempts: 1}) // needs no DNS, and nothing listens
		failedWith(t, clientCalls["get"](t.Context(), c), toolwire.CodeTransport)
		return
	}
	var asked atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer proxy.Close()
	process := exec.Command(os.Args[0], "-test.run=^TestClientReadsNoProxySettings$")
	process.Env = append(os.Environ(), proxied+"=1", "HTTPS_PROXY="+proxy.URL, "NO_PROXY=")
	if out, err := process.CombinedOutput(); err != nil || asked.Load() {
		t.Errorf("the proxy was asked: %t; %v: %s", asked.Load(), err, out)
	}
}

// A redirect of any kind ends the call, and no other host receives the key.
func TestClientDoesNotFollowRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("X-API-Key"))
	}))
	defer elsewhere.Close()
	for name, call := range clientCalls {
		for _, status := range []int{301, 302, 303, 307, 308} {
			asked := 0
			c := serveClient(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(status)
			})
			err := call(t.Context(), c)
			e := failedWith(t, err, toolwire.CodeUnexpectedStatus)
			if e.Response.Status != status || asked != 1 || !strings.Contains(err.Error(), "base URL") ||
				strings.Contains(err.Error(), elsewhere.URL) {
				t.Errorf("%s, %d: %v after %d requests", name, status, err, asked)
			}
		}
	}
}

func TestClientCancellationAndSlowServers(t *testing.T) {
	slowHead := func(w http.ResponseWriter, r *http.Request, wait func()) { wait() }
	slowBody := func(w http.ResponseWriter, r *http.Request, wait func()) {
		_, _ = io.WriteString(w, `[{"id":`)
		_ = http.NewResponseController(w).Flush()
		wait()
	}
	for name, handler := range map[string]func(http.ResponseWriter, *http.Request, func()){
		"before the answer": slowHead, "within the answer": slowBody} {
		// within runs a test in a bubble, with a client of a server that responds after an hour.
		within := func(what string, timeout time.Duration, test func(t *testing.T, c *catalog.Client, arrived chan struct{})) {
			t.Run(what+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					arrived := make(chan struct{}, 1)
					server := memhttp.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
						handler(w, r, func() {
							arrived <- struct{}{}
							select {
							case <-r.Context().Done():
							case <-time.After(time.Hour):
							}
						})
					}))
					transport := &http.Transport{DisableKeepAlives: true, DialContext: server.Dial}
					test(t, newClient(t, "http://localhost", &catalog.ClientOptions{MaxAttempts: 1, Timeout: timeout,
						Transport: transport}), arrived)
				})
			})
		}
		within("canceled", 0, func(t *testing.T, c *catalog.Client, arrived chan struct{}) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-arrived; cancel() }()
			_, err := c.List(ctx, "")
			failedWith(t, err, toolwire.CodeCanceled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		within("slow", 7*time.Second, func(t *testing.T, c *catalog.Client, arrived chan struct{}) {
			start := time.Now()
			err := clientCalls["create"](t.Context(), c)
			<-arrived
			failedWith(t, err, toolwire.CodeTimeout)
			if errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ClientOptions.Timeout") ||
				!strings.Contains(err.Error(), "may have been created") || time.Since(start) != 7*time.Second {
				t.Errorf("got %v after %s", err, time.Since(start))
			}
		})
		within("deadline", 0, func(t *testing.T, c *catalog.Client, arrived chan struct{}) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			start := time.Now()
			err := clientCalls["list"](ctx, c)
			<-arrived
			failedWith(t, err, toolwire.CodeDeadline)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
				t.Errorf("got %v after %s", err, time.Since(start))
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
	var packed strings.Builder
	packer := gzip.NewWriter(&packed)
	_, _ = io.WriteString(packer, "["+strings.Repeat(" ", 1<<20)+"]")
	_ = packer.Close()
	zipped := answerWith(200, packed.String(), "Content-Encoding", "gzip")
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		code    toolwire.Code
		status  int
		text    string
	}{
		"too large when unpacked": {zipped, toolwire.CodeResponseTooLarge, 200, "more than 2000 bytes"},
		"closed":                  {raw(""), toolwire.CodeTransport, 0, "the connection was closed"},
		"no HTTP":                 {raw("SSH-2.0-OpenSSH\r\n\r\n"), toolwire.CodeTransport, 0, "not valid HTTP"},
		"truncated": {raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]"), toolwire.CodeTransport, 200,
			"the connection was closed"},
		"truncated 404": {raw("HTTP/1.1 404 x\r\nContent-Length: 100\r\n\r\nTool"), toolwire.CodeNotFound, 404,
			"the tool does not exist"},
		"too large": {answerWith(200, "["+strings.Repeat(" ", 2000)+"]"), toolwire.CodeResponseTooLarge, 200,
			"more than 2000 bytes"},
		"too large 500": {answerWith(500, strings.Repeat("secret ", 2000)), toolwire.CodeServerError, 500,
			"the server failed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serveClient(t, &catalog.ClientOptions{MaxAttempts: 1, MaxResponseBytes: 2000}, test.handler)
			for name, call := range clientCalls {
				err := call(t.Context(), c)
				if e := failedWith(t, err, test.code); cmp.Or(e.Response, &toolwire.Response{}).Status != test.status || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	t.Run("the id of a response that is too large", func(t *testing.T) {
		c := serveClient(t, &catalog.ClientOptions{MaxResponseBytes: 10}, answerWith(200, "[           ]", "X-Request-Id", "r-1"))
		err := clientCalls["list"](t.Context(), c)
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Response.RequestID != "r-1" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		const address = "127.0.0.1:1" // the port is never given to a listener
		c := newClient(t, "http://"+address, &catalog.ClientOptions{MaxAttempts: 1})
		for _, call := range clientCalls {
			err := call(t.Context(), c)
			failedWith(t, err, toolwire.CodeTransport)
			if strings.Contains(err.Error(), "may have been") || strings.Contains(err.Error(), address) ||
				!errors.As(err, new(*net.OpError)) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestClientFind(t *testing.T) {
	ids := []string{"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001",
		"00000000-0000-4000-8000-000000000002",
		"00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000004"}
	var entries []string
	for i, name := range []string{"time_tool", "Twice", "twice", "Same", "Same"} {
		entries = append(entries, fmt.Sprintf(`{"id":%q,"name":%q,"framework":"langchain","tool_type":"native"}`, ids[i],
			name))
	}
	asked := 0
	c := serveClient(t, nil, func(w http.ResponseWriter, r *http.Request) {
		asked++
		answerWith(200, `{"success":true,"data":[`+strings.Join(entries, ",")+`]}`)(w, r)
	})
	for name, want := range map[string]string{
		"time_tool": ids[0], "TIME_Tool": ids[0], "twice": ids[2], "Twice": ids[1],
		"TWICE": "ambiguous", "Same": "ambiguous", "same": "ambiguous", "time": "not_found", "": "not_found",
	} {
		item, err := c.Find(t.Context(), name)
		got := string(toolwire.CodeOf(err))
		if err == nil {
			got = item.ID
		}
		if got != want {
			t.Errorf("%q is %s, %v, want %s", name, got, err, want)
		}
	}
	if asked != 9 {
		t.Errorf("%d requests, want one per name", asked)
	}
	item, err := c.Find(t.Context(), "Time_tool")
	if err != nil || item.Name != "time_tool" || item.Type != catalog.Native {
		t.Errorf("got %+v, %v", item, err)
	}
}

func TestClientIsSafeForConcurrentUse(t *testing.T) {
	c := serveClient(t, nil, answerWith(404, `{"detail":"Tool not found: `+clientKeyCore+`"}`))
	var all sync.WaitGroup
	for range 4 {
		for _, call := range clientCalls {
			all.Go(func() {
				if e, ok := errors.AsType[*toolwire.Error](call(t.Context(), c)); !ok || e.Code != toolwire.CodeNotFound {
					t.Errorf("got %v", e)
				}
			})
		}
	}
	all.Wait()
}

func TestClientLogs(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := serveClient(t, &catalog.ClientOptions{Logger: logger}, answerWith(404, `{"detail":"Tool not found"}`))
	for _, call := range clientCalls {
		_ = call(t.Context(), c)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(clientCalls)+1 { // a source has two paths
		t.Errorf("%d lines for %d clientCalls", len(lines), len(clientCalls))
	}
	for _, line := range lines {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry["msg"] != "catalog attempt" ||
			entry["status"] != 404. ||
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
