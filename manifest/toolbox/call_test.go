package toolbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

func TestInternalTools(t *testing.T) {
	opts := options(nil)
	opts.Handlers["fail"] = func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
		return "half", toolbox.Errorf("no such order; ask for the number")
	}
	opts.Handlers["panic"] = func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
		panic("hunter2")
	}
	opts.Handlers["small"] = toolbox.Typed(func(_ context.Context, args struct {
		N int8 `json:"n"`
	}, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
		return fmt.Sprint(args.N), nil
	})
	box := parse(t, strings.Replace(document, `"tools": [
		{"name": "check`, `"tools": [{"name":"fail","handler":"fail"},{"name":"panic","handler":"panic"},{"name":"small","handler":"small"},
		{"name":"own","handler":"ping","parameters":{"type":"object","properties":{"reasoning":{"type":"string"}},"required":["reasoning"]}},
		{"name": "check`, 1), opts)
	for _, tt := range []struct {
		name, tool string
		args       any
		text       string // all, or a part after "~"
		code       toolwire.Code
	}{
		{"struct", "create_contact", contact{Name: "Ada"}, "Created contact: Ada (by create_contact for " + agentUUID + ")",
			""},
		{"map", "create_contact", map[string]any{"name": "Ada"}, "~Created contact: Ada", ""},
		{"raw with reasoning", "create_contact", json.RawMessage(`{"reasoning":"asked","name":"Ada"}`),
			"~Created contact: Ada", ""},
		{"reasoning of another type", "create_contact", []byte(`{"reasoning":{"a":1},"name":"Ada"}`),
			"~Created contact: Ada", ""},
		{"nothing", "ping", nil, "pong <{}>", ""},
		{"blank", "ping", json.RawMessage(" "), "pong <{}>", ""},
		{"digits and order kept", "ping", json.RawMessage(`{"z":12345678901234567890.10,"reasoning":"x","a":1e2}`),
			`pong <{"z":12345678901234567890.10,"a":1e2}>`, ""},
		{"own reasoning", "own", json.RawMessage(`{"reasoning":"mine"}`), `pong <{"reasoning":"mine"}>`, ""},
		{"own reasoning missing", "own", json.RawMessage(`{}`), `~property \"reasoning\"; correct them`,
			toolwire.CodeInvalidArguments},
		{"mismatch", "create_contact", json.RawMessage(`{"name":31337,"age":1}`),
			"~arguments: /age is not allowed here; /name must be a string", toolwire.CodeInvalidArguments},
		{"missing", "create_contact", nil,
			`~arguments: is missing the required property \"name\"; correct them and call the tool again`,
			toolwire.CodeInvalidArguments},
		{"not an object", "ping", json.RawMessage(`[1]`), "~must be an object, not an array", toolwire.CodeInvalidArguments},
		{"not JSON", "ping", json.RawMessage(`{`), "~not a JSON object", toolwire.CodeInvalidArguments},
		{"duplicate", "ping", json.RawMessage(`{"a":1,"a":2}`), "~twice", toolwire.CodeInvalidArguments},
		{"a Go string", "ping", "31337", "~a Go string is not", toolwire.CodeInvalidArguments},
		{"Go type refuses", "small", json.RawMessage(`{"n":31337}`),
			`{"error":"invalid_arguments","detail":"/n must be a whole number between -128 and 127; correct them and call the tool again"}`, toolwire.CodeInvalidArguments},
		{"failure", "fail", nil, `{"error":"tool_failed","detail":"no such order; ask for the number"}`, toolwire.CodeToolFailed},
		{"failure of a typed one", "create_contact", contact{Name: "nobody"},
			`{"error":"tool_failed","detail":"nobody is not a name; ask the user"}`, toolwire.CodeToolFailed},
		{"panic", "panic", nil, `{"error":"tool_panicked","detail":"the tool is broken; do not call it again"}`,
			"tool_panicked"},
		{"unknown", "Ping", nil,
			`~{"error":"unknown_tool","detail":"there is no tool \"Ping\"; names are case-sensitive","tools":["create_contact","fail"`, toolwire.CodeUnknownTool},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := box.Call(t.Context(), tt.tool, tt.args)
			text := shown(result, err)
			part, isPart := strings.CutPrefix(tt.text, "~")
			if isPart && !strings.Contains(text, part) || !isPart && text != tt.text {
				t.Errorf("got  %s\nwant %s", text, tt.text)
			}
			if toolwire.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") || err != nil && result != nil {
				t.Errorf("%s %v", result, err)
			}
			if err != nil && (!strings.Contains(err.Error(), `tool "`+tt.tool+`"`) ||
				strings.Contains(err.Error()+text, "hunter2") || strings.Contains(err.Error()+text, "31337")) {
				t.Errorf("the error must name the tool and no value: %v", err)
			}
		})
	}
}

