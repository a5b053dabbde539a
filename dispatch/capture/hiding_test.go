package capture_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/dispatch/webhook"
)

// received records a request to an endpoint that reads it and answers with answer.
func received(t *testing.T, opts *capture.Options, body, answer string, header ...string) (text string, records []capture.Record) {
	t.Helper()
	var out lines
	record := capture.New(&out, opts)
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	setHeader(r.Header, header)
	record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})).ServeHTTP(httptest.NewRecorder(), r)
	records = closed(t, record, &out)
	return out.String(), records
}

// asked records a request to url that is answered with status, the header Set-Cookie, and answer.
func asked(t *testing.T, opts *capture.Options, url, body string, status int, answer string) (text string, records []capture.Record) {
	t.Helper()
	var out lines
	record := capture.New(&out, opts)
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	setHeader(r.Header, []string{"Content-Type", "application/json", "Authorization", "Bearer tok-1234567890"})
	resp, err := record.Transport(transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, ContentLength: -1, Body: io.NopCloser(strings.NewReader(answer)),
			Header: http.Header{"Content-Type": {"application/json"}, "Set-Cookie": {"cookie-value-1"},
				"Server": {strings.Repeat("s", 201)}}}, nil
	})).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	records = closed(t, record, &out)
	return out.String(), records
}

func setHeader(to http.Header, pairs []string) {
	for i := 0; i < len(pairs); i += 2 {
		to.Set(pairs[i], pairs[i+1])
	}
}

var withContent = &capture.Options{Content: true}

// With Content a body in which credentials cannot be found has its shape.
func TestBodiesThatCannotBeSearched(t *testing.T) {
	const secrets = `{"run_token":"tok-1234567890","api_key":"key-1234567890","note":"x"`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, secrets+"}")
	_ = z.Close()
	var wide []byte
	for _, unit := range utf16.Encode([]rune(secrets + "}")) {
		wide = append(wide, byte(unit), byte(unit>>8))
	}
	for name, tt := range map[string]struct{ body, media, encoding, want string }{
		"UTF-16 of a text":    {"k\x00e\x00y\x00-\x001\x00", "text/plain", "", "<text 10>"},
		"bytes":               {"\xff key-1234567890", "text/plain", "", "<binary 16>"},
		"gzip":                {zipped.String(), "application/json", "gzip", "<binary "},
		"a text with gzip":    {"plain", "text/plain", "x-unknown", "<text 5>"},
		"UTF-16":              {string(wide), "text/plain", "", "<text "},
		"half of an object":   {secrets, "application/json", "", "<text 67>"},
		"the same as text":    {" " + secrets, "text/plain", "", "<text 68>"},
		"more after it":       {"[" + secrets + "}]]", "text/plain", "", "<text 71>"},
		"with a mark":         {"\ufeff" + secrets, "text/plain", "", "<text 68>"},
		"events":              {"data: " + secrets + "}\n\n", "text/event-stream", "", "<text "},
		"a form":              {"client_secret=key-1234567890", "application/x-www-form-urlencoded", "", "<text 28>"},
		"without a type":      {"api_key=key-1234567890", "", "", "<text 22>"},
		"a page is searched":  {"<h1>Bad gateway</h1> hdr-1234567890", "text/html; charset=utf-8", "", "<h1>Bad gateway</h1> [redacted]"},
		"an empty text stays": {"   ", "text/plain", "", "   "},
	} {
		t.Run(name, func(t *testing.T) {
			header := []string{"Content-Type", tt.media, "X-Api-Key", "hdr-1234567890"}
			if tt.encoding != "" {
				header = append(header, "Content-Encoding", tt.encoding)
			}
			_, records := received(t, withContent, tt.body, "{}", header...)
			if b := find(records, "request", "dispatch")[0].Body; !strings.HasPrefix(b.Text, tt.want) || b.Cut {
				t.Errorf("%+v, want %s", b, tt.want)
			}
		})
	}
}

