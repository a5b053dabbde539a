package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

const apiKey = "bk_31337-swordfish"

func newClient(t testing.TB, o *toolbox.ClientOptions) *toolbox.Client {
	t.Helper()
	c, err := toolbox.NewClient(apiKey, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The requests and the responses as the page and the introduction to the API show them.
func TestClientOnTheWire(t *testing.T) {
	const tools = `[{"id":"t-1","name":"create_contact","description":"Create","handler":"defaults.contacts.create_contact","url":null,
		"parameters":{"type":"object","properties":{"n":{"default":1.50}}},"adapter":"a-1","Name":7,"x":1,"x":2},
		{"name":"check","description":null,"handler":"","url":"https://api.example.com/check?key=1","detail_url":null,"adapter":{"id":7,"name":"calendar"}}]`
	const adapters = `[{"id":"a-1","name":"contacts","description":"The contact book","config_schema":{"type":"object"},"tools":["t-1"]},
		{"id":7,"name":"calendar","config_schema":null}]`
	for _, envelope := range []string{`%s`, `{"results":%s}`,
		` {"results":%s,"pagination":{"total_count":2,"limit":50,"offset":0,"has_more":false}}`,
		`{"count":2,"next":null,"previous":null,"results":%s}`, `{"pagination":null,"results":%s,"Results":0}`,
		`{"results":%s,"pagination":{"offset":null,"has_more":false}}`} {
		var asked []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header.Get("Authorization"), " ",
				r.Header.Get("Accept"), " ", r.ContentLength))
			body := tools
			if strings.Contains(r.URL.Path, "adapters") {
				body = adapters
			}
			_, _ = fmt.Fprintf(w, envelope, body)
		}))
		c := newClient(t, &toolbox.ClientOptions{BaseURL: server.URL})
		gotTools, err := c.Tools(t.Context(), "a 1&limit=1")
		if err != nil {
			t.Fatal(err)
		}
		gotAdapters, err := c.Adapters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Tools(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		server.Close()
		end := " Bearer " + apiKey + " application/json 0"
		want := "GET /api/toolbox/tools/?adapter=a+1%26limit%3D1" + end + "\nGET /api/toolbox/adapters/" + end +
			"\nGET /api/toolbox/tools/" + end
		if got := strings.Join(asked, "\n"); got != want {
			t.Errorf("requests\n%s\nwant\n%s", got, want)
		}
		got, _ := json.Marshal([]any{gotTools, gotAdapters})
		want = `[[{"name":"create_contact","description":"Create","parameters":{"type":"object","properties":{"n":{"default":1.50}}},` +
			`"adapter":"a-1","handler":"defaults.contacts.create_contact"},` +
			`{"name":"check","adapter":"calendar","url":"https://api.example.com/check?key=1"}],` +
			`[{"id":"a-1","name":"contacts","description":"The contact book","config_schema":{"type":"object"}},{"id":"7","name":"calendar"}]]`
		if string(got) != want {
			t.Errorf("%s: got\n%s\nwant\n%s", envelope, got, want)
		}
	}
}

// serving returns a client of a platform that answers with the bodies, one per request, and what
// it was asked.
func serving(t *testing.T, bodies ...string) (c *toolbox.Client, asked *[]string) {
	asked = new([]string)
	return newClient(t, &toolbox.ClientOptions{Transport: transport(func(r *http.Request) (int, string) {
		*asked = append(*asked, r.URL.RawQuery)
		if len(*asked) > len(bodies) {
			return 500, ""
		}
		return 200, bodies[len(*asked)-1]
	})}), asked
}