const external = `[{"name":"check","description":"<Check>","url":"https://api.example.com/check","parameters":{"type":"object","properties":{"day":{"enum":["monday"]}},"additionalProperties":false}}]`

func TestExternalTools(t *testing.T) {
	var got string
	opts := options(func(r *http.Request) (int, string) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("X-Agent-Secret") +
			" " + r.Header.Get("X-Agent-Identity") + "\n" + string(body)
		return 200, ` {"free": ["2pm"]} ` + "\n"
	})
	opts.Agent.Context = json.RawMessage(`{"template": "front desk"}`)
	box := parse(t, external, opts)
	result, err := box.Call(t.Context(), "check", json.RawMessage(`{"reasoning":"asked", "day":"monday"}`))
	if err != nil || string(result) != `{"free": ["2pm"]}` {
		t.Errorf("%s %v", result, err)
	}
	want := "POST https://api.example.com/check application/json " + toolSecret + " " + agentUUID + "\n" +
		`{"tool":{"name":"check","description":"<Check>","parameters":{"type":"object","properties":{` +
		`"reasoning":{"type":"string","description":"The reasoning for the tool call."},"day":{"enum":["monday"]}},` +
		`"additionalProperties":false,"required":["reasoning"]}},` +
		`"agent":{"id":"` + agentUUID +
		`","context":{"template": "front desk"}},"arguments":{"reasoning":"asked", "day":"monday"}}`
	if got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	got = ""
	if _, err := box.Call(t.Context(), "check",
		json.RawMessage(`{"day":"sunday"}`)); toolwire.CodeOf(err) != toolwire.CodeInvalidArguments || got != "" {
		t.Errorf("invalid arguments: %v, sent %s", err, got)
	}
	other, err := box.For(toolbox.Agent{ID: strings.ToUpper(agentUUID)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = other.Call(t.Context(), "check", nil); err != nil ||
		!strings.Contains(got, `"agent":{"id":"`+strings.ToUpper(agentUUID)+`"},"arguments":{}}`) {
		t.Errorf("for another agent: %v, sent %s", err, got)
	}
	without, err := box.For(toolbox.Agent{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Call(t.Context(), "check", nil); toolwire.CodeOf(err) != "no_agent" {
		t.Errorf("without an agent: %v", err)
	}
	for _, agent := range []toolbox.Agent{{ID: "agent-7"}, {Context: json.RawMessage(`[]`)},
		{Context: json.RawMessage(`{"a":1,"a":2}`)}} {
		if _, err := box.For(agent); toolwire.CodeOf(err) != "no_agent" {
			t.Errorf("%+v: %v", agent, err)
		}
	}
}

func TestAnswersOfExternalTools(t *testing.T) {
	big := `"` + strings.Repeat("x", 1<<20) + `"`
	for _, tt := range []struct {
		name   string
		status int
		body   string
		code   toolwire.Code
		text   string // all, or a part after "~"
	}{
		{"object", 200, `{ "a": 1.00 }`, "", `{ "a": 1.00 }`},
		{"string", 200, `"as \"is\""`, "", `as "is"`},
		{"number", 200, `7`, "", `7`},
		{"null", 200, `null`, "", `null`},
		{"201", 201, `[1]`, "", `[1]`},
		{"a failure as data", 200, `{"error":"tool_failed"}`, toolwire.CodeToolFailed, `{"error":"tool_failed"}`},
		{"empty", 200, ``, "", `null`},
		{"blank", 200, " \n", "", `null`},
		{"204", 204, ``, "", `null`},
		{"empty 202", 202, ``, "", `null`},
		{"202", 202, `{"queued":true}`, "", `{"queued":true}`},
		{"text", 200, "ok \xff\n", "", "ok \ufffd"},
		{"a page", 200, `<html>hunter2`, toolwire.CodeBadResponse, `~not JSON`},
		{"broken off", 200, `{"a":"hunter2`, toolwire.CodeBadResponse, `~"detail":"the tool ran, but its answer is not JSON`},
		{"two values", 200, `{} {}`, toolwire.CodeBadResponse, `~not JSON`},
		{"too large", 200, big, toolwire.CodeResponseTooLarge, `~more than 1048576 bytes`},
		{"404 with JSON", 404, `{ "error": "unknown_tool" }`, "not_found",
			`{"error":"not_found","detail":"the tool's server answered with HTTP status 404: {\"error\":\"unknown_tool\"}"}`},
		{"500 with text", 500, `hunter2`, "server_error",
			`{"error":"server_error","detail":"the tool's server answered with HTTP status 500"}`},
		{"500, large", 500, big, "server_error",
			`{"error":"server_error","detail":"the tool's server answered with HTTP status 500"}`},
		{"401", 401, ``, "unauthorized", `~does not accept the secret`},
		{"no connection", 0, `hunter2 reset`, toolwire.CodeTransport, `~may or may not have run`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			box := parse(t, external, options(func(*http.Request) (int, string) { calls++; return tt.status, tt.body }))
			result, err := box.Call(t.Context(), "check", nil)
			text := shown(result, err)
			part, isPart := strings.CutPrefix(tt.text, "~")
			if toolwire.CodeOf(err) != tt.code || isPart && !strings.Contains(text, part) || !isPart && text != tt.text {
				t.Errorf("%v\ngot  %.200s\nwant %s", err, text, tt.text)
			}
			if e, ok := errors.AsType[*toolbox.Error](err); ok && (e.Status != tt.status || e.Tool != "check") {
				t.Errorf("status %d, tool %q", e.Status, e.Tool)
			}
			if s := fmt.Sprint(err); strings.Contains(text, "hunter2") || strings.Contains(s+text, toolSecret) ||
				strings.Contains(s+text, "example.com") {
				t.Errorf("the error tells too much: %s / %s", s, text)
			}
			if calls != 1 {
				t.Errorf("%d requests", calls)
			}
		})
	}
}

// The type of a response that is not JSON decides whether it is a result.
func TestTypesOfAnswers(t *testing.T) {
	for contentType, want := range map[string]string{
		"text/plain; charset=utf-8": `"{ok"`, "TEXT/PLAIN": `"{ok"`,
		"application/json": "", "text/html": "", "application/problem+json": "", "a/b/c": "",
	} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, "{ok")
		}))
		box := parse(t, `[{"name":"check","url":"`+site.URL+`"}]`, options(nil))
		result, err := box.Call(t.Context(), "check", nil)
		if string(result) != want || want == "" && toolwire.CodeOf(err) != toolwire.CodeBadResponse {
			t.Errorf("%s: %s, %v", contentType, result, err)
		}
		site.Close()
	}
}