// With Content a text that is cut has its shape: it may end within a credential.
func TestATextThatIsCut(t *testing.T) {
	var out lines
	record := capture.New(&out, withContent)
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("it is tok-1234567890"))
	setHeader(r.Header, []string{"Content-Type", "text/plain", "X-Api-Key", "tok-1234567890"})
	record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 15))
	})).ServeHTTP(httptest.NewRecorder(), r)
	if b := find(closed(t, record, &out), "request", "dispatch")[0].Body; b.Text != "<text 15>" || !b.Cut {
		t.Errorf("%+v", b)
	}
}

// With Content a run token is hidden whatever value it is, wherever it is repeated, and also if the
// body that has it is too long to be kept.
func TestRunTokensOfBodies(t *testing.T) {
	long := `{"padding":"` + strings.Repeat("x", 4<<20) + `","run_token":"tok-1234567890"}`
	deep := `{"a":` + strings.Repeat(`[`, 100) + `"deepest"` + strings.Repeat(`]`, 100) + `}`
	for name, tt := range map[string]struct {
		body, answer string
		canaries     []string
	}{
		"a number":     {`{"run_token":9134567812}`, "{}", []string{"9134567812"}},
		"an object":    {`{"run_token":{"value":"tok-1234567890"}}`, "{}", []string{"tok-12"}},
		"a list":       {`{"run_token":["tok-1234567890"]}`, "{}", []string{"tok-12"}},
		"repeated":     {`{"run_token":"tok-1234567890","x":"it is tok-1234567890"}`, `{"x":"tok-1234567890!"}`, []string{"tok-12"}},
		"of a URL":     {`{"odyssey_proxy_url":"https://u:pass-1234567890@x/","x":"pass-1234567890"}`, "{}", []string{"pass-12"}},
		"not kept":     {long, `{"x":"tok-1234567890!"}`, []string{"tok-12"}},
		"not JSON":     {`{"run_token":"tok-1234567890"`, `{"x":"tok-1234567890!"}`, []string{"tok-12"}},
		"a digit text": {`{"note":9134567890}`, `{}`, []string{"9134567890"}},
		"too deep":     {deep, "{}", []string{"deepest"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, records := received(t, withContent, tt.body, tt.answer, "Content-Type", "application/json", "X-Api-Key", "9134567890")
			if len(find(records, "request", "dispatch")) != 1 {
				t.Fatalf("%+v", records)
			}
			for _, canary := range tt.canaries {
				if strings.Contains(text, canary) {
					t.Errorf("the capture has %s: %.1000s", canary, text)
				}
			}
		})
	}
}

// With Content the credentials of a URL and of a response are hidden in the bodies.
func TestCredentialsOfURLsAndResponses(t *testing.T) {
	text, _ := asked(t, withContent, "https://api.example.com/x?key=query-value-1", `{"a":"query-value-1 is it"}`, 200,
		`{"a":"cookie-value-1 is it, and content"}`)
	if strings.Contains(text, "query-value-1") || strings.Contains(text, "cookie-value-1") {
		t.Errorf("the capture has a credential: %s", text)
	}
	if !strings.Contains(text, "[redacted] is it, and content") || !strings.Contains(text, `"Server":["<string 201>"]`) {
		t.Errorf("the capture does not have the rest: %s", text)
	}
}

// The names of arguments are content, also in an error.
func TestNamesOfArgumentsInErrors(t *testing.T) {
	const answer = `{"detail":[{"loc":["body","anna_smith",5551234],"msg":"x","type":"missing"}]}`
	for url, want := range map[string]string{
		"https://api.example.com/runs/1/tools/get_order": `{"detail":[{"loc":["body","<string 10>","<integer 7>"],"msg":"<string 1>","type":"missing"}]}`,
		"https://api.example.com/runs/1/traces/handoff":  `{"detail":[{"loc":["body","anna_smith",5551234],"msg":"<string 1>","type":"missing"}]}`,
	} {
		_, records := asked(t, nil, url, `{"anna_smith":1}`, 422, answer)
		if got := string(find(records, "response", "call")[0].Body.JSON); got != want {
			t.Errorf("%s is answered with\n%s\nwant\n%s", url, got, want)
		}
	}
}

