package catalog_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

func TestLifeCycle(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	native := s.create(`{"name":"time_tool","framework":"google_adk","type":"native","tags":"clock, time,,"}`)
	up := s.upload("POST", "/tools/upload", part{"file", `C:\tools\Analytics.py`, source}, part{"tags", "", "a, b"},
		part{"unknown", "", "x"})
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
	for query, want := range map[string]string{"": "analytics_tool time_tool", "?type=native": "time_tool",
		"?type=custom": "analytics_tool"} {
		if got := names(query); got != want {
			t.Errorf("the list with %q is %s, want %s", query, got, want)
		}
	}
	for _, path := range []string{"script", "source"} {
		sameJSON(t, s.do("GET", "/tools/"+custom+"/"+path, "").want(t, 200, ""), scriptOf(custom, source))
	}

	// A new file changes what it defines, and the fields of the form.
	again := strings.ReplaceAll(source, "Analytics(", "Better(")
	sameJSON(t, s.upload("PUT", "/tools/"+custom+"/upload", part{"file", "better.py", again},
		part{"version", "", "2"}).want(t,
		200, ""),
		`{"id":"`+custom+`","name":"analytics_tool","description":"Statistics <of> \"all\" kinds.","framework":"langchain",
		"tool_type":"custom","tags":["a","b"],"version":"2","account_id":"`+account+`","plugin_class_name":"Better","module_name":"better"}`)
	s.upload("PUT", "/tools/"+native+"/upload", part{"file", "a.py", source}).want(t, 422, "Validation error")

	// A change of metadata does not change the code.
	sameJSON(t, s.do("PUT", "/tools/"+custom, `{"name":"renamed","framework":"langgraph","type":"custom"}`).want(t, 200,
		""),
		`{"id":"`+custom+`","name":"renamed","framework":"langgraph","tool_type":"custom","version":"1.0.0","account_id":"`+account+`",
		"plugin_class_name":"Better","module_name":"better"}`)
	s.do("PUT", "/tools/"+custom, `{"tool_type":"native"}`).want(t, 422, "Validation error")
	sameJSON(t, s.do("GET", "/tools/"+custom+"/script", "").json.Data, scriptOf(custom, again))

	// A deleted tool frees its name and can be restored unless the name was taken.
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
	sameJSON(t, s.do("GET", "/tools/"+custom+"/source", "").want(t, 200, ""), scriptOf(custom, again))
	if strings.Contains(s.log.String(), "BaseTool") {
		t.Error("the log has source code")
	}
}