func TestRedirects(t *testing.T) {
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, "elsewhere with "+r.Header.Get("X-Agent-Secret"))
		fmt.Fprint(w, `"elsewhere"`)
	}))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	redirect := func(path, to string, status int) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) })
	}
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" with "+r.Header.Get("X-Agent-Secret"))
		fmt.Fprintf(w, `%q`, fmt.Sprint(strings.Contains(string(body), `"arguments":{"day":"monday"}`)))
	})
	redirect("/307", "/end", 307)
	redirect("/308", server.URL+"/307", 308)
	redirect("/302", "/end", 302)
	redirect("/elsewhere", elsewhere.URL, 307)
	redirect("/endless", "/endless", 307)
	for path, want := range map[string]string{"/307": "true", "/308": "true", "/302": "redirect",
		"/elsewhere": "redirect", "/endless": "redirect"} {
		seen = nil
		box := parse(t, strings.Replace(external, "https://api.example.com/check", server.URL+path, 1), options(nil))
		result, err := box.Call(t.Context(), "check", map[string]string{"day": "monday"})
		if text := shown(result, err); !strings.Contains(text, want) {
			t.Errorf("%s: %s", path, text)
		}
		if err != nil && (len(seen) > 0 || toolwire.CodeOf(err) != "unexpected_status") || err == nil &&
			fmt.Sprint(seen) != "[POST with "+toolSecret+"]" {
			t.Errorf("%s: %v %v", path, err, seen)
		}
	}
}

// downgrade redirects every request for https to the same host and path without TLS.
type downgrade struct{ seen []string }

func (d *downgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	d.seen = append(d.seen, r.URL.Scheme+" with "+r.Header.Get("X-Agent-Secret"))
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`"done"`))}
	if r.URL.Scheme == "https" {
		resp.StatusCode = 307
		resp.Header.Set("Location", "http://"+r.URL.Host+r.URL.Path)
	}
	return resp, nil
}

func TestTheSecretStaysBehindTLS(t *testing.T) {
	opts, transport := options(nil), &downgrade{}
	opts.Transport = transport
	_, err := parse(t, external, opts).Call(t.Context(), "check", nil)
	if toolwire.CodeOf(err) != "unexpected_status" || fmt.Sprint(transport.seen) != "[https with "+toolSecret+"]" {
		t.Errorf("%v %v", err, transport.seen)
	}
}