func TestClientReadsAllPages(t *testing.T) {
	page := func(from, n, offset, limit int, more bool) string {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf(`{"name":"t%d","handler":"h"}`, from+i))
		}
		return fmt.Sprintf(`{"results":[%s],"pagination":{"total_count":5,"limit":%d,"offset":%d,"has_more":%t}}`,
			strings.Join(rows, ","), limit, offset, more)
	}
	c, asked := serving(t, page(0, 2, 0, 2, true), page(2, 2, 2, 2, true), page(4, 1, 4, 2, false))
	list, err := c.Tools(t.Context(), "a-1")
	if err != nil || len(list) != 5 || list[4].Name != "t4" {
		t.Errorf("%+v, %v", list, err)
	}
	if got, want := strings.Join(*asked, " "),
		"adapter=a-1 adapter=a-1&limit=2&offset=2 adapter=a-1&limit=2&offset=4"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	if list, err := must2(serving(t, `{"results":[]}`)).Tools(t.Context(), "a"); err != nil || list == nil ||
		len(list) != 0 {
		t.Errorf("an empty list: %+v, %v", list, err)
	}

	const row = `{"name":"a","handler":"h"}`
	for name, tt := range map[string]struct {
		bodies []string
		code   toolwire.Code
		part   string
	}{
		"not JSON":              {[]string{`<html>`}, toolwire.CodeBadResponse, "not valid at byte 0"},
		"no list":               {[]string{`{"detail":"` + apiKey + `"}`}, toolwire.CodeBadResponse, "no list results"},
		"null":                  {[]string{`{"results":null}`}, toolwire.CodeBadResponse, "no list results"},
		"repeated":              {[]string{`{"results":[],"results":[` + row + `]}`}, toolwire.CodeBadResponse, "not valid"},
		"another case":          {[]string{`{"Results":[]}`}, toolwire.CodeBadResponse, "no list results"},
		"a row of another type": {[]string{`[` + row + `,7]`}, toolwire.CodeBadResponse, "/1 must be an object, not a number"},
		"a row without a name": {[]string{`{"results":[` + row + `,{"handler":"h"}]}`}, toolwire.CodeBadResponse,
			"/results/1 has no name"},
		"a wrong member": {[]string{`{"results":[{"name":"a","url":["` + apiKey + `"]}]}`}, toolwire.CodeBadResponse,
			"/results/0/url must be a string, not an array"},
		"an empty page": {[]string{`{"results":[],"pagination":{"has_more":true}}`}, toolwire.CodeBadResponse,
			"empty page"},
		"the same page again": {[]string{`{"results":[` + row + `],"pagination":{"offset":0,"has_more":true}}`,
			`{"results":[` + row + `],"pagination":{"offset":0,"has_more":true}}`},
			toolwire.CodeBadResponse, "does not begin at the offset 1"},
		"a page without pagination": {[]string{`{"results":[` + row + `],"pagination":{"has_more":true}}`, `[` + row + `]`},
			toolwire.CodeBadResponse, "do not follow the documented pagination"},
		"another pagination": {[]string{`{"count":2,"next":"https://` + apiKey + `/","results":[` + row + `]}`},
			toolwire.CodeBadResponse,
			"do not follow the documented pagination"},
		"a failure on the second page": {[]string{`{"results":[` + row + `],"pagination":{"has_more":true}}`},
			"server_error", "status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := serving(t, tt.bodies...)
			list, err := c.Tools(t.Context(), "a-1")
			if list != nil || toolwire.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.part) ||
				strings.Contains(fmt.Sprint(err), apiKey) {
				t.Errorf("%+v, %v after %q", list, err, *asked)
			}
		})
	}
	t.Run("a list without end", func(t *testing.T) {
		requests := 0
		c := newClient(t, &toolbox.ClientOptions{Transport: transport(func(*http.Request) (int, string) {
			requests++
			return 200, page(0, 500, 500*(requests-1), 500, true)
		})})
		if list, err := c.Tools(t.Context(), "a"); list != nil || toolwire.CodeOf(err) != toolwire.CodeResponseTooLarge ||
			requests != 21 {
			t.Errorf("%d tools, %v after %d requests", len(list), err, requests)
		}
	})
	t.Run("a last page with too many", func(t *testing.T) {
		c, _ := serving(t, page(0, 10_001, 0, 0, false))
		if list, err := c.Tools(t.Context(), "a"); list != nil || toolwire.CodeOf(err) != toolwire.CodeResponseTooLarge {
			t.Errorf("%d tools, %v", len(list), err)
		}
		c, _ = serving(t, page(0, 10_000, 0, 0, false))
		if list, err := c.Tools(t.Context(), "a"); len(list) != 10_000 || err != nil {
			t.Errorf("%d tools, %v", len(list), err)
		}
	})
	t.Run("large pages without end", func(t *testing.T) {
		requests := 0
		c := newClient(t, &toolbox.ClientOptions{Transport: transport(func(*http.Request) (int, string) {
			requests++
			return 200, page(0, 1, requests-1, 1, true) + strings.Repeat(" ", 4<<20-200)
		})})
		if list, err := c.Adapters(t.Context()); list != nil || toolwire.CodeOf(err) != toolwire.CodeResponseTooLarge ||
			requests != 17 {
			t.Errorf("%d adapters, %v after %d requests", len(list), err, requests)
		}
	})
}