func TestPut(t *testing.T) {
	const before = `{"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"3"}`
	full := `{"name":"b","framework":"langgraph","tool_type":"native"}`
	for _, test := range []struct {
		name string
		body string
		want string // without id and account
	}{
		{"full body replaces", full,
			`"name":"b","framework":"langgraph","tool_type":"native","version":"1.0.0"`},
		{"partial body updates", `{"version":"4"}`,
			`"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"4"`},
		{"empty body changes nothing", `{}`,
			`"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"3"`},
		{"null clears", `{"description":null,"tags":null,"version":null,"account_id":null}`,
			`"name":"a","framework":"langchain","tool_type":"custom","version":"1.0.0"`},
		{"empty clears", `{"description":"","tags":[]}`,
			`"name":"a","framework":"langchain","tool_type":"custom","version":"3"`},
		{"the account may be sent back", `{"account_id":"` + strings.ToUpper(account) +
			`","id":"x","script_content":"x"}`,
			`"name":"a","framework":"langchain","tool_type":"custom","description":"d","tags":["t"],"version":"3"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, nil, catalog.HandlerOptions{})
			id := s.create(before)
			a := s.do("PUT", "/tools/"+id, test.body)
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
				statuses[n] = s.do("POST", "/tools/",
					`{"name":"analytics_tool","framework":"langchain","tool_type":"custom"}`).status
			} else {
				statuses[n] = s.upload("POST", "/tools/upload", part{"file", "a.py", source}).status
			}
		})
	}
	wg.Wait()
	slices.Sort(statuses)
	if statuses[0] != 200 || statuses[1] != 409 || statuses[crowd-1] != 409 {
		t.Errorf("the responses are %v, want one 200 and else 409", statuses)
	}
}

func TestRegister(t *testing.T) {
	var seen []catalog.ListItem
	var answer error
	s := newServer(t, nil, catalog.HandlerOptions{Register: func(_ context.Context, tool catalog.ListItem) error {
		seen = append(seen, tool)
		if tool.Version == "panic" {
			panic("a secret")
		}
		return answer
	}})
	id := s.id(s.upload("POST", "/tools/upload", part{"file", "a.py", source}))
	s.upload("PUT", "/tools/"+id+"/upload", part{"file", "b.py", source}).want(t, 200, "")
	s.upload("POST", "/tools/upload", part{"file", "a.py", source}).want(t, 409, "") // is not registered
	s.create(minimal)                                                                // needs no registration
	s.upload("PUT", "/tools/"+id+"/upload", part{"file", "b.py", source}, part{"name", "", "basic-calculator"}).want(t,
		409, "")
	if len(seen) != 2 || seen[0].ID != id || seen[1].ID != id || seen[0].ModuleName != "a" || seen[1].ModuleName != "b" ||
		seen[0].ScriptContent != source || seen[0].PluginClassName != "Analytics" {
		t.Errorf("Register saw %+v", seen)
	}
	answer = &toolwire.Error{Code: "invalid_plugin"}
	s.upload("PUT", "/tools/"+id+"/upload", part{"file", "b.py", source}).want(t, 400, "Invalid plugin file")
	s.upload("PUT", "/tools/"+id+"/upload", part{"file", "b.py", source}, part{"version", "", "panic"}).
		want(t, 500, "Failed to update plugin")
	if strings.Contains(s.log.String(), "a secret") || !strings.Contains(s.log.String(), "panic=string") {
		t.Errorf("the log is %s", s.log)
	}
}

// TestUploadMeetsAChange changes a tool to native while its first file is being registered.
func TestUploadMeetsAChange(t *testing.T) {
	var s *server
	var id string
	s = newServer(t, nil, catalog.HandlerOptions{Register: func(context.Context, catalog.ListItem) error {
		s.do("PUT", "/tools/"+id, `{"tool_type":"native","version":"7"}`).want(t, 200, "")
		return nil
	}})
	id = s.create(minimal)
	s.upload("PUT", "/tools/"+id+"/upload", part{"file", "a.py", source}).want(t, 200, "")
	sameJSON(t, s.do("GET", "/tools/"+id, "").want(t, 200, ""), `{"id":"`+id+`","name":"basic-calculator","framework":"langchain",
		"tool_type":"custom","version":"7","account_id":"`+account+`","plugin_class_name":"Analytics","module_name":"a"}`)
}

// TestLetterCase checks that the case of ids and accounts does not matter.
func TestLetterCase(t *testing.T) {
	store := catalog.NewMemoryStore()
	o := catalog.HandlerOptions{InsecureAccount: strings.ToUpper(account)}
	insecure := newServer(t, store, o)
	o.InsecureAccount = ""
	o.Authenticate = func(*http.Request, string) (string, error) { return strings.ToUpper(account), nil }
	shouting := newServer(t, store, o)
	o.Authenticate = nil
	plain := newServer(t, store, o)

	created := insecure.create(minimal)
	uploaded := shouting.id(shouting.upload("POST", "/tools/upload", part{"file", "a.py", source}))
	for _, id := range []string{created, uploaded} {
		if id != strings.ToLower(id) {
			t.Errorf("the id is %s", id)
		}
		for _, s := range []*server{insecure, shouting, plain} {
			for _, spelled := range []string{id, strings.ToUpper(id)} {
				data := s.do("GET", "/tools/"+spelled, "").want(t, 200, "")
				if !strings.Contains(string(data), `"account_id":"`+account+`"`) {
					t.Errorf("the tool is %s", data)
				}
			}
		}
	}
}

// TestRegisterIsInterrupted ends the request during Register, which is not an error of the plugin.
func TestRegisterIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	interrupt := func(ctx context.Context) error { cancel(); return ctx.Err() }
	h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{InsecureAccount: account,
		Register: func(ctx context.Context, _ catalog.ListItem) error { return interrupt(ctx) }})
	if err != nil {
		t.Fatal(err)
	}
	send := func(ctx context.Context) int {
		r := httptest.NewRequestWithContext(ctx, "POST", "/tools/upload", strings.NewReader(
			"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.py\"\r\n\r\n"+source+"\r\n--x--\r\n"))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	if status := send(ctx); status != http.StatusServiceUnavailable {
		t.Errorf("the status is %d", status)
	}
	interrupt = func(context.Context) error { panic(http.ErrAbortHandler) }
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("http.ErrAbortHandler did not reach the caller")
		}
	}()
	send(t.Context())
}

// scriptOf is the answer with a source, under the name of the document too.
func scriptOf(id, source string) string {
	return `{"id":"` + id + `","script":` + quote(source) + `,"script_content":` + quote(source) + `}`
}