func TestCallsThatAreNotSent(t *testing.T) {
	sent := 0
	opts := options(func(*http.Request) (int, string) { sent++; return 200, `1` })
	box := parse(t, strings.Replace(external, "<Check>", strings.Repeat("x", 1<<20), 1), opts)
	if _, err := box.Call(t.Context(), "check", nil); toolwire.CodeOf(err) != "request_too_large" {
		t.Errorf("too large: %v", err)
	}
	if sent > 0 {
		t.Errorf("%d requests", sent)
	}
	box = parse(t, strings.Replace(external, "https://api.example.com", "http://127.0.0.1:1", 1), options(nil))
	if _, err := box.Call(t.Context(), "check", nil); toolwire.CodeOf(err) != toolwire.CodeTransport ||
		!strings.Contains(err.Error(), "did not run") {
		t.Errorf("connection refused: %v", err)
	}
}

func TestAnswersThatBreakOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"detail":`)
	}))
	defer server.Close()
	opts := options(nil)
	failures := make(chan error, 1)
	opts.InsecurePrivateDetails = true
	onDetailError(opts, func(err error) { failures <- err })
	box := parse(t, `[{"name":"check","description":"Check.","url":"`+server.URL+`","detail_url":"`+server.URL+
		`/detail"}]`, opts)
	_, err := box.Call(t.Context(), "check", nil)
	if toolwire.CodeOf(err) != toolwire.CodeTransport || !errors.Is(err, io.ErrUnexpectedEOF) ||
		!strings.Contains(err.Error(), "may or may not have run") {
		t.Errorf("the call: %v", err)
	}
	defs, err := box.Definitions(t.Context())
	failure := <-failures
	if err != nil || defs[0].Description != "Check." || toolwire.CodeOf(failure) != toolwire.CodeTransport {
		t.Errorf("the detail: %+v %v; %v", defs, err, failure)
	}
}

// No error contains what the peer sent, or what Go says about it.
func TestErrorsDoNotQuoteThePeer(t *testing.T) {
	for name, answer := range map[string]string{
		"location":          "HTTP/1.1 307 x\r\nLocation: https://u:hunter2@h/%zz\r\nContent-Length: 0\r\n\r\n",
		"no HTTP":           "hunter2\r\n\r\n",
		"status":            "HTTP/1.1 hunter2 OK\r\n\r\n",
		"header":            "HTTP/1.1 200 OK\r\nhunter2 token\r\n\r\n",
		"transfer encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: hunter2\r\n\r\n",
		"content length":    "HTTP/1.1 200 OK\r\nContent-Length: hunter2\r\n\r\n",
		"member, not JSON":  "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + `{"hunter2":01}`,
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = http.ReadRequest(bufio.NewReader(conn))
					_, _ = io.WriteString(conn, answer)
					_ = conn.Close()
				}
			}()
			var log bytes.Buffer
			opts := options(nil)
			failures := make(chan error, 1)
			opts.InsecurePrivateDetails = true
			opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			onDetailError(opts, func(err error) { failures <- err })
			url := "http://" + listener.Addr().String()
			box := parse(t, `[{"name":"check","url":"`+url+`","detail_url":"`+url+`/detail"}]`, opts)
			_, callErr := box.Call(t.Context(), "check", nil)
			must(box.Definitions(t.Context()))
			for _, err := range []error{callErr, <-failures} {
				text := fmt.Sprint(err) + shown(nil, err)
				if code := toolwire.CodeOf(err); code != toolwire.CodeTransport && code != toolwire.CodeBadResponse ||
					strings.Contains(text, "hunter2") || strings.Contains(text, listener.Addr().String()) {
					t.Errorf("the error tells too much: %v", err)
				}
				if errors.Unwrap(errors.Unwrap(err)) == nil {
					t.Errorf("the cause is lost: %v", err)
				}
			}
			if strings.Contains(log.String(), "hunter2") {
				t.Errorf("the log tells too much: %s", log.String())
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	cause := errors.New("the user left")
	for _, tool := range []string{"internal", "external"} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := options(func(r *http.Request) (int, string) { <-r.Context().Done(); return 0, "gone" })
				opts.Handlers["wait"] = func(ctx context.Context, _ json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
					<-ctx.Done()
					return "", fmt.Errorf("waiting: %w", ctx.Err())
				}
				box := parse(t, `[{"name":"internal","handler":"wait"},{"name":"external","url":"https://api.example.com"}]`, opts)
				start := time.Now()
				_, err := box.Call(t.Context(), tool, nil)
				if took := time.Since(start); toolwire.CodeOf(err) != toolwire.CodeTimeout || took != time.Minute ||
					!strings.Contains(err.Error(), "within 1m0s") {
					t.Errorf("after %s: %v", took, err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(cause) })
				_, err = box.Call(ctx, tool, nil)
				if toolwire.CodeOf(err) != toolwire.CodeCanceled || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
					t.Errorf("canceled: %v", err)
				}
				if _, err = box.Call(ctx, tool, nil); toolwire.CodeOf(err) != toolwire.CodeCanceled {
					t.Errorf("canceled before: %v", err)
				}
				short, cancelShort := context.WithTimeout(t.Context(), time.Second)
				defer cancelShort()
				if _, err = box.Call(short, tool, nil); toolwire.CodeOf(err) != toolwire.CodeDeadline ||
					!errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the caller's deadline: %v", err)
				}
			})
		})
	}
}

