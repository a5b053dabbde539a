package registration_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

const apiKey = "pk_live_0123456789abcdef0123456789abcdef01234567"

func newClient(t testing.TB, baseURL string, o *registration.Options) *registration.Client {
	t.Helper()
	c, err := registration.NewClient(baseURL, apiKey, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// responses is a transport that sends the same response to every request.
type responses struct {
	status int
	header http.Header
	body   string
	calls  int
}

func (a *responses) RoundTrip(req *http.Request) (*http.Response, error) {
	a.calls++
	return &http.Response{
		StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body)), Request: req,
	}, nil
}

func TestRequestOnTheWire(t *testing.T) {
	for name, test := range map[string]struct {
		prefix, id   string
		method, path string
		status       int
		body         string
		want         registration.Agent
	}{
		"create": {method: "POST", path: "/api/agents", status: 201,
			body: `{"id":8,"status":"draft","x":[1]}`, want: registration.Agent{ID: "8", Status: "draft"}},
		"create below a prefix": {prefix: "/eu/", method: "POST", path: "/eu/api/agents", status: 200,
			body: `{"id":"ag_1"}`, want: registration.Agent{ID: "ag_1"}},
		"update": {id: "8", method: "PUT", path: "/api/agents/8", status: 200,
			body: `{"id":8,"status":"published"}`, want: registration.Agent{ID: "8", Status: "published"}},
		"update with an empty response": {id: "8", method: "PUT", path: "/api/agents/8", status: 204},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got := []string{r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("X-API-Key"),
					r.Header.Get("Content-Type"), r.Header.Get("Accept"), string(body)}
				want := []string{test.method, test.path, "Bearer " + apiKey, "", "application/json", "application/json",
					fullBody}
				if !slices.Equal(got, want) || r.ContentLength != int64(len(fullBody)) {
					t.Errorf("got  %q\nwant %q", got, want)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			c := newClient(t, server.URL+test.prefix, nil)
			send := c.Create
			if test.id != "" {
				send = func(ctx context.Context, r *registration.Registration) (*registration.Agent, error) {
					return c.Update(ctx, test.id, r)
				}
			}
			got, err := send(t.Context(), full())
			if err != nil || got.ID != test.want.ID || got.Status != test.want.Status || string(got.Raw) != test.body {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestInvalidRegistrationsAreNotSent(t *testing.T) {
	a := &responses{status: 200, body: `{"id":1}`}
	c := newClient(t, "https://api.example.com", &registration.Options{
		Transport: a, Validate: &schema.ValidateOptions{
			Endpoint: func(context.Context, string, string) (e schema.Endpoint, found bool, err error) {
				return e,
					false, nil
			},
		},
	})
	withoutValue, withoutEndpoint := full(), full()
	withoutValue.AuthValue = ""
	withoutEndpoint.Tools[0].DefaultExecutionMode = schema.Passthrough
	withoutEndpoint.Tools[0].PassthroughBinding = &schema.Binding{EndpointName: "orders-api", ToolName: "get_order"}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		ctx  context.Context
		id   string
		reg  *registration.Registration
		want toolwire.Code
	}{
		{t.Context(), "", &registration.Registration{}, "invalid_registration"},
		{t.Context(), "", withoutValue, "invalid_registration"},
		{t.Context(), "", withoutEndpoint, "invalid_registration"},
		{canceled, "", full(), "canceled"},
		{t.Context(), "../orgs", full(), toolwire.CodeInvalidOptions},
		{t.Context(), "8?x=1", full(), toolwire.CodeInvalidOptions},
	} {
		var err error
		if test.id == "" {
			_, err = c.Create(test.ctx, test.reg)
		} else {
			_, err = c.Update(test.ctx, test.id, test.reg)
		}
		if toolwire.CodeOf(err) != test.want || a.calls != 0 || strings.Contains(err.Error(), "may have been") {
			t.Errorf("want %s, got %v after %d calls", test.want, err, a.calls)
		}
	}
	if _, err := c.Update(t.Context(), "8", withoutValue); err != nil || a.calls != 1 {
		t.Errorf("an update without AuthValue: %v", err)
	}
}

func TestRejected(t *testing.T) {
	const p = "rejected_by_platform"
	for name, test := range map[string]struct {
		body string
		want []toolwire.Problem
	}{
		"tools in a list of their own": {`{"detail":{"error_class":"invalid_tools_schema","message":"2 problems in 1 tool","tools":[
			{"index":1,"name":"refund_order","problems":[{"code":"name_invalid","pointer":"/name","message":"bad name"}]}]}}`, nil},
		"a message and entries without one": {`{"message":"no","detail":[{"tool":"get_order"}]}`, nil},
		"another list":                      {`{"detail":{"errors":[{"tool_name":"get_order","error":"no"}]}}`, nil},
		"entries by index":                  {`{"errors":[{"index":0,"message":"no"}]}`, nil},
		"locations": {`{"detail":[{"type":"missing","loc":["body","tools_schema",1,"input_schema"],"msg":"Field required","input":{"a":"b"}},
			{"loc":["body","endpoint_url"],"msg":"private","ctx":{"error":"x"}}]}`,
			[]toolwire.Problem{{Tool: "refund_order", Code: "missing", Pointer: "/tools_schema/1/input_schema", Message: "Field required"},
				{Code: p, Pointer: "/endpoint_url", Message: "private"}}},
		"the whole body": {`{"detail":[{"type":"model_type","loc":["body"],"msg":"no"},{"pointer":"/body","message":"nor"}]}`,
			[]toolwire.Problem{{Code: "model_type", Message: "no"}, {Code: p, Message: "nor"}}},
		"an empty location": {`{"detail":[{"loc":["body","name"],"msg":"a"},{"loc":[],"msg":"b"}]}`,
			[]toolwire.Problem{{Code: p, Pointer: "/name", Message: "a"}, {Code: p, Message: "b"}}},
		"a location and a pointer": {`{"detail":[{"loc":["body","name"],"pointer":"/x","msg":"a"},{"field":"name","msg":"b"}]}`,
			[]toolwire.Problem{{Code: p, Pointer: "/name", Message: "a"}, {Code: p, Pointer: "/name", Message: "b"}}},
		"a code and a type": {`{"detail":[{"code":"one","type":"two","msg":"a"},{"code":null,"type":"two","msg":"b"}]}`,
			[]toolwire.Problem{{Code: "one", Message: "a"}, {Code: "two", Message: "b"}}},
		"a message beside entries": {`{"message":"two","detail":[{"msg":"a"},{"msg":"b"}]}`,
			[]toolwire.Problem{{Code: p, Message: "a"}, {Code: p, Message: "b"}}},
		"entries that cannot be read": {`{"detail":[7,{"msg":"a","msg":"b"},{"x":1},"c",null]}`,
			[]toolwire.Problem{{Code: p, Message: "c"}}},
		"long names": {`{"detail":[{"pointer":"/` + strings.Repeat("y", 600) + `","msg":"a"}]}`,
			[]toolwire.Problem{{Code: p, Pointer: "/" + strings.Repeat("y", 508) + "…", Message: "a"}}},
		"a type that is not a code": {`{"detail":[{"type":"not a code!","msg":"no"}]}`,
			[]toolwire.Problem{{Code: p, Message: "no"}}},
		"more than 100": {`{"detail":["no"` + strings.Repeat(`,"no"`, 149) + `]}`,
			slices.Repeat([]toolwire.Problem{{Code: p, Message: "no"}}, 100)},
		"by name of tool": {`{"detail":{"message":"2 tools","get_order":"bad binding","refund_order":["a","b"]}}`,
			nil},
		"by name of member": {`{"name":["too long"],"other":"x"}`, nil},
		"a text": {`{"detail":"tools_schema[0]: bad"}`,
			[]toolwire.Problem{{Code: p, Message: "tools_schema[0]: bad"}}},
		"an error": {`{"error":{"code":"c","message":"m"}}`, []toolwire.Problem{{Code: "c", Message: "m"}}},
		"an index out of range": {`{"detail":[{"loc":["body","tools_schema",7],"msg":"no"}]}`,
			[]toolwire.Problem{{Code: p, Pointer: "/tools_schema/7", Message: "no"}}},
		"an index behind the last": {`{"detail":[{"loc":["body","tools_schema",2],"msg":"no"}]}`,
			[]toolwire.Problem{{Code: p, Pointer: "/tools_schema/2", Message: "no"}}},
		"nested":                  {strings.Repeat(`{"detail":`, 12) + `["no"]` + strings.Repeat(`}`, 12), nil},
		"in two objects":          {`{"detail":{"error":{"message":"no"}}}`, nil},
		"no known member":         {`{"x":1}`, nil},
		"not JSON":                {`<html>`, nil},
		"duplicate names":         {`{"detail":"a","detail":"b"}`, nil},
		"duplicate unknown names": {`{"detail":["a"],"x":1,"x":"b"}`, []toolwire.Problem{{Code: p, Message: "a"}}},
		"control characters": {`{"detail":"a\u001b[31m\nlevel=INFO"}`,
			[]toolwire.Problem{{Code: p, Message: "a [31m level=INFO"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, "https://api.example.com",
				&registration.Options{Transport: &responses{status: 422, body: test.body}})
			_, err := c.Create(t.Context(), full())
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok || e.Code != toolwire.CodeRejected || e.Response.Status != 422 || !slices.Equal(e.Problems, test.want) {
				t.Fatalf("got %+v", err)
			}
			for _, problem := range test.want {
				if !strings.Contains(e.Error(), problem.String()) {
					t.Errorf("%q is not in %q", problem, e)
				}
			}
			if line := strings.Join(strings.Fields(test.body), " "); len(test.want) == 0 && e.Response.Detail != line {
				t.Errorf("detail %q, want %q", e.Response.Detail, line)
			}
		})
	}
}

// An error keeps little of a refusal of almost 1 MiB, whatever its form.
func TestRejectedIsBounded(t *testing.T) {
	const size = 1<<20 - 4096
	list := func(entry string) string {
		return `{"detail":[` + strings.Repeat(entry+",", size/(len(entry)+1)) + entry + `]}`
	}
	for body, problems := range map[string]int{
		list(`"no"`): 100, list(`{"loc":["body","name"],"msg":"no"}`): 100, list(`{}`): 0, list(`0`): 0,
		list(`{"msg":"no","msg":"no"}`): 0, list(`{"loc":["` + strings.Repeat("x", 9000) + `"],"msg":"` + strings.Repeat("x", 9000) + `"}`): 58,
		strings.Repeat(`{"detail":`, size/11) + "0" + strings.Repeat("}", size/11): 0, strings.Repeat("[", size): 0,
		`{"detail":"` + strings.Repeat("x", size) + `"}`: 1, strings.Repeat("x", size): 1,
	} {
		c := newClient(t, "https://api.example.com", &registration.Options{Transport: &responses{status: 422, body: body}})
		_, err := c.Create(t.Context(), full())
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || len(e.Problems) != problems || len(e.Response.Detail) > 1024 || e.Response.Detail == "" && problems == 0 {
			t.Fatalf("%.40s: %d problems, %d bytes of detail: %.200v", body, len(e.Problems), len(e.Response.Detail), err)
		}
		for _, p := range e.Problems {
			if len(p.Pointer) > 512 || len(p.Message) > 1024 {
				t.Errorf("%.40s: %d and %d bytes", body, len(p.Pointer), len(p.Message))
			}
		}
	}
}

// The class of the whole response counts, not the class of a part.
func TestClass(t *testing.T) {
	a := &responses{status: 422, body: `{"error_class":"a","detail":{"error_class":"b","errors":[{"msg":"no"}]}}`}
	_, err := newClient(t, "https://api.example.com", &registration.Options{Transport: a}).Create(t.Context(), full())
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Response.Class != "a" {
		t.Errorf("got %v", err)
	}
}

func TestStatus(t *testing.T) {
	const date, over = http.TimeFormat, 1<<20 + 4096
	for _, test := range []struct {
		status     int
		body       string
		retryAfter string
		want       toolwire.Code
		text       string
	}{
		{400, `{"detail":"bad"}`, "", "refused",
			`registration: refused (HTTP 400): the platform says "bad"`},
		{401, `{"detail":{"error_class":"missing_api_key","message":"no key"}}`, "", "unauthorized",
			`registration: unauthorized (HTTP 401, missing_api_key): the platform says "no key"; check the API key`},
		{400, `{"detail":["a","b","a"],"error":"c"}`, "", "refused", `the platform says "a: b: c"`},
		{400, `{"get_order":"no"}`, "", "refused", `the platform says "{\"get_order\":\"no\"}"`},
		{403, ``, "", "forbidden", "admins"},
		{404, `{"detail":"Not Found"}`, "", "not_found", "check the agent's id"},
		{400, `{"detail":["` + strings.Repeat("a", 900) + `","` + strings.Repeat("b", 900) + `"]}`, "", "refused",
			"aaa: bbb"},
		{409, `{"detail":"name taken"}`, "", "conflict", "name taken"},
		{413, `too big`, "", "request_too_large", "too big"},
		{429, `{}`, "17", "rate_limited", "try again in 17s"},
		{429, `{}`, "soon", "rate_limited", "(HTTP 429)"},
		{429, `{}`, "99999999999", "rate_limited", "try again in 596523h14m7s"},
		{429, `{}`, date, "rate_limited", "try again in 30s"},
		{500, `oops`, "", "server_error", "may have been registered"},
		{503, `{}`, "5", "server_error", "may have been registered"},
		{201, `{"status":"draft"}`, "", "bad_response",
			"the response has no id; the agent may have been registered"},
		{201, `{"id":1,"id":2}`, "", "bad_response", "not one JSON object"},
		{200, `<html>`, "", "bad_response", "not one JSON object"},
		{201, ``, "", "bad_response", "not one JSON object"},
		{201, `{"id":1,"x":"` + strings.Repeat("x", over) + `"}`, "", "response_too_large",
			"bytes; the agent may have"},
		{422, strings.Repeat("x", over), "", toolwire.CodeRejected, "(HTTP 422)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			header := http.Header{"Retry-After": {test.retryAfter}}
			if test.retryAfter == date {
				header.Set("Retry-After", time.Now().Add(30*time.Second).UTC().Format(date))
			}
			a := &responses{status: test.status, body: test.body, header: header}
			c := newClient(t, "https://api.example.com", &registration.Options{Transport: a})
			_, err := c.Create(t.Context(), full())
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok || e.Code != test.want || e.Response.Status != test.status || !strings.Contains(e.Error(), test.text) {
				t.Errorf("%d %.20s: got %v", test.status, test.body, err)
			}
			if a.calls != 1 || len(e.Response.Detail) > 1024 {
				t.Errorf("%d: %d calls, %d bytes of detail", test.status, a.calls, len(e.Response.Detail))
			}
		})
	}
}

// Only documented refusals prove that no agent was registered. An update changes nothing twice.
func TestWhatAStatusProves(t *testing.T) {
	proofs := []int{401, 403, 404, 409, 413, 422, 429}
	for _, status := range slices.Concat([]int{101}, numbers(300, 599)) {
		c := newClient(t, "https://api.example.com", &registration.Options{Transport: &responses{status: status}})
		_, err := c.Create(t.Context(), full())
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Response.Status != status {
			t.Fatalf("%d: %v", status, err)
		}
		if unsure := strings.Contains(err.Error(), "may have been registered"); unsure == slices.Contains(proofs,
			status) {
			t.Errorf("%d: %v", status, err)
		}
		if status < 400 && !strings.Contains(err.Error(), "check the base URL") {
			t.Errorf("%d: %v", status, err)
		}
		_, err = c.Update(t.Context(), "ag_1", full())
		if err == nil || strings.Contains(err.Error(), "may have been registered") {
			t.Errorf("%d, update: %v", status, err)
		}
	}
}

func numbers(from, to int) (all []int) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.RequestURI)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	_, err := newClient(t, server.URL, nil).Create(t.Context(), full())
	if toolwire.CodeOf(err) != "unexpected_status" || len(requests) != 1 {
		t.Errorf("got %v after %q", err, requests)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	hang := testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "https://api.example.com", &registration.Options{Transport: hang})
		start := time.Now()
		_, err := c.Create(t.Context(), full())
		if toolwire.CodeOf(err) != "timeout" || time.Since(start) != 30*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if !strings.Contains(err.Error(), "may have been registered") {
			t.Errorf("the error does not say that the agent may exist: %v", err)
		}
		long, end := context.WithTimeout(t.Context(), time.Minute) // replaces the default
		defer end()
		start = time.Now()
		_, err = c.Create(long, full())
		if toolwire.CodeOf(err) != "deadline" || time.Since(start) != time.Minute {
			t.Errorf("with a deadline: got %v after %v", err, time.Since(start))
		}
		stop := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		_, err = c.Update(ctx, "8", full())
		if toolwire.CodeOf(err) != "canceled" || !errors.Is(err, stop) ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTransportFailures(t *testing.T) {
	broken := errors.New("connection reset; sent Authorization: Bearer " + apiKey + " and " + secretValue)
	for name, transport := range map[string]http.RoundTripper{
		"no response": testkit.RoundTrip(func(*http.Request) (*http.Response, error) { return nil, broken }),
		"the response breaks off": testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader(`{"id":`), errReader{broken})
			return &http.Response{StatusCode: 201, Body: io.NopCloser(body)}, nil
		}),
	} {
		c := newClient(t, "https://api.example.com", &registration.Options{Transport: transport})
		_, err := c.Create(t.Context(), full())
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != "transport" ||
			!errors.Is(err, broken) ||
			!strings.Contains(err.Error(), "may have been registered") {
			t.Errorf("%s: got %v", name, err)
		}
		if leaks(err.Error()) {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
	server := httptest.NewServer(nil)
	server.Close()
	_, err := newClient(t, server.URL, nil).Create(t.Context(), full())
	if toolwire.CodeOf(err) != "transport" || strings.Contains(err.Error(), "may have been") {
		t.Errorf("nothing was sent: %v", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func leaks(s string) bool {
	return strings.Contains(s, apiKey) || strings.Contains(s, "s3cret") || strings.Contains(s, "hidden-in-query")
}

// shown returns everything in an error that a program may log.
func shown(err error) string {
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%v %s %+v %s %+v", err, e.Code, e.Problems, e.Message, e.Response)
}

func TestNoSecretInErrors(t *testing.T) {
	reg := full()
	reg.EndpointURL += "?k=hidden-in-query"
	sent, err := reg.Body()
	if err != nil {
		t.Fatal(err)
	}
	limit := 1<<20 + len(sent)
	echo := "Authorization: Bearer " + apiKey + ", " + secretValue + ", s3cret-agent-token, " + reg.EndpointURL
	for _, body := range []string{
		echo, `{"detail":"` + echo + `"}`, `{"detail":{"error_class":"` + apiKey + `","message":"m ` + echo + `"}}`,
		`{"detail":[{"type":"s3cret-agent-token","loc":["body","` + apiKey + `"],"msg":"` + echo + `","input":"` +
			echo + `"}]}`,
		`{"errors":[{"name":"` + secretValue + `","pointer":"/` + apiKey + `","message":"no"}]}`,
		`{"x":"` + echo + `"}`,
		strings.Repeat(" ", limit-len(apiKey)/2) + apiKey, // cut in the middle
	} {
		for _, status := range []int{200, 307, 400, 401, 422, 500} {
			c := newClient(t, "https://api.example.com",
				&registration.Options{Transport: &responses{status: status, body: body}})
			if _, err := c.Create(t.Context(), reg); err == nil || leaks(shown(err)) ||
				strings.Contains(shown(err), apiKey[:20]) {
				t.Errorf("%d %.60s: %s", status, body, shown(err))
			}
		}
	}
	reg.AuthHeader, reg.AuthValue = "X-API-Key", apiKey[:12] // one secret may be a prefix of another
	c := newClient(t, "https://api.example.com",
		&registration.Options{Transport: &responses{status: 422, body: `{"detail":"` + apiKey + `"}`}})
	if _, err := c.Create(t.Context(), reg); !strings.Contains(err.Error(), ": [redacted] [") {
		t.Errorf("got %v", err)
	}
	if c := newClient(t, "https://api.example.com", nil); leaks(fmt.Sprintf("%v %+v %#v", c, c, *c)) {
		t.Error("printing a client shows its key")
	}
}

// A member of Extra that replaces AuthValue is a secret too, with its scheme and without.
func TestNoSecretFromExtra(t *testing.T) {
	reg := full()
	reg.AuthValue = ""
	reg.Extra = []ledger.Member{{Name: "auth_header_value", Value: json.RawMessage(`"Bearer s3cret-agent-token"`)}}
	for _, echo := range []string{"Bearer s3cret-agent-token", "token s3cret-agent-token is weak"} {
		a := &responses{status: 422, body: `{"detail":"` + echo + `"}`}
		_, err := newClient(t, "https://api.example.com", &registration.Options{Transport: a}).Create(t.Context(), reg)
		if !strings.Contains(shown(err), "[redacted]") || strings.Contains(shown(err), "s3cret") {
			t.Errorf("%s: %s", echo, shown(err))
		}
	}
}

func TestNamesOfExtraAreUTF8(t *testing.T) {
	reg := full()
	reg.Extra = []ledger.Member{{Name: "a\xff", Value: json.RawMessage(`1`)}}
	reg.Config = []ledger.Member{{Name: "b\xff", Value: json.RawMessage(`1`)}}
	_, err := reg.Validate(t.Context(), nil)
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || len(e.Problems) != 2 || e.Problems[0].Code != "not_json" || !utf8.ValidString(err.Error()) {
		t.Errorf("error %v, want two names that are not UTF-8", err)
	}
}

// White space in a header value may come back as it is, as one space or escaped.
func TestNoSecretBehindWhiteSpace(t *testing.T) {
	for _, value := range []string{"Bearer\ts3cret-agent-token", "Bearer  s3cret agent  token"} {
		reg := full()
		reg.AuthValue = value
		quoted, _ := json.Marshal(value)
		twice, _ := json.Marshal(string(quoted))
		for _, echo := range []string{
			string(quoted), string(twice), `"` + strings.Join(strings.Fields(value), " ") + `"`,
			`"` + base64.StdEncoding.EncodeToString([]byte(value)) + `"`,
		} {
			a := &responses{status: 422, body: `{"detail":[` + echo + `]}`}
			_, err := newClient(t, "https://api.example.com", &registration.Options{Transport: a}).Create(t.Context(), reg)
			if s := shown(err); !strings.Contains(s, "[redacted]") || strings.Contains(s, "token") || leaks(s) {
				t.Errorf("%q as %s: %s", value, echo, s)
			}
		}
	}
}

// Pointers are cut and escaped. Secrets must be removed before that.
func TestNoSecretInPointers(t *testing.T) {
	reg := full()
	reg.AuthValue = "Bearer s3cret/agent~token-0123456789"
	for _, step := range []string{
		`"loc":["body","` + strings.Repeat("x", 60) + `s3cret/agent~token-0123456789"]`, // cut in the middle
		`"loc":["body","s3cret/agent~token-0123456789"]`,
		`"loc":["body",["s3cret/agent~token-0123456789"],"s3cret/agent~token-0123456789"]`, // a list is not a step
		`"pointer":"/config/s3cret~1agent~0token-0123456789"`,
	} {
		a := &responses{status: 422, body: `{"detail":[{` + step + `,"msg":"no"}]}`}
		_, err := newClient(t, "https://api.example.com", &registration.Options{Transport: a}).Create(t.Context(), reg)
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || len(e.Problems) != 1 || !strings.Contains(e.Problems[0].Pointer, "[redacted]") || leaks(shown(err)) {
			t.Errorf("%s: %s", step, shown(err))
		}
	}
}

// JSON has many spellings of one text, and a service may quote the JSON of another one.
func TestNoSecretBehindEscapes(t *testing.T) {
	reg := full()
	reg.AuthValue = `Bearer abc/s3cret"agent\\token`
	plain := `abc/s3cret"agent\\token`
	for name, echo := range map[string]string{
		"solidus":         `abc\/s3cret\"agent\\\\token`,
		"code points":     `abc\u002fs\u0033cret\u0022agent\u005C\u005ctoken`,
		"JSON in JSON":    `{\"v\":\"abc\\/s3cret\\\"agent\\\\\\\\token\"}`,
		"after an escape": `C:\u005cdir\nabc\/s3cret\"agent\\\\token`,
	} {
		for _, body := range []string{
			`{"got":{"v":"` + echo + `"}}`, `{"detail":"` + echo + `"}`,
			`{"detail":[{"loc":["` + echo + `"],"msg":"` + echo + `"}]}`,
			`{"detail":"` + echo + `","detail":""}`, `{"got":"` + echo, `{"error_class":"` + echo + `"}`,
			`["` + echo + `"]`,
		} {
			for _, status := range []int{400, 422, 502} {
				c := newClient(t, "https://api.example.com",
					&registration.Options{Transport: &responses{status: status, body: body}})
				_, err := c.Create(t.Context(), reg)
				if s := shown(err); !strings.Contains(s, "[redacted]") || strings.Contains(s, "3cret") ||
					strings.Contains(s, plain) {
					t.Errorf("%s: %d %s: %s", name, status, body, s)
				}
			}
		}
	}
	a := &responses{status: 400, body: `<p>C:\new\table \u0041</p>`}
	_, err := newClient(t, "https://api.example.com", &registration.Options{Transport: a}).Create(t.Context(), reg)
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Response.Detail != a.body {
		t.Errorf("a text without a secret changed: %s", shown(err))
	}
}

func TestNewClient(t *testing.T) {
	for _, base := range []string{"https://api.example.com", "https://api.example.com/", "http://127.0.0.1:8080",
		"http://localhost", "http://[::1]/x"} {
		if _, err := registration.NewClient(base, apiKey, nil); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
	for base, mistakes := range map[string]int{
		"": 1, "api.example.com": 1, "/api": 1, "http://api.example.com": 1, "ftp://localhost": 1,
		"https://api.example.com/api":  1,
		"https://api.example.com?":     1,
		"https://api.example.com/api/": 1, "https://u:s3cret@api.example.com": 1, "https://api.example.com?x=1#y": 1,
		"http://u@example.com/api": 3,
		"https://%zz":              1,
	} {
		_, err := registration.NewClient(base, "", nil)
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || e.Code != toolwire.CodeInvalidOptions || strings.Count(e.Err.Error(), "\n")+1 != mistakes+1 ||
			leaks(err.Error()) {
			t.Errorf("%s: got %v", base, err)
		}
	}
	for _, key := range []string{"key\nX-Other: 1", "k y", "k\u00e9y", strings.Repeat("k", 4097)} {
		if _, err := registration.NewClient("https://api.example.com", key, nil); err == nil {
			t.Errorf("the key %.20q is accepted", key)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":8,"status":"draft"}`,
		`{"detail":{"tools":[{"index":0,"name":"get_order","problems":[{"code":"c","pointer":"/p","message":"m"}]}]}}`,
		`{"detail":[{"loc":["body","tools_schema",0],"msg":"m"}]}`, `{"get_order":["a",{"msg":"` + apiKey + `"}]}`,
		`[[[]]]`, "\xff", ``, `null`,
	} {
		f.Add(uint16(422), seed)
		f.Add(uint16(201), seed)
	}
	reg := full()
	f.Fuzz(func(t *testing.T, status uint16, body string) {
		status = 100 + status%900 // the client rejects a status that does not have three digits
		c := newClient(t, "https://api.example.com",
			&registration.Options{Transport: &responses{status: int(status), body: body}})
		agent, err := c.Create(context.Background(), reg)
		if (agent == nil) == (err == nil) || agent != nil && (agent.ID == "" || !json.Valid(agent.Raw)) {
			t.Fatalf("got %+v, %v", agent, err)
		}
		if e, ok := errors.AsType[*toolwire.Error](err); err != nil &&
			(!ok || len(e.Problems) > 100 || e.Response.Status != int(status)) {
			t.Fatalf("got %#v", err)
		}
		if s := shown(err); leaks(s) || !utf8.ValidString(s) {
			t.Fatalf("got %q", s)
		}
	})
}