// The result of a webhook's tool is content, also if it has a member error.
func TestAWebhooksResult(t *testing.T) {
	rows := map[string]string{`{"error":"anna"}`: `{"error":"<string 4>"}`, `{"error":4521}`: `{"error":"<integer 4>"}`}
	for _, code := range []webhook.Code{
		webhook.CodeMethod, webhook.CodeUnauthorized, webhook.CodeIdentity, webhook.CodeBodyTooLarge, webhook.CodeBody,
		webhook.CodeJSON, webhook.CodeEnvelope, webhook.CodeUnknownTool, webhook.CodeArguments, webhook.CodeTool,
		webhook.CodeTimeout, webhook.CodeInternal,
	} {
		rows[fmt.Sprintf(`{"error":%q,"message":"x"}`, code)] = fmt.Sprintf(`{"error":%q,"message":"<string 1>"}`, code)
	}
	for answer, want := range rows {
		_, records := received(t, nil, `{"tool":"x"}`, answer, "X-Agent-Secret", "sec-1234567890")
		if got := string(find(records, "response", "webhook")[0].Body.JSON); got != want {
			t.Errorf("%s is %s, want %s", answer, got, want)
		}
	}
}

// A dispatch with members that a webhook may have is a dispatch.
func TestADispatchIsNoWebhook(t *testing.T) {
	for _, body := range []string{`{"task_id":1,"arguments":{}}`, `{"odyssey_proxy_url":"x","tool":"y"}`} {
		if _, records := received(t, nil, body, "{}"); len(find(records, "request", "dispatch")) != 1 {
			t.Errorf("%s is taken for a webhook", body)
		}
	}
}

// A request to another API belongs to no run, whatever its credential is.
func TestARequestToAnotherAPIIsNoRun(t *testing.T) {
	_, records := asked(t, nil, "https://api.example.com/agents", `{}`, 200, `{}`)
	if got := find(records, "request", "client"); len(got) != 1 || got[0].Run != "" {
		t.Errorf("%+v", got)
	}
}

// The text of a file in a form is told from a field.
func TestAFileInAForm(t *testing.T) {
	_, records := received(t, nil, "--b\r\nContent-Disposition: form-data; name=\"tool_type\"; filename=\"f\"\r\n\r\npython\r\n--b--\r\n", "{}",
		"Content-Type", "multipart/form-data; boundary=b")
	if got := fmt.Sprint(find(records, "request", "dispatch")[0].Body.Form); got != "[[tool_type <file text 6>]]" {
		t.Error(got)
	}
}

// The URL of a request, and its headers until the response is written, count as memory.
func TestLargeRequests(t *testing.T) {
	large := strings.Repeat("x", 4<<10)
	for name, request := range map[string]func() *http.Request{
		"URL":   func() *http.Request { return httptest.NewRequest(http.MethodGet, "/"+large, nil) },
		"query": func() *http.Request { return httptest.NewRequest(http.MethodGet, "/?"+large, nil) },
		"header": func() *http.Request {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("X-Large", large)
			return r
		},
		"method": func() *http.Request { return httptest.NewRequest(large, "/", nil) },
	} {
		release := make(chan struct{})
		record := capture.New(failing(func(p []byte) (int, error) {
			<-release
			return len(p), nil
		}), nil)
		record.SetBounds(1000, 64<<10, 1000, 1e6)
		handler := record.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for range 30 {
			handler.ServeHTTP(httptest.NewRecorder(), request())
		}
		close(release)
		err := record.Close(t.Context())
		if e, ok := errors.AsType[*capture.Error](err); !ok || e.Lost < 40 || e.Lost > 45 { // 80 KiB hold 19 of 60
			t.Errorf("%s: of 60 messages that hold 4 KiB %v", name, err)
		}
	}
}

