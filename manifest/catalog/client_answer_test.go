package catalog_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

func TestClientReadsItems(t *testing.T) {
	const required = `"id":"` + clientID + `","name":"x","framework":"langchain"`
	base := catalog.ListItem{ID: clientID, Tool: catalog.Tool{Name: "x", Framework: catalog.LangChain,
		Type: catalog.Custom}}
	with := func(change func(*catalog.ListItem)) catalog.ListItem {
		item := base
		change(&item)
		return item
	}
	for name, test := range map[string]struct {
		body string
		want catalog.ListItem
	}{
		"bare":               {`{` + required + `,"tool_type":"custom"}`, base},
		"type":               {`{` + required + `,"type":"custom"}`, base},
		"tool_type and type": {`{` + required + `,"type":"custom","tool_type":"custom"}`, base},
		"envelope": {`{"success":true,"data":{` + required +
			`,"tool_type":"custom"},"message":"ok","timestamp":"2026-01-01T00:00:00Z"}`,
			base},
		"envelope around null members": {`{"success":true,"data":{` + required +
			`,"tool_type":"custom"},"message":null,"timestamp":null}`, base},
		"success without data": {`{"success":true,` + required + `,"tool_type":"custom"}`, base},
		"script null":          {`{` + required + `,"tool_type":"custom","script_content":null}`, base},
		"script empty":         {`{` + required + `,"tool_type":"custom","script_content":""}`, base},
		"script masked": {`{` + required + `,"tool_type":"custom","script_content":"***"}`,
			with(func(i *catalog.ListItem) { i.ScriptContent = "***" })},
		"tags": {`{` + required + `,"tool_type":"custom","tags":["a","b,c"]}`, with(func(i *catalog.ListItem) {
			i.Tags = []string{"a", "b,c"}
		})},
		"tags text": {`{` + required + `,"tool_type":"custom","tags":"a, b,,"}`, with(func(i *catalog.ListItem) {
			i.Tags = []string{"a", "b"}
		})},
		"tags null": {`{` + required + `,"tool_type":"custom","tags":null}`, base},
		"all": {` {` + required +
			`,"tool_type":"custom","description":"d\u00e9","version":"2","account_id":"acc","plugin_class_name":"C",` +
			`"module_name":"m","created_at":1.50,"extra":{"id":[1]}} `,
			with(func(i *catalog.ListItem) {
				i.Description, i.Version, i.AccountID, i.PluginClassName, i.ModuleName = "dé", "2", "acc", "C", "m"
			})},
		"a framework to come": {`{"id":"` + clientID + `","name":"x","framework":"crew","tool_type":"mcp"}`,
			with(func(i *catalog.ListItem) { i.Framework, i.Type = "crew", "mcp" })},
		"names in other cases, repeated names, half a pair": {`{` + required +
			`,"tool_type":"custom","Name":7,"ID":"x","Tool_Type":"native",` +
			`"x":1,"x":2,"description":"\ud83d"}`, with(func(i *catalog.ListItem) { i.Description = "\ufffd" })},
		"id in capitals": {`{"id":"` + strings.ToUpper(clientID) + `","name":"x","framework":"langchain","type":"custom"}`,
			with(func(i *catalog.ListItem) { i.ID = strings.ToUpper(clientID) })},
	} {
		t.Run(name, func(t *testing.T) {
			item, err := serveClient(t, nil, answerWith(200, test.body)).Get(t.Context(), clientID)
			if err != nil || !reflect.DeepEqual(*item, test.want) {
				t.Errorf("got %+v, %v", item, err)
			}
			list, err := serveClient(t, nil, answerWith(206, `{"success":true,"data":[`+calculatorItem+`,`+bare(test.body)+
				`]}`)).List(t.Context(), "")
			if err != nil || len(list) != 2 || !reflect.DeepEqual(list[1], test.want) {
				t.Errorf("got %+v, %v", list, err)
			}
		})
	}
}

// bare removes the envelope.
func bare(body string) string {
	if _, data, ok := strings.Cut(body, `"data":`); ok {
		return data[:strings.Index(data, "}")+1]
	}
	return body
}

