package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/manifest/catalog"
)

func TestLimits(t *testing.T) {
	const file, field, body, room = 600, 64 << 10, 600, 600
	s := newServer(t, nil, catalog.HandlerOptions{Plugin: catalog.PluginOptions{MaxBytes: file}})
	catalog.SetLimits(s.handler, body, room)
	large := newServer(t, nil, catalog.HandlerOptions{}) // with the real limits
	pad := func(n int) string { return source + strings.Repeat("#", n-len(source)) }
	parts := func(n int) []part { return slices.Repeat([]part{{"a", "", ""}}, n) }
	for _, test := range []struct {
		name    string
		answer  reply
		status  int
		message string
	}{
		{"the largest file", s.upload("POST", "/tools/upload", part{"file", "a.py", pad(file)}), 200, ""},
		{"a larger file", s.upload("POST", "/tools/upload", part{"file", "a.py", pad(file + 1)}), 413,
			"The file is too large"},
		{"a large form", s.upload("POST", "/tools/upload", part{"file", "a.py", pad(file)}, part{"else", "", "x"},
			part{"file2", "b", strings.Repeat("x", room)}), 413, "The body is too large"},
		{"the largest field", large.upload("POST", "/tools/upload", part{"description", "", strings.Repeat("x", field)}),
			422, ""},
		{"a large field", large.upload("POST", "/tools/upload", part{"name", "", strings.Repeat("x", field+1)}), 413,
			"A field of the form is too large"},
		{"a large unknown field", large.upload("POST", "/tools/upload", part{"x", "", strings.Repeat("x", field+1)}), 413,
			"A field of the form is too large"},
		{"the most parts", large.upload("POST", "/tools/upload", parts(16)...), 422, ""},
		{"more parts", large.upload("POST", "/tools/upload", parts(17)...),
			413, "The form has too many parts"},
		{"a large body", s.do("POST", "/tools/", strings.Repeat(" ", body+1)), 413, "The body is too large"},
	} {
		t.Run(test.name, func(t *testing.T) { test.answer.want(t, test.status, test.message) })
	}

	t.Run("chunked", func(t *testing.T) { // without Content-Length
		const media, head = "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.py\"\r\n\r\n"
		for _, test := range []struct{ path, media, begin, message string }{
			{"/tools/", "application/json", "", "The body is too large"},
			{"/tools/upload", media, head, ""}, // the file or the body, whichever is noticed first
			{"/tools/upload", media, "no part yet", "The body is too large"},
		} {
			body := io.MultiReader(strings.NewReader(test.begin), strings.NewReader(strings.Repeat("x\r\n", 10*body)))
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+test.path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", test.media)
			s.send(r).want(t, 413, test.message)
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
		for path, media := range map[string]string{"/tools/": "application/json",
			"/tools/upload": "multipart/form-data; boundary=x"} {
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
	const whole = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.py\"\r\n\r\n" + source +
		"\r\n--x--\r\n"
	t.Run("slow after the form", func(t *testing.T) {
		s := newServer(t, nil, catalog.HandlerOptions{BodyTimeout: 20 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		rest, hold := io.Pipe()
		defer context.AfterFunc(ctx, func() { _ = hold.Close() })() // the transport waits for it
		r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/tools/upload",
			io.MultiReader(strings.NewReader(whole), rest))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		s.send(r).want(t, 408, "The body took too long to arrive")
		_ = hold.Close()
	})
	t.Run("text after the form", func(t *testing.T) {
		s := newServer(t, nil, catalog.HandlerOptions{Plugin: catalog.PluginOptions{MaxBytes: file}})
		catalog.SetLimits(s.handler, body, 400)
		for after, status := range map[int]int{10: 200, 1000: 413} {
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/tools/upload",
				io.MultiReader(strings.NewReader(whole),
					strings.NewReader(strings.Repeat("x", after))))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			s.send(r).want(t, status, "")
		}
	})
	t.Run("the greatest limits", func(t *testing.T) {
		for _, o := range []catalog.HandlerOptions{{BodyTimeout: math.MaxInt64},
			{Plugin: catalog.PluginOptions{MaxBytes: math.MaxInt}}} {
			s := newServer(t, nil, o)
			s.create(minimal)
			a := s.upload("POST", "/tools/upload", part{"tags", "", "a,b"}, part{"file", "a.py", source})
			if data := a.want(t, 200, ""); !strings.Contains(string(data), `"tags":["a","b"]`) {
				t.Errorf("with %+v the tool is %s", o, data)
			}
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

// TestWithheldBody checks that a body that is not read cannot delay a response.
func TestWithheldBody(t *testing.T) {
	s := newServer(t, nil, catalog.HandlerOptions{})
	id := s.create(minimal)
	for _, test := range []struct {
		method, path, key string
		status            int
		length            int64 // Content-Length; 0 omits it
	}{
		{"POST", "/tools/", "key-x", 401, 0}, {"POST", "/tools/none/such", "key-one", 404, 0},
		{"PATCH", "/tools/", "key-one", 405, 0},
		{"PUT", "/tools", "key-one", 307, 0}, {"GET", "/tools/", "key-one", 200, 0},
		{"DELETE", "/tools/" + id, "key-one", 200, 0},
		{"POST", "/tools/upload", "key-one", 413, 1 << 30},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			t.Parallel() // the transport waits for a body
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			body, hold := io.Pipe()
			defer context.AfterFunc(ctx, func() { _ = hold.Close() })() // the transport waits for it
			r, err := http.NewRequestWithContext(ctx, test.method, s.url+test.path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-API-Key", test.key)
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			r.ContentLength = test.length
			transport := &http.Transport{} // keeps the connection, so that the server has to read the body
			defer transport.CloseIdleConnections()
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = errors.Join(hold.Close(), res.Body.Close())
			if res.StatusCode != test.status || ctx.Err() != nil {
				t.Errorf("the response is %d, want %d", res.StatusCode, test.status)
			}
		})
	}
}

// deadlines records the read deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error { d.set = append(d.set, at); return nil }

// TestBodyTimeoutIsForTheBody checks that BodyTimeout does not bound Register.
func TestBodyTimeoutIsForTheBody(t *testing.T) {
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{InsecureAccount: account,
		Register: func(context.Context, catalog.ListItem) error {
			if len(w.set) != 2 || w.set[0].IsZero() || !w.set[1].IsZero() {
				t.Errorf("the deadlines are %v", w.set)
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/tools/upload", strings.NewReader(
		"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.py\"\r\n\r\n"+source+"\r\n--x--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	if h.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("the response is %d %s", w.Code, w.Body)
	}
}

// piecewise remembers the largest piece of a response.
type piecewise struct {
	http.ResponseWriter
	bytes, largest int
	failAfter      int // bytes, unless 0
}

func (w *piecewise) Write(b []byte) (int, error) {
	w.bytes, w.largest = w.bytes+len(b), max(w.largest, len(b))
	if w.failAfter > 0 && w.bytes > w.failAfter {
		return 0, io.ErrClosedPipe
	}
	return w.ResponseWriter.Write(b)
}

// A list has no limit, so it is made while it is sent. Callers who ask for it at the same time do not multiply it.
func TestAListIsSentInPieces(t *testing.T) {
	const account, tools = "11111111-2222-4333-8444-555555555555", 100
	store := catalog.NewMemoryStore()
	for i := range tools {
		tool := catalog.StoredTool{ListItem: catalog.ListItem{ID: fmt.Sprintf("11111111-2222-4333-8444-%012d", i),
			Tool: catalog.Tool{Name: fmt.Sprintf("t%03d", i), AccountID: account, Description: strings.Repeat("x", 60_000)}}}
		if err := store.Create(t.Context(), tool); err != nil {
			t.Fatal(err)
		}
	}
	h, err := catalog.NewHandler(store, &catalog.HandlerOptions{InsecureAccount: account})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(w *piecewise) { h.ServeHTTP(w, httptest.NewRequest("GET", "/tools/", nil)) }
	recorder := httptest.NewRecorder()
	w := &piecewise{ResponseWriter: recorder}
	ask(w)
	var list struct {
		Success bool
		Data    []catalog.ListItem
		Message string
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &list); err != nil || !list.Success || len(list.Data) != tools ||
		list.Data[tools-1].Name != "t099" || list.Message == "" {
		t.Errorf("%v, %d tools, %q", err, len(list.Data), list.Message)
	}
	if w.largest > 256<<10 || w.bytes < tools*60_000 {
		t.Errorf("the largest of the pieces has %d bytes, all have %d", w.largest, w.bytes)
	}
	gone := &piecewise{ResponseWriter: httptest.NewRecorder(), failAfter: 100_000}
	if ask(gone); gone.bytes > 400_000 {
		t.Errorf("%d bytes were made for a peer that has gone", gone.bytes)
	}
	for n, status := range map[int]int{1 << 16: 200, 1<<16 + 1: 422} {
		s := newServer(t, nil, catalog.HandlerOptions{})
		body := `{"name":"a","framework":"langchain","tool_type":"native","description":"` + strings.Repeat("é", n) + `"}`
		s.do("POST", "/tools/", body).want(t, status, "")
	}
}