// A handler learns whether a flush failed, as without a capture.
func TestFlush(t *testing.T) {
	broken := errors.New("broken")
	for _, want := range []error{nil, broken} {
		var got error
		handler := capture.New(io.Discard, nil).Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = http.NewResponseController(w).Flush()
		}))
		handler.ServeHTTP(flushing{httptest.NewRecorder(), want}, httptest.NewRequest(http.MethodGet, "/", nil))
		if !errors.Is(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

type flushing struct {
	*httptest.ResponseRecorder
	err error
}

func (f flushing) FlushError() error { return f.err }

// The status of a response is its last one.
func TestEarlyHints(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	if got := find(closed(t, record, &out), "response", "dispatch")[0]; got.Status != http.StatusTeapot {
		t.Errorf("%+v", got)
	}
}

// A body is recorded if its length is not known, once if it is sent again, and not any more when
// the response has ended.
func TestBodiesOfRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		again bool // send it again
		want  string
		late  bool // read it after the response
		known bool
	}{
		"of unknown length": {want: `"<object 1>"`},
		"sent again":        {want: `"<object 1>"`, again: true, known: true},
		"read too late":     {late: true, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out lines
			record := capture.New(&out, nil)
			body := func() io.ReadCloser { return io.NopCloser(strings.NewReader(`{"a":1}`)) }
			r, _ := http.NewRequest(http.MethodPost, "https://api.example.com/runs/1/tools/get_order", nil)
			r.Body = body()
			if tt.known { // and not in memory
				r.Body, r.ContentLength = struct{ io.ReadCloser }{body()}, 7
			}
			r.GetBody = func() (io.ReadCloser, error) { return body(), nil }
			r.Header.Set("Content-Type", "application/json")
			var sent *http.Request
			_, err := record.Transport(transport(func(r *http.Request) (*http.Response, error) {
				if sent = r; !tt.late {
					_, _ = io.Copy(io.Discard, r.Body)
				}
				if tt.again {
					again, err := r.GetBody()
					if err != nil {
						return nil, err
					}
					_, _ = io.Copy(io.Discard, again)
				}
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			})).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if tt.late {
				if text, err := io.ReadAll(sent.Body); err != nil || string(text) != `{"a":1}` {
					t.Errorf("%s, %v", text, err)
				}
			}
			got := find(closed(t, record, &out), "request", "call")[0].Body
			switch {
			case got == nil:
				t.Error("the body is not in the capture")
			case tt.late:
				if got.Bytes != 0 || !got.Cut {
					t.Errorf("%+v", got)
				}
			case got.Bytes != 7 || got.Cut || string(got.JSON) != tt.want:
				t.Errorf("%+v, JSON %s", got, got.JSON)
			}
		})
	}
}

// The memory of a message is free again when it is written.
func TestMemoryIsFreeAgain(t *testing.T) {
	var out lines
	written := make(chan struct{}, 1000)
	record := capture.New(failing(func(p []byte) (int, error) {
		defer func() { written <- struct{}{} }()
		return out.Write(p)
	}), nil)
	record.SetBounds(4<<10, 16<<10, 1000, 1e6)
	large := strings.Repeat("x", 2<<10)
	handler := record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	for i := range 30 {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(large))
		r.Header.Set("X-Large", large)
		handler.ServeHTTP(httptest.NewRecorder(), r)
		for range 2 {
			<-written
		}
		if i == 0 { // the line of the kind start
			<-written
		}
	}
	for _, r := range closed(t, record, &out) {
		if b := r.Body; b != nil && (b.Cut || b.Bytes != 2<<10) {
			t.Fatalf("%s of exchange %d: %+v", r.Kind, r.Exchange, b)
		}
	}
}