func TestClientReadsAThousandTools(t *testing.T) {
	for _, format := range []string{"%s", `{"success":true,"data":%s,"message":"ok","timestamp":"x"}`} {
		var entries []string
		for i := range 1000 {
			entries = append(entries,
				fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","name":"tool-%d","framework":"langgraph",`+
					`"tool_type":"custom","description":%q,"tags":["a","b"],"script_content":null}`, i, i, strings.Repeat("d", 500)))
		}
		list, err := serveClient(t, nil, answerWith(200, fmt.Sprintf(format, "["+strings.Join(entries, ",")+
			"]"))).List(t.Context(), "")
		if err != nil || len(list) != 1000 || list[999].Name != "tool-999" ||
			list[999].ID != "00000000-0000-4000-8000-000000000999" {
			t.Errorf("%d tools, %v", len(list), err)
		}
	}
}

func TestClientKeepsTheAnswerOfWrites(t *testing.T) {
	for name, body := range map[string]string{
		"id alone": `{"success":true,"data":{"id":"` + clientID + `"}}`, "bare id": `{"id":"` + clientID +
			`","message":"created"}`,
	} {
		c := serveClient(t, nil, answerWith(200, body))
		want := catalog.ListItem{ID: clientID, Tool: analyticsTool()}
		if item, err := c.Create(t.Context(), analyticsTool()); err != nil || !reflect.DeepEqual(*item, want) {
			t.Errorf("create, %s: %+v, %v", name, item, err)
		}
		if item, err := c.Upload(t.Context(), analyticsTool(), "a.py", []byte(clientSource)); err != nil ||
			!reflect.DeepEqual(*item, want) {
			t.Errorf("upload, %s: %+v, %v", name, item, err)
		}
		if item, err := c.Update(t.Context(), clientID, analyticsTool()); err != nil || !reflect.DeepEqual(*item, want) {
			t.Errorf("update, %s: %+v, %v", name, item, err)
		}
	}
	c := serveClient(t, nil, answerWith(204, ""))
	if item, err := c.Update(t.Context(), clientID, analyticsTool()); err != nil || item.ID != clientID ||
		item.Name != analyticsTool().Name {
		t.Errorf("update, 204: %+v, %v", item, err)
	}
	if err := c.Delete(t.Context(), clientID); err != nil {
		t.Errorf("delete, 204: %v", err)
	}
	if err := c.Restore(t.Context(), clientID); err != nil {
		t.Errorf("restore, 204: %v", err)
	}
}

func TestClientReadsScripts(t *testing.T) {
	for body, want := range map[string]string{
		`{"script":"a\nb"}`:                      "a\nb",
		`{"content":"c"}`:                        "c",
		`{"script":null,"content":"c"}`:          "c",
		`{"script":"s","content":"c","id":7}`:    "s",
		`{"success":true,"data":{"script":"s"}}`: "s",
		`{"script_content":"d"}`:                 "d",
		`{"success":true,"data":{"id":"x","name":"n","script_content":"d"}}`: "d",
		`{"script":"s","script_content":"d"}`:                                "s",
		`{"success":true,"script":"s","message":"without"}`:                  "s",

		// Names are compared byte by byte.
		`{"script":"s","Script":7,"Content":7}`:                        "s",
		`{"success":true,"Success":false,"data":{"script":"s"},"x":1}`: "s",
		`{"Success":false,"script":"s","Data":7,"a":1,"a":2}`:          "s",
	} {
		if got, err := serveClient(t, nil, answerWith(200, body)).Script(t.Context(), clientID); got != want || err != nil {
			t.Errorf("%s is %q, %v", body, got, err)
		}
	}
}

// The document names the path of the source in one place; the reference and the platform's own
// clients name another.
func TestClientFindsScriptsAtEitherPath(t *testing.T) {
	for _, tt := range []struct {
		served string // the path with the source
		others int    // the status of the other paths
		want   string // the requested paths
		code   toolwire.Code
	}{
		{"source", 404, "source", ""},
		{"script", 404, "source script", ""},
		{"none", 404, "source script", toolwire.CodeNotFound},
		{"script", 403, "source", toolwire.CodeForbidden},
		{"script", 500, "source", toolwire.CodeServerError},
	} {
		var asked []string
		script, err := serveClient(t, nil, func(w http.ResponseWriter, r *http.Request) {
			part := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
			asked = append(asked, part)
			if part != tt.served {
				http.Error(w, `{"detail":"Not Found"}`, tt.others)
				return
			}
			_, _ = w.Write([]byte(`{"script":"pass"}`))
		}).Script(t.Context(), clientID)
		if toolwire.CodeOf(err) != tt.code || err == nil && script != "pass" || strings.Join(asked, " ") != tt.want {
			t.Errorf("%+v: %q, %v after %q", tt, script, err, asked)
		}
	}
}

