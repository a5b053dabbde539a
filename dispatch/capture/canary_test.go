package capture_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/capture"
)

const (
	secretCanary  = "tok-Secret1234567890"
	contentCanary = "Content Canary ü"
)

// message is an exchange in which $S stands for a secret and $C for content.
type message struct {
	method, path, name, value, media, body string
	status                                 int
	answerName, answerValue, answer        string
}

// fill puts the canaries into a text.
func fill(text string) string {
	return strings.NewReplacer("$S", secretCanary, "$C", contentCanary).Replace(text)
}

// both records the exchange on both sides of the wire and returns the capture.
func (m message) both(t testing.TB, opts *capture.Options) (text string, records []capture.Record) {
	var out lines
	record := capture.New(&out, opts)
	header := func(name, value string) http.Header {
		h := http.Header{"Content-Type": {fill(m.media)}}
		if name = fill(name); name != "" {
			h[http.CanonicalHeaderKey(name)] = []string{fill(value)}
		}
		return h
	}
	respond := func(h http.Header) {
		for name, values := range header(m.answerName, m.answerValue) {
			h[name] = values
		}
	}
	status := 200 + (m.status%400+400)%400
	request := func(base string) *http.Request {
		r, err := http.NewRequest(http.MethodPost, base, io.NopCloser(strings.NewReader(fill(m.body))))
		if err != nil {
			t.Fatal(err)
		}
		r.Method, r.Header = fill(m.method), header(m.name, m.value)
		r.URL.Path += fill(m.path)
		r.Header["X-Pipelines-Run-Token"] = []string{secretCanary}
		return r
	}
	record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		respond(w.Header())
		w.WriteHeader(status)
		_, _ = io.WriteString(w, fill(m.answer))
	})).ServeHTTP(httptest.NewRecorder(), request("https://agent.example.com/"))

	resp, err := record.Transport(transport(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		resp := &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: -1,
			Body: io.NopCloser(strings.NewReader(fill(m.answer)))}
		respond(resp.Header)
		return resp, nil
	})).RoundTrip(request("https://api.example.com/runs/abc"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()

	if err := record.Close(context.Background()); err != nil {
		t.Fatalf("%v\n%+v", err, m)
	}
	records, err = capture.Read(strings.NewReader(out.String()))
	if err != nil || len(records) != 6 {
		t.Fatalf("%d records, %v:\n%s", len(records), err, out.String())
	}
	for _, r := range records {
		if r.Kind == "broken" {
			t.Errorf("line %d: %s:\n%s", r.Line, r.Problem, out.String())
		}
	}
	return out.String(), records
}

// check fails if a canary is in the capture.
func (m message) check(t testing.TB) {
	text, _ := m.both(t, nil)
	for _, canary := range []string{secretCanary, "Canary"} {
		if at := strings.Index(strings.ToLower(text), strings.ToLower(canary)); at >= 0 {
			t.Errorf("the capture has %s: …%s", canary, text[max(0, at-100):min(len(text), at+100)])
		}
	}
	text, _ = m.both(t, &capture.Options{Content: true})
	if at := strings.Index(text, secretCanary); at >= 0 {
		t.Errorf("the capture with content has a secret: …%s", text[max(0, at-100):min(len(text), at+100)])
	}
}

var hostile = map[string]message{
	"a dispatch": {method: "POST", path: "dispatch", media: "application/json",
		body: `{"task_id":"$C","run_id":"$S","$C":1,"$S":"$S","run_token":"$S","odyssey_proxy_url":"https://$S:$S@x/$C?$S","new":"$C",
			"input":{"user_instruction":"$C $S","input":{"$C":"$C"},"$C":"$C","messages":[{"role":"$C","content":"$S"},{"role":"$S"}]}}`,
		answer: `{"final_response":"$C","error":"$C","messages":[{"role":"$C","tool_calls":[{"id":"$C","name":"$S"},{"name":"$C"}]}]}`},
	"a call": {method: "POST", path: "/tools/$C", media: "application/json", body: `{"$C":"$S"}`,
		answer: `{"tool_name":"$C","source":"$C","response":"$S","latency_ms":"$C","matched_rule_index":"$S","$S":"$C"}`},
	"a name of a tool": {method: "POST", path: "/tools/$S", media: "application/json", body: `"$C"`, answer: `[["$S $C"]]`},
	"a trace event": {method: "POST", path: "/traces/$S", media: "application/json",
		body: `{"__occurred_at":"$S","from_sub_agent":"$C$S","$C":1}`, answer: `{"accepted":"$C","event_type":"$S"}`},
	"telemetry": {method: "POST", path: "/telemetry", media: "application/json", body: `{"kind":"$S","payload":{"a":"$C"},"actor_id":"$C"}`},
	"an error":  {method: "POST", path: "/tools/x", media: "application/json", status: 222, answer: `{"detail":{"error_class":"$C","message":"$C $S"},"error":"$S"}`},
	"an error with a list": {method: "POST", path: "/tools/x", media: "application/json", status: 222,
		answer: `{"detail":[{"loc":["body","$C","$S"],"msg":"$C","type":"$S"}]}`},
	"a header":          {method: "POST", path: "x", name: "X-$S", value: "$C; $S", answerName: "$S", answerValue: "x"},
	"a known header":    {method: "POST", path: "x", name: "User-Agent", value: "$S/1 $C", answerName: "Server", answerValue: "$C $S"},
	"another scheme":    {method: "POST", path: "x", name: "Authorization", value: "Digest $C, $S", answerName: "Www-Authenticate", answerValue: "$S"},
	"a cookie":          {method: "POST", path: "x", name: "Cookie", value: "a=$S; b=$C", answerName: "Set-Cookie", answerValue: "x=$S"},
	"an actor":          {method: "POST", path: "/tools/x", name: "X-Pipelines-Actor-Id", value: "$C/$S", media: "application/json"},
	"a method":          {method: "$S", path: "x"},
	"a method, content": {method: "$C", path: "$C/tools/$C"},
	"text":              {method: "POST", path: "x", media: "text/plain", body: "$C and $S", answer: "$S $C"},
	"half of JSON":      {method: "POST", path: "x", media: "application/json", body: `{"api_key": "$S", "x": $C`, answer: `[1,2 $S`},
	"bytes":             {method: "POST", path: "x", media: "application/octet-stream", body: "\xff\x00$S$C", answer: "\xff$S"},
	"a media type":      {method: "POST", path: "x", media: "multipart/form-data; boundary=$S", body: "--$S\r\n\r\n$C\r\n--$S--"},
	"a form": {method: "POST", path: "tools/upload", media: "multipart/form-data; boundary=b",
		body: "--b\r\nContent-Disposition: form-data; name=\"$C\"; filename=\"$C\"\r\n\r\n$C$S\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"$S\"\r\n\r\n$C$S\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"tool_type\"\r\n\r\n$S\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"name\"\r\n\r\n$C\r\n--b--\r\n"},
	"an escaped secret": {method: "POST", path: "/tools/x", media: "application/json",
		body:   `{"a":"\u0074ok-Secret1234567890"}`,
		answer: `{"source":"\u0074ok-Secret1234567890","tool_name":"tok%2DSecret1234567890","note":"\\u0074ok-Secret1234567890"}`},
	"a record": {method: "GET", path: "/tools/$S/source", media: "application/json",
		answer: `[{"id":"$C","name":"$S","tool_type":"$C","script_content":"$C","deleted_at":"$C","api_key":"$S"}]`},
	"names of secrets": {method: "PUT", path: "/agents/7", media: "application/json",
		body: `{"auth_header_value":"$S","secrets":["$S"],"x":{"password":{"a":"$S $C"}}}`},
	"nested": {method: "POST", path: "x", media: "application/json",
		body: strings.Repeat(`{"input":[`, 90) + `"$C$S"` + strings.Repeat(`]}`, 90)},
}

// Wherever a secret or content stands, it is not in the capture.
func TestNoCanaryIsInACapture(t *testing.T) {
	for name, m := range hostile {
		t.Run(name, func(t *testing.T) { m.check(t) })
	}
}

// FuzzCanaries: whatever comes, neither secrets nor content are in the capture.
func FuzzCanaries(f *testing.F) {
	for _, m := range hostile {
		f.Add(m.method, m.path, m.name, m.value, m.media, m.body, m.status, m.answerName, m.answerValue, m.answer)
	}
	f.Fuzz(func(t *testing.T, method, path, name, value, media, body string, status int, answerName, answerValue, answer string) {
		message{method, path, name, value, media, body, status, answerName, answerValue, answer}.check(t)
	})
}