// Why there is no response, or not the whole one, is told in fixed words.
func TestErrorsAreInFixedWords(t *testing.T) {
	secret := errors.New("key-1234567890")
	for _, tt := range []struct {
		err, inBody error
		want        string
	}{
		{err: fmt.Errorf("%w: %w", secret, context.Canceled), want: "the caller canceled the request"},
		{err: fmt.Errorf("%w: %w", secret, context.DeadlineExceeded), want: "the caller's time limit ended"},
		{err: errors.New("key-1234567890: http: server closed idle connection"), want: "the server closed the idle connection"},
		{err: secret, want: "the connection broke, or the response was not valid HTTP"},
		{inBody: secret, want: "the connection broke, or the response was not valid HTTP"},
		{inBody: io.ErrUnexpectedEOF, want: "the connection was closed"},
		{inBody: io.EOF},
	} {
		var out lines
		record := capture.New(&out, withContent)
		r, _ := http.NewRequest(http.MethodPost, "https://api.example.com/runs/1/tools/get_order", nil)
		resp, err := record.Transport(transport(func(*http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader("x"), iotest.ErrReader(tt.inBody))
			return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(body)}, tt.err
		})).RoundTrip(r)
		if err != tt.err { // the same error, not another that wraps it
			t.Errorf("%v, want %v", err, tt.err)
		}
		if err == nil {
			if _, err := io.Copy(io.Discard, resp.Body); tt.inBody != io.EOF && err != tt.inBody {
				t.Errorf("%v, want %v", err, tt.inBody)
			}
		}
		records := closed(t, record, &out)
		var got string
		for _, r := range records {
			got += r.Error
		}
		if got != tt.want || strings.Contains(out.String(), "key-1234567890") {
			t.Errorf("%q, want %q:\n%s", got, tt.want, out.String())
		}
	}
}

// A full capture has its end, which says how much is not in it.
func TestTheEndOfAFullCapture(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	record.SetBounds(1000, 1e6, 1000, 2000)
	for range 20 {
		send(t, record.Transport(answering("{}")), "{}")
	}
	if err := record.Close(t.Context()); err == nil {
		t.Error("Close does not report it")
	}
	records, err := capture.Read(strings.NewReader(out.String()))
	if last := records[len(records)-1]; err != nil || last.Kind != "end" || last.Lost < 20 {
		t.Errorf("%v, it ends with %+v", err, last)
	}
}

// Over HTTP/2 a message is recorded as over HTTP/1.1. Trailers are not recorded.
func TestHTTP2(t *testing.T) {
	var out lines
	record := capture.New(&out, withContent)
	server := httptest.NewUnstartedServer(record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-End")
		_, _ = io.WriteString(w, "{}")
		w.Header().Set("X-End", "trailer-value-1")
	})))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := http.Client{Transport: record.Transport(server.Client().Transport)}
	r, _ := http.NewRequest(http.MethodPost, server.URL+"/runs/1/tools/get_order", strings.NewReader("{}"))
	setHeader(r.Header, []string{"Content-Type", "application/json", "Authorization", "Bearer tok-1234567890"})
	r.Trailer = http.Header{"X-Request-End": {"trailer-value-2"}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if got := resp.Trailer.Get("X-End"); got != "trailer-value-1" {
		t.Errorf("the trailer is %q", got)
	}
	server.Close() // the handler has returned
	records := closed(t, record, &out)
	sent, got := find(records, "request", "call"), find(records, "request", "dispatch")
	if len(sent) != 1 || len(got) != 1 || sent[0].TLS != "TLS 1.3" || got[0].TLS != "TLS 1.3" || got[0].Protocol != "HTTP/2.0" ||
		find(records, "response", "call")[0].Protocol != "HTTP/2.0" || string(got[0].Body.JSON) != "{}" {
		t.Errorf("%+v\n%+v", sent, got)
	}
	for _, canary := range []string{"trailer-value", "tok-12", "127.0.0.1"} {
		if strings.Contains(out.String(), canary) {
			t.Errorf("the capture has %s:\n%s", canary, out.String())
		}
	}
}