// A response that a catalog does not send is an error, never an empty result.
func TestClientRefusesOtherAnswers(t *testing.T) {
	other := strings.Replace(calculatorItem, "1111", "1112", 1)
	everywhere := []string{``, `  `, `OK`, `<html><body>Sign in</body></html>`, `[`, `{"success":true`,
		`{"success":true}{}`,
		`{"success":true,"success":true}`, `{"success":"true","data":[]}`, `{"success":1}`, `{"success":null}`,
		"{\"message\":\"\xff\"}", "\ufeff{}", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`}
	for operation, bodies := range map[string][]string{
		"create": {`[]`, `null`, `{}`, `7`, `"x"`, `{"success":true}`, `{"success":true,"data":null}`,
			`{"success":true,"data":[]}`,
			`{"id":"7"}`, `{"id":7}`, `{"id":"` + clientID + `","tags":7}`},
		"upload": {`{}`, `{"success":true,"message":"created"}`},
		"get": {`[]`, `null`, `{}`, other, `{"success":true}`, `{"success":true,"data":null}`, `{"id":"` + clientID + `"}`,
			`{"id":"` + clientID + `","Name":"x"}`,
			`{"id":"` + clientID + `","name":null}`, `{"id":"` + clientID + `","name":7}`, `{"id":"` + clientID +
				`","name":"x","tags":[1]}`,
			`{"id":"` + clientID + `","name":"x","tags":[null]}`, `{"data":` + calculatorItem + `}`},
		"update":        {`[]`, other, `{"success":true,"data":[]}`},
		"patch":         {`[]`, other},
		"upload update": {`[]`, other},
		"list": {`{}`, `null`, `"x"`, calculatorItem, `{"success":true}`, `{"success":true,"data":null}`,
			`{"success":true,"data":{}}`,
			`[{}]`, `[null]`, `[` + calculatorItem + `,7]`, `{"success":true,"data":[` + calculatorItem + `,{"id":"x"}]}`,
			`{"data":[]}`},
		"script": {`{}`, `[]`, `"code"`, `{"script":""}`, `{"script":7}`, `{"content":null}`,
			`{"success":true,"data":"code"}`, `{"source":"x"}`},
		"delete":  {},
		"restore": {},
	} {
		for _, body := range append(bodies, everywhere...) {
			asked := 0
			c := serveClient(t, &catalog.ClientOptions{MaxAttempts: 3}, func(w http.ResponseWriter, r *http.Request) {
				asked++
				answerWith(200, body, "X-Request-Id", "r-1")(w, r)
			})
			err := clientCalls[operation](t.Context(), c)
			e := failedWith(t, err, toolwire.CodeBadResponse)
			if e.Response.Status != 200 || e.Response.RequestID != "r-1" || asked != 1 {
				t.Errorf("%s, %.40q: %v after %d requests", operation, body, err, asked)
			}
			writes := operation != "list" && operation != "get" && operation != "script" && operation != "patch"
			if strings.Contains(err.Error(), "may have been") != writes {
				t.Errorf("%s, %.40q: %v", operation, body, err)
			}
		}
	}
	for _, operation := range []string{"create", "upload", "get", "list", "script", "patch"} {
		failedWith(t, clientCalls[operation](t.Context(), serveClient(t, nil, answerWith(204, ""))), toolwire.CodeBadResponse)
	}
	_, err := serveClient(t, nil, answerWith(200, `[`+calculatorItem+`,{"id":"`+clientID+
		`","name":"x","framework":5}]`)).List(t.Context(), "")
	if want := "entry 1 of the list is not a tool: framework must be a string, not a number"; !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("got %v", err)
	}
}