// At most MaxParallel tools run at the same time, for all agents of a toolbox and for both kinds of
// tools, and those that were given up are among them.
func TestFurtherCallsWaitForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := options(func(*http.Request) (int, string) { time.Sleep(50 * time.Second); return 200, `1` })
		opts.MaxParallel = 2
		opts.Handlers["wait"] = func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
			time.Sleep(100 * time.Second)
			return "", nil
		}
		box := parse(t, `[{"name":"internal","handler":"wait"},{"name":"external","url":"https://api.example.com"},{"name":"ping","handler":"ping"}]`, opts)
		other, err := box.For(toolbox.Agent{ID: agentUUID})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = box.Call(t.Context(), "internal", nil) }()
		go func() { _, _ = other.Call(t.Context(), "external", nil) }()
		synctest.Wait()
		start := time.Now()
		if _, err := box.Call(t.Context(), "ping", nil); err != nil || time.Since(start) != 50*time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		go func() { _, _ = other.Call(t.Context(), "internal", nil) }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err = box.Call(short, "ping", nil); toolwire.CodeOf(err) != toolwire.CodeDeadline {
			t.Errorf("the caller's deadline: %v", err)
		}
		time.Sleep(48 * time.Second) // the first handler still runs, beyond its time limit
		start = time.Now()
		if _, err := box.Call(t.Context(), "ping", nil); err != nil || time.Since(start) != time.Second {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		time.Sleep(time.Hour)
	})
	synctest.Test(t, func(t *testing.T) {
		opts := options(nil)
		opts.MaxParallel, opts.Timeout = 1, time.Second
		opts.Handlers["wait"] = func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
			time.Sleep(time.Hour)
			return "", nil
		}
		box := parse(t, `[{"name":"internal","handler":"wait"},{"name":"ping","handler":"ping"}]`, opts)
		go func() { _, _ = box.Call(t.Context(), "internal", nil) }()
		synctest.Wait()
		const busy = `{"error":"busy","detail":"the tool did not run, because too many calls are in progress; call it again later"}`
		start := time.Now()
		if got, err := box.CallForModel(t.Context(), "ping", nil); err != nil || !got.Failed || got.Text != busy || time.Since(start) != time.Second {
			t.Errorf("no place: %+v, %v after %s", got, err, time.Since(start))
		}
		if _, err := box.Call(t.Context(), "ping", nil); toolwire.CodeOf(err) != toolwire.CodeBusy {
			t.Errorf("no place: %v", err)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestOnCallReceivesEveryCall(t *testing.T) {
	var ends []toolbox.CallEnd
	opts := options(func(*http.Request) (int, string) { return 500, `` })
	opts.OnCall = func(_ context.Context, end toolbox.CallEnd) { ends = append(ends, end) }
	box := parse(t, document, opts)
	_, _ = box.Call(t.Context(), "create_contact", json.RawMessage(`{"name":"Ada","reasoning":"asked"}`))
	_, _ = box.Call(t.Context(), "check_schedule", json.RawMessage(`{"reasoning":["a"]}`))
	_, _ = box.Call(t.Context(), "create_contact", json.RawMessage(`{"reasoning":"wrongly"}`))
	_, _ = box.Call(t.Context(), "unknown", nil)
	var got []string
	for _, r := range ends {
		got = append(got, fmt.Sprintf("%s %s %t %q %s", r.Adapter, r.Tool, r.External, r.Reasoning, toolwire.CodeOf(r.Err)))
	}
	want := `contacts create_contact false "asked" | calendar check_schedule true "[\"a\"]" server_error | contacts create_contact false "wrongly" invalid_arguments`
	if strings.Join(got, " | ") != strings.Replace(want, `" |`, `"  |`, 1) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " | "), want)
	}
}