func must2[T, U any](v T, _ U) T { return v }

func TestClientErrors(t *testing.T) {
	codes := map[int]toolwire.Code{400: "refused", 401: "unauthorized", 403: "forbidden",
		404: "not_found", 429: "rate_limited", 500: "server_error"}
	for status, tt := range map[int]struct{ body, part, detail string }{
		400: {`{"adapter": ["Enter a valid UUID, not ` + apiKey + `."]}`, "status 400",
			`{"adapter":["Enter a valid UUID, not [redacted]."]}`},
		401: {`{"detail":"Invalid token."}`, "does not accept the API key", `{"detail":"Invalid token."}`},
		403: {`{"detail":"No."}`, "does not permit it", `{"detail":"No."}`},
		404: {`{"detail":"Not found."}`, "check ClientOptions.BaseURL and the id", `{"detail":"Not found."}`},
		429: {`wait ` + apiKey, "status 429", ``},
		500: {`<html>` + apiKey, "status 500", ``},
		300: {`[]`, "a redirect, which is not followed", `[]`},
		302: {`https://elsewhere.example.com/` + apiKey, "a redirect, which is not followed", ``},
		204: {``, "status 204", ``},
	} {
		requests := 0
		c := newClient(t, &toolbox.ClientOptions{Transport: transport(func(*http.Request) (int, string) {
			requests++
			return status, tt.body
		})})
		_, err := c.Adapters(t.Context())
		e, ok := errors.AsType[*toolbox.Error](err)
		want, other := codes[status]
		if !other {
			want = "unexpected_status"
		}
		if !ok || e.Code != want || e.Status != status || e.Detail != tt.detail ||
			!strings.Contains(err.Error(), tt.part) || requests != 1 {
			t.Errorf("%d: %v, detail %q after %d requests", status, err, e.Detail, requests)
		}
		if strings.Contains(fmt.Sprintf("%+v %s", err, e.ToolResult()), apiKey) {
			t.Errorf("%d shows the key: %+v", status, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, &toolbox.ClientOptions{Transport: transport(func(r *http.Request) (int, string) {
			<-r.Context().Done()
			return 200, `[]`
		})})
		start := time.Now()
		if _, err := c.Tools(t.Context(), "a"); toolwire.CodeOf(err) != toolwire.CodeTimeout ||
			time.Since(start) != 30*time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Tools(ctx, "a"); toolwire.CodeOf(err) != toolwire.CodeDeadline ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestNewClientReportsEverything(t *testing.T) {
	for _, tt := range []struct {
		key, base string
		problems  []string
	}{
		{apiKey, "", nil}, {apiKey, "http://localhost:8000/", nil}, {apiKey, "https://eu.example.com/bedrock", nil},
		{"", "", []string{"apiKey must be visible ASCII"}},
		{"hunter2\n", "http://user:hunter2@api.example.com?a=1", []string{"ClientOptions.BaseURL must begin with https://",
			"ClientOptions.BaseURL must not have a user name", "apiKey must be visible ASCII"}},
		{strings.Repeat("k", 4096), "https://api.example.com/apis", nil},
		{strings.Repeat("k", 4097), "https://eu.example.com/bedrock/api/", []string{
			"ClientOptions.BaseURL must not end in /api; the client adds it", "apiKey must have at most 4096 bytes"}},
		{apiKey, "api.example.com", []string{"ClientOptions.BaseURL must be a URL with a host, such as https://api.bedrock.orinlabs.org"}},
	} {
		_, err := toolbox.NewClient(tt.key, &toolbox.ClientOptions{BaseURL: tt.base})
		e, _ := errors.AsType[*toolbox.Error](err)
		if (err == nil) != (tt.problems == nil) || err != nil &&
			(e.Code != toolwire.CodeInvalidOptions || len(e.Problems) != len(tt.problems)) {
			t.Errorf("%q: %v", tt.base, err)
			continue
		}
		for i, part := range tt.problems {
			if !strings.HasPrefix(e.Problems[i].Message, part) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: %v", tt.base, err)
			}
		}
	}
	c := newClient(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Adapters(ctx); toolwire.CodeOf(err) != toolwire.CodeCanceled {
		t.Error(err)
	}
}

// A fault of the platform ends a list with the right code.
func TestFaultsOfLists(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		if strings.HasPrefix(row.Name, "kept alive") {
			row.Requests = 3 // net/http repeats a GET that a reused connection has lost
		}
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `[{"name":"check","url":"https://api.example.com"}]`, func(ctx context.Context, p faulttest.Peer) {
				c := newClient(t, &toolbox.ClientOptions{BaseURL: p.URL, Transport: p.Transport})
				c.SetLimit(maxBody)
				list, err := c.Tools(ctx, "a-1")
				if p.Want.Outcome == faulttest.Success {
					if err != nil || len(list) != 1 {
						t.Errorf("%+v, %v", list, err)
					}
					return
				}
				e, ok := errors.AsType[*toolbox.Error](err)
				want := faultCode(p.Want)
				if !ok || e.Code != want || list != nil {
					t.Fatalf("%+v, %v, want code %q", list, err, want)
				}
				if e.Status != p.Want.Status && (e.Status != 0 || p.Want.Outcome == faulttest.Status) {
					t.Errorf("status %d, want %d", e.Status, p.Want.Status)
				}
				if p.Want.Outcome == faulttest.Canceled &&
					(!errors.Is(err, faulttest.ErrStalled) || !errors.Is(err, context.Canceled)) {
					t.Errorf("%v lost the cause of its context", err)
				}
				if strings.Contains(fmt.Sprint(err), apiKey) {
					t.Errorf("%v shows the key", err)
				}
			})
		})
	}
}

func FuzzList(f *testing.F) {
	f.Add(`{"results":[{"name":"a","adapter":{"id":1}}],"pagination":{"has_more":true,"offset":0,"limit":1}}`)
	f.Add(`[{"name":"a","parameters":{"a":1,"a":2}}]`)
	f.Add(`{"name":"a","adapter":{"id":1}}`)
	f.Fuzz(func(t *testing.T, body string) {
		cost.Linear(t, "Tools", []byte(body), cost.List(`{"results":[`, []byte(body), `]}`), func(doc []byte) {
			c := newClient(t, &toolbox.ClientOptions{Transport: always(doc)})
			_, _ = c.Tools(t.Context(), "a")
			_, _ = c.Adapters(t.Context())
		})
		c := newClient(t, &toolbox.ClientOptions{Transport: always(body)})
		tools, err := c.Tools(t.Context(), "a")
		if (tools == nil) != (err != nil) {
			t.Errorf("%+v, %v", tools, err)
		}
		adapters, err := c.Adapters(t.Context())
		if (adapters == nil) != (err != nil) {
			t.Errorf("%+v, %v", adapters, err)
		}
	})
}

type always string

func (body always) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: -1}, nil
}