func TestClientErrorsByStatus(t *testing.T) {
	for status, want := range map[int]toolwire.Code{
		200: toolwire.CodeRefused, 201: toolwire.CodeRefused, // with success: false
		400: toolwire.CodeRefused, 401: toolwire.CodeUnauthorized, 403: toolwire.CodeForbidden, 404: toolwire.CodeNotFound,
		302: toolwire.CodeUnexpectedStatus, 451: toolwire.CodeRefused, 499: toolwire.CodeRefused,
		405: toolwire.CodeRefused, 408: toolwire.CodeRefused, 409: toolwire.CodeConflict, 413: toolwire.CodeRequestTooLarge,
		418: toolwire.CodeRefused,
		422: toolwire.CodeRejected, 429: toolwire.CodeRateLimited, 500: toolwire.CodeServerError, 501: toolwire.CodeServerError,
		502: toolwire.CodeServerError,
		503: toolwire.CodeServerError, 504: toolwire.CodeServerError, 599: toolwire.CodeServerError, 300: toolwire.CodeUnexpectedStatus,
		304: toolwire.CodeUnexpectedStatus,
	} {
		for operation, call := range clientCalls {
			code := want
			if status <= 400 && want == toolwire.CodeRefused && strings.HasPrefix(operation, "upload") {
				code = "invalid_plugin"
			}
			err := call(t.Context(), serveClient(t, nil, answerWith(status, `{"success":false}`, "X-Request-Id", "req-7",
				"Retry-After", "3")))
			e := failedWith(t, err, code)
			if e.Response.Status != status || e.Response.RequestID != "req-7" || e.Message == "" || e.Response.RetryAfter != 3*time.Second {
				t.Errorf("%s, %d: %#v", operation, status, e)
			}
			// Only documented refusals prove that nothing was written.
			proof := slices.Contains([]int{200, 201, 400, 401, 403, 404, 409, 413, 422, 429}, status) ||
				status == 500 && strings.HasPrefix(operation, "upload")
			writes := !slices.Contains([]string{"list", "get", "script", "find", "patch"}, operation)
			if strings.Contains(err.Error(), "may have been") != (writes && !proof) {
				t.Errorf("%s, %d: %v", operation, status, err)
			}
			if e.Tool == "" && operation != "list" && operation != "find" {
				t.Errorf("%s, %d: no tool in %v", operation, status, err)
			}
		}
	}
}

func TestClientErrorBodies(t *testing.T) {
	problems := func(list ...toolwire.Problem) []toolwire.Problem { return list }
	const input = `"input":"hunter2","ctx":{"error":"hunter2"},"url":"https://errors.pydantic.dev"`
	for name, test := range map[string]struct {
		status   int
		body     string
		header   []string
		message  string
		problems []toolwire.Problem
	}{
		"FastAPI": {422, `{"detail":[{"type":"missing","loc":["body","name"],"msg":"Field required",` + input + `},
			{"loc":["body","tags",0],"msg":"Input should be a valid string","type":"string_type",` + input + `}]}`, nil, "the server rejected fields",
			problems(toolwire.Problem{Pointer: "/body/name", Code: "missing", Message: "Field required"},
				toolwire.Problem{Pointer: "/body/tags/0", Code: "string_type", Message: "Input should be a valid string"})},
		"FastAPI text": {404, `{"detail":"Tool not found"}`, nil, "Tool not found", nil},
		"detail object": {400, `{"detail":{"message":"Invalid plugin file","reason":"no class"}}`, nil,
			"Invalid plugin file", nil},
		"message": {409, `{"message":"Tool with name already exists","details":"in this account"}`, nil,
			"Tool with name already exists: in this account", nil},
		"envelope": {403,
			`{"success":false,"data":null,"message":"Forbidden","error":{"code":"X","message":"master key only"},"timestamp":"x"}`, nil,
			"Forbidden: master key only", nil},
		"error text":    {500, `{"error":"Failed to register plugin"}`, nil, "Failed to register plugin", nil},
		"a name":        {400, `{"detail":[{"name":"x","index":0,"msg":"no"}]}`, nil, "no", nil},
		"said twice":    {500, `{"message":"no","error":{"message":"no"},"detail":"no"}`, nil, "no", nil},
		"list of texts": {400, `{"detail":["one","two"]}`, nil, "one: two", nil},
		"fields of error": {400,
			`{"message":"bad","error":{"problems":[{"field":"file","code":"syntax","message":"is not Python"}]}}`, nil, "bad",
			problems(toolwire.Problem{Pointer: "/file", Code: "syntax", Message: "is not Python"})},
		"odd locations": {422,
			`{"detail":[{"loc":[],"msg":"a"},{"loc":["x",{"y":1},null],"msg":"b","type":"no word"},{"loc":"x","msg":"c"},7,null]}`, nil,
			"a: c", problems(toolwire.Problem{Pointer: "/x", Code: "", Message: "b"})},
		"JSON text": {503, `"busy"`, nil, "busy", nil},
		"plain text": {502, "upstream\n\tconnect error\x1b[31m\u202e", []string{"Content-Type", "text/plain"},
			"upstream connect error [31m", nil},
		"HTML":             {502, `<!DOCTYPE html><title>hunter2</title>`, nil, "the server failed", nil},
		"HTML by its type": {502, `hunter2`, []string{"Content-Type", "text/html; charset=utf-8"}, "the server failed", nil},
		"repeated names":   {422, `{"detail":"a","detail":"hunter2"}`, nil, "the server rejected fields", nil},
		"broken":           {429, `{"detail":"hunter2`, nil, "too many requests", nil},
		"gateway timeout":  {504, ``, nil, "the server did not finish in time", nil},
		"request timeout":  {408, `{}`, nil, "the server did not finish in time", nil},
		"no words": {401, `{"detail":{"input":"hunter2"},"success":false,"error":null}`, nil,
			"the server rejected the API key", nil},
		"empty list": {401, `[]`, nil, "the server rejected the API key", nil},
		"over 1 MiB": {500, `{"detail":"hunter2","pad":"` + strings.Repeat(" ", 1<<20) + `"}`, nil,
			"the server failed", nil},
		"nested far": {400, strings.Repeat(`{"error":`, 20) + `"hunter2"` + strings.Repeat("}", 20), nil,
			"the server rejected the request", nil},
		"success false":    {200, `{"success":false,"message":"No","error":{"message":"quota"}}`, nil, "No: quota", nil},
		"success, no text": {200, `{"success":false}`, nil, "the server rejected the request", nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := clientCalls["get"](t.Context(), serveClient(t, nil, answerWith(test.status, test.body, test.header...)))
			e, _ := err.(*toolwire.Error)
			if e == nil || e.Message != test.message || !reflect.DeepEqual(e.Problems, test.problems) ||
				e.Response.Status != test.status {
				t.Errorf("got %#v", err)
			}
			if strings.Contains(err.Error(), "[]") {
				t.Errorf("an absent code is shown: %v", err)
			}
			if test.status == 200 && e.Code != toolwire.CodeRefused {
				t.Errorf("code %s", e.Code)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hunter2") {
				t.Errorf("a value is shown: %v", err)
			}
		})
	}
}

// Errors are bounded, however long the texts of a server are.
func TestClientErrorsAreBounded(t *testing.T) {
	long := strings.Repeat("äöü ", 5000)
	var list []string
	for some := long[:1204]; len(list) < 200; {
		list = append(list, `{"loc":["`+some+`"],"msg":"`+some+`","type":"`+some+`"}`)
	}
	for name, body := range map[string]string{
		"text": long, "message": `{"message":"` + long + `","detail":"` + long + `"}`,
	} {
		err := clientCalls["get"](t.Context(), serveClient(t, nil, answerWith(400, body)))
		if n := len(err.Error()); n > 1200 || n < 1000 || !strings.Contains(err.Error(), "…") {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
	both := `{"error":[` + strings.Join(list[:80], ",") + `],"detail":[` + strings.Join(list, ",") + `]}`
	err := clientCalls["get"](t.Context(), serveClient(t, nil, answerWith(422, both)))
	e := failedWith(t, err, toolwire.CodeRejected)
	if len(e.Problems) != 100 || len(e.Problems[99].Message) > 1024 || len(e.Problems[99].Pointer) > 140 ||
		e.Problems[99].Code != "" {
		t.Errorf("%d problems, %d bytes", len(e.Problems), len(err.Error()))
	}
	err = clientCalls["get"](t.Context(),
		serveClient(t, nil, answerWith(400, "", "X-Request-Id", strings.Repeat("x", 200), "Retry-After", "soon")))
	if e := failedWith(t, err, toolwire.CodeRefused); e.Response.RequestID != "" || e.Response.RetryAfter != 0 {
		t.Errorf("got %#v", e)
	}
}
