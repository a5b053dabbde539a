package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/schema"
)

const reasoning = `"reasoning":{"type":"string","description":"The reasoning for the tool call."}`

// The cases of the injected parameter. The tests of package reasoning have more.
func TestReasoningIsInjected(t *testing.T) {
	for _, tt := range []struct {
		name, parameters string // "" leaves out the member
		want             string
	}{
		{"absent", ``, `{"type":"object","properties":{` + reasoning + `},"required":["reasoning"]}`},
		{"null", `null`, `{"type":"object","properties":{` + reasoning + `},"required":["reasoning"]}`},
		{"no properties", `{"type":"object"}`, `{"type":"object","properties":{` + reasoning + `},"required":["reasoning"]}`},
		{"required absent", `{"type":"object","properties":{"a":{"type":"integer"}}}`,
			`{"type":"object","properties":{` + reasoning + `,"a":{"type":"integer"}},"required":["reasoning"]}`},
		{"required", `{"type":"object","properties":{"a":{}},"required":["a"]}`,
			`{"type":"object","properties":{` + reasoning + `,"a":{}},"required":["reasoning","a"]}`},
		{"closed", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`,
			`{"type":"object","properties":{` + reasoning + `,"a":{}},"additionalProperties":false,"required":["reasoning"]}`},
		{"own", `{"type":"object","properties":{"reasoning":{"type":"integer"}}}`,
			`{"type":"object","properties":{"reasoning":{"type":"integer"}}}`},
		{"closed branch", `{"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":false}]}`,
			`{"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":false}]}`},
		{"reference", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object"}}}`,
			`{"type":"object","$ref":"#/$defs/A","$defs":{"A":{"type":"object"}},"properties":{` + reasoning + `},"required":["reasoning"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := `[{"name":"x","handler":"ping"}]`
			if tt.parameters != "" {
				doc = `[{"name":"x","handler":"ping","parameters":` + tt.parameters + `}]`
			}
			box := parse(t, doc, options(nil))
			defs, err := box.Definitions(t.Context())
			if err != nil || string(defs[0].InputSchema) != tt.want {
				t.Errorf("got  %s %v\nwant %s", defs[0].InputSchema, err, tt.want)
			}
			if declared := string(box.Tools()[0].Parameters); declared != strings.TrimPrefix(tt.parameters, "null") {
				t.Errorf("the declared schema became %s", declared)
			}
			defs[0].InputSchema[0] = 'x' // the caller may change the list
			if again, _ := box.Definitions(t.Context()); string(again[0].InputSchema) != tt.want {
				t.Error("the list is shared")
			}
			if _, err := schema.Validate(t.Context(), must(box.Definitions(t.Context())), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// The parameter is required of a model only: tools_schema and a proxy that has it do not require it.
func TestReasoningIsNotRequiredOfOthers(t *testing.T) {
	box := parse(t, `[{"name":"x","handler":"ping","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}]`,
		options(nil))
	defs := must(box.Definitions(t.Context()))
	for format, want := range map[schema.Format]string{
		schema.OpenAIChat: `"required":["reasoning","name"]`, schema.Anthropic: `"required":["reasoning","name"]`,
		schema.MCP: `"required":["reasoning","name"]`, schema.Platform: `"required":["name"]`,
	} {
		if list, _, err := schema.Export(defs, format); err != nil || !strings.Contains(string(list), want) || !strings.Contains(string(list), reasoning) {
			t.Errorf("%s: %s, %v; want %s", format, list, err, want)
		}
	}
	set, err := schema.NewSet(t.Context(), defs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, valid := range map[string]bool{`{"name":"Ann"}`: true, `{"name":"Ann","reasoning":"asked"}`: true, `{"reasoning":"asked"}`: false} {
		if err := set.ValidateArguments("x", []byte(arguments)); (err == nil) != valid {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// A default that its own schema rejects is a problem, and is left out if the tool is accepted.
func TestWrongDefaults(t *testing.T) {
	for _, wrong := range []string{
		`"page":{"type":"integer","default":"1"}`, `"sort":{"type":"string","enum":["asc","desc"],"default":""}`,
		`"page":{"type":"integer","minimum":1,"default":0}`, `"tags":{"type":"array","default":"[]"}`,
	} {
		document := `[{"name":"x","handler":"ping","parameters":{"type":"object","properties":{` + wrong + `,"limit":{"type":"integer","default":50}}}}]`
		var got string
		o := options(nil)
		o.Handlers["ping"] = func(_ context.Context, args json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
			got = string(args)
			return "", nil
		}
		if _, err := toolbox.Parse([]byte(document), o); err == nil || !strings.Contains(err.Error(), "/default ") {
			t.Errorf("%s: %v", wrong, err)
		}
		o.AllowUnchecked = true
		if _, err := parse(t, document, o).Call(t.Context(), "x", nil); err != nil || got != `{"limit":50}` {
			t.Errorf("%s: the tool got %s, %v", wrong, got, err)
		}
	}
}

func must(tools []schema.Tool, _ error) []schema.Tool { return tools }

func inBubble(f func(*testing.T)) func(*testing.T) { return func(t *testing.T) { synctest.Test(t, f) } }

const detailed = `[{"name":"a","description":"Do it.","handler":"ping","detail_url":"https://api.example.com/detail"}]`

// The cases of detail_url, documented or decided in the package comment.
func TestDetails(t *testing.T) {
	long := strings.Repeat("x", 60<<10)
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string // the description
		code   toolwire.Code
	}{
		{"detail", 200, `{"detail":"Monday 2pm"}`, "Do it.\n\nMonday 2pm", ""},
		{"more members", 200, `{"more":1,"detail":"Monday 2pm"}`, "Do it.\n\nMonday 2pm", ""},
		{"empty", 200, `{"detail":""}`, "Do it.", ""},
		{"blank", 200, `{"detail":" \n"}`, "Do it.", ""},
		{"line breaks and control characters", 200, `{"detail":"\u0000a\r\nb\rc\td\u001b[1m\u0085 "}`,
			"Do it.\n\na\nb\nc\td[1m", ""},
		{"long", 200, `{"detail":"` + long + `"}`, "Do it.\n\n" + long, ""},
		{"too long", 200, `{"detail":"` + long + long + `"}`, "Do it.", toolwire.CodeResponseTooLarge},
		{"absent", 200, `{}`, "Do it.", toolwire.CodeBadResponse},
		{"null", 200, `{"detail":null}`, "Do it.", toolwire.CodeBadResponse},
		{"number", 200, `{"detail":7}`, "Do it.", toolwire.CodeBadResponse},
		{"the name beside one of another case", 200, `{"Detail":7,"detail":"Slots: 2pm","DETAIL":"x"}`,
			"Do it.\n\nSlots: 2pm", ""},
		{"another case", 200, `{"Detail":"x"}`, "Do it.", toolwire.CodeBadResponse},
		{"duplicate", 200, `{"detail":"x","detail":"y"}`, "Do it.", toolwire.CodeBadResponse},
		{"not an object", 200, `"x"`, "Do it.", toolwire.CodeBadResponse},
		{"invalid JSON", 200, `{"detail":`, "Do it.", toolwire.CodeBadResponse},
		{"204", 204, ``, "Do it.", ""},
		{"201", 201, `{"detail":"x"}`, "Do it.", "unexpected_status"},
		{"404", 404, `{"detail":"hunter2"}`, "Do it.", "not_found"},
		{"500", 500, `hunter2`, "Do it.", "server_error"},
		{"redirect within the host", 302, `/other`, "Do it.\n\nfollowed", ""},
		{"redirect to another host", 302, `https://127.0.0.1/`, "Do it.", "unexpected_status"},
		{"redirect to plain http", 302, `http://api.example.com/detail`, "Do it.", "unexpected_status"},
		{"redirect without end", 302, `https://api.example.com/detail`, "Do it.", "unexpected_status"},
		{"no connection", 0, `hunter2 refused`, "Do it.", toolwire.CodeTransport},
	} {
		t.Run(tt.name, inBubble(func(t *testing.T) {
			var failures []error
			opts := options(func(r *http.Request) (int, string) {
				if r.Method != "GET" || r.Header.Get("X-Agent-Secret") != "" || r.Header.Get("X-Agent-Identity") != "" {
					t.Errorf("%s %v", r.Method, r.Header)
				}
				if r.URL.String() != "https://api.example.com/detail" {
					return 200, `{"detail":"followed"}`
				}
				return tt.status, tt.body
			})
			onDetailError(opts, func(err error) { failures = append(failures, err) })
			box := parse(t, detailed, opts)
			for range 2 { // the second list uses the cached text
				defs, err := box.Definitions(t.Context())
				if err != nil || defs[0].Description != tt.want {
					t.Errorf("%.80q %v, want %.80q", defs[0].Description, err, tt.want)
				}
			}
			if text := shown(box.Call(t.Context(), "a", nil)); text != "pong <{}>" {
				t.Errorf("the tool is not usable: %s", text)
			}
			synctest.Wait() // for the logger
			if tt.code == "" {
				if len(failures) > 0 {
					t.Error(failures)
				}
				return
			}
			e, ok := errors.AsType[*toolbox.Error](errors.Join(failures...))
			if len(failures) != 1 || !ok || e.Code != tt.code || e.Tool != "a" {
				t.Errorf("failures %v, want one of %s", failures, tt.code)
			}
			if s := fmt.Sprint(failures); strings.Contains(s, "example.com") || tt.status != 0 &&
				strings.Contains(s, "hunter2") {
				t.Errorf("the error tells too much: %s", s)
			}
		}))
	}
	box := parse(t, `[{"name":"a","handler":"ping","detail_url":"https://api.example.com/detail"}]`,
		options(func(*http.Request) (int, string) { return 200, `{"detail":"Monday"}` }))
	if defs, _ := box.Definitions(t.Context()); defs[0].Description != "Monday" {
		t.Errorf("without a description: %q", defs[0].Description)
	}
}

func TestDetailsStayAwayFromPrivateAddresses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"detail":"inside"}`)
	}))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::1]", "169.254.169.254",
		"10.0.0.1"} {
		t.Run(host, func(t *testing.T) {
			failures := make(chan error, 1)
			opts := options(nil)
			onDetailError(opts, func(err error) { failures <- err })
			box := parse(t, strings.Replace(detailed, "https://api.example.com", "http://"+host+port, 1), opts)
			defs, err := box.Definitions(t.Context())
			failure := <-failures
			if err != nil || defs[0].Description != "Do it." || toolwire.CodeOf(failure) != "address_not_public" {
				t.Errorf("%q %v; %v", defs[0].Description, err, failure)
			}
		})
	}
	opts := options(nil)
	opts.InsecurePrivateDetails = true
	box := parse(t, strings.Replace(detailed, "https://api.example.com", server.URL, 1), opts)
	if defs, err := box.Definitions(t.Context()); err != nil || defs[0].Description != "Do it.\n\ninside" {
		t.Errorf("allowed: %+v %v", defs, err)
	}
}

func TestDetailsAreFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fetched, failed atomic.Int32
		status := 200
		opts := options(func(r *http.Request) (int, string) {
			n := fetched.Add(1)
			time.Sleep(time.Second)
			return status, fmt.Sprintf(`{"detail":"%s %d"}`, r.URL.Path, n)
		})
		onDetailError(opts, func(error) { failed.Add(1) })
		box := parse(t, `[{"name":"a","handler":"ping","detail_url":"https://api.example.com/1"},{"name":"b","handler":"ping","detail_url":"https://api.example.com/1"},
			{"name":"c","handler":"ping","detail_url":"https://api.example.com/2"}]`, opts)
		other, err := box.For(toolbox.Agent{ID: agentUUID})
		if err != nil {
			t.Fatal(err)
		}
		describe := func(box *toolbox.Toolbox) string {
			defs, err := box.Definitions(t.Context())
			if err != nil {
				t.Error(err)
				return ""
			}
			return defs[0].Description + "|" + defs[1].Description + "|" + defs[2].Description
		}
		start := time.Now()
		results := make(chan string, 20)
		for i := range 20 {
			go func() { results <- describe([]*toolbox.Toolbox{box, other}[i%2]) }()
		}
		first := <-results
		for range 19 {
			if next := <-results; next != first {
				t.Errorf("%s and %s", first, next)
			}
		}
		if fetched.Load() != 2 || time.Since(start) != time.Second {
			t.Errorf("%d fetches in %s, want one for each URL, both at once", fetched.Load(), time.Since(start))
		}
		time.Sleep(58 * time.Second)
		if again := describe(box); again != first || fetched.Load() != 2 {
			t.Errorf("still fresh: %s after %d fetches", again, fetched.Load())
		}
		time.Sleep(3 * time.Second)
		if again := describe(box); again == first || fetched.Load() != 4 {
			t.Errorf("no longer fresh: %s after %d fetches", again, fetched.Load())
		}
		status = 500
		time.Sleep(time.Minute)
		again := describe(box)
		synctest.Wait() // for the logger
		if again != "||" || fetched.Load() != 6 || failed.Load() != 2 {
			t.Errorf("failed: %q after %d fetches and %d failures", again, fetched.Load(), failed.Load())
		}
		time.Sleep(8 * time.Second)
		if describe(box); fetched.Load() != 6 {
			t.Error("tried again too early")
		}
		status = 200
		time.Sleep(3 * time.Second)
		if again := describe(box); again == "||" || fetched.Load() != 8 {
			t.Errorf("after a failure: %q after %d fetches", again, fetched.Load())
		}
	})
}

func TestDetailsThatTakeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failure error
		opts := options(func(r *http.Request) (int, string) { <-r.Context().Done(); return 0, "gone" })
		onDetailError(opts, func(err error) { failure = err })
		start := time.Now()
		defs, err := parse(t, detailed, opts).Definitions(t.Context())
		took := time.Since(start)
		synctest.Wait() // for the logger
		if err != nil || defs[0].Description != "Do it." || took != 3*time.Second ||
			toolwire.CodeOf(failure) != toolwire.CodeTimeout {
			t.Errorf("after %s: %+v %v; %v", took, defs, err, failure)
		}
	})
}

// Definitions returns in time, and the process survives, whatever Logger and Transport do on the
// goroutine of a fetch.
func TestDetailFetchesContainTheHostsCode(t *testing.T) {
	failing := func(*http.Request) (int, string) { return 500, "" }
	for _, tt := range []struct {
		name      string
		transport http.RoundTripper
		logger    func(box *toolbox.Toolbox)
		want      toolwire.Code
		log       string
	}{
		{"logger calls Definitions", transport(failing), func(box *toolbox.Toolbox) {
			must(box.Definitions(context.Background()))
		}, "server_error", ""},
		{"logger is slow", transport(failing), func(*toolbox.Toolbox) { time.Sleep(time.Hour) }, "server_error", ""},
		{"logger panics", transport(failing), func(*toolbox.Toolbox) { panic("the reason") }, "server_error", ""},
		{"logger exits", transport(failing), func(*toolbox.Toolbox) { runtime.Goexit() }, "server_error", ""},
		{"transport panics", roundTripper(func() { panic("the reason") }), nil, toolwire.CodeTransport, "the reason"},
		{"transport exits", roundTripper(runtime.Goexit), nil, toolwire.CodeTransport, "the detail of a tool is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log testkit.Buffer
				var box *toolbox.Toolbox
				var received []error
				opts := options(failing)
				opts.Transport, opts.Logger = tt.transport, slog.New(slog.NewTextHandler(&log, nil))
				onDetailError(opts, func(err error) {
					if received = append(received, err); tt.logger != nil {
						tt.logger(box)
					}
				})
				box = parse(t, detailed, opts)
				start := time.Now()
				defs, err := box.Definitions(t.Context())
				if took := time.Since(start); err != nil || defs[0].Description != "Do it." || took != 0 {
					t.Errorf("%+v %v after %s", defs, err, took)
				}
				synctest.Wait()
				if len(received) != 1 || toolwire.CodeOf(received[0]) != tt.want {
					t.Errorf("the logger received %v", received)
				}
				if !strings.Contains(log.String(), tt.log) {
					t.Errorf("%q is missing in:\n%s", tt.log, log.String())
				}
				if must(box.Definitions(t.Context())); len(received) != 1 {
					t.Error("the failure is not cached")
				}
				time.Sleep(2 * time.Hour) // for the slow logger
			})
		})
	}
}

type roundTripper func()

func (f roundTripper) RoundTrip(*http.Request) (*http.Response, error) { f(); return nil, io.EOF }

func TestDetailsOfACallerThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		var failure error
		opts := options(func(*http.Request) (int, string) {
			began.Add(1)
			time.Sleep(2 * time.Second)
			return 200, `{"detail":"Monday"}`
		})
		onDetailError(opts, func(err error) { failure = err })
		box := parse(t, detailed, opts)
		cause := errors.New("the user left")

		impatient, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		patient := make(chan string)
		go func() {
			defs, _ := box.Definitions(t.Context())
			patient <- defs[0].Description
		}()
		_, err := box.Definitions(impatient)
		if toolwire.CodeOf(err) != toolwire.CodeCanceled || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("the caller that gives up: %v", err)
		}
		if got := <-patient; got != "Do it.\n\nMonday" || began.Load() != 1 {
			t.Errorf("the caller that waits: %q after %d fetches", got, began.Load())
		}

		time.Sleep(2 * time.Minute) // a fetch without callers goes on
		alone, cancelAlone := context.WithTimeout(t.Context(), time.Second)
		defer cancelAlone()
		if _, err := box.Definitions(alone); toolwire.CodeOf(err) != toolwire.CodeDeadline ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the only caller: %v", err)
		}
		time.Sleep(time.Second)
		start := time.Now()
		defs, err := box.Definitions(t.Context())
		if err != nil || defs[0].Description != "Do it.\n\nMonday" || time.Since(start) != 0 || began.Load() != 2 || failure != nil {
			t.Errorf("afterwards: %+v %v after %s and %d fetches, failure %v", defs, err, time.Since(start), began.Load(), failure)
		}
		if _, err := box.Definitions(alone); toolwire.CodeOf(err) != toolwire.CodeDeadline {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

func TestDefinitionsCanBeExported(t *testing.T) {
	box := parse(t, document, options(func(*http.Request) (int, string) { return 200, `{"detail":"Monday 2pm"}` }))
	defs, err := box.Definitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := schema.Export(defs, schema.OpenAIChat)
	if err != nil || !json.Valid(out) ||
		!strings.Contains(string(out), `Check availability on the calendar\n\nMonday 2pm`) ||
		strings.Count(string(out), "reasoning for") != 3 {
		t.Errorf("%s %v", out, err)
	}
}

func hundred(b testing.TB) *toolbox.Toolbox {
	var doc strings.Builder
	for i := range 100 {
		fmt.Fprintf(&doc, `,{"name":"tool_%d","description":"Check availability on the calendar","handler":"ping","detail_url":"https://api.example.com/%d",
			"parameters":{"type":"object","properties":{"name":{"type":"string","description":"Contact's full name"},"phone":{"type":"string"}},"required":["name"]}}`, i, i)
	}
	return parse(b, "["+doc.String()[1:]+"]", options(func(*http.Request) (int, string) {
		return 200, `{"detail":"Monday 2pm, Wednesday 10am"}`
	}))
}

// BenchmarkDefinitions lists 100 tools with cached details.
func BenchmarkDefinitions(b *testing.B) {
	box := hundred(b)
	b.Run("toolwire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if defs, err := box.Definitions(b.Context()); err != nil || len(defs) != 100 ||
				!strings.HasSuffix(defs[99].Description, "10am") {
				b.Fatal(err)
			}
		}
	})
}

func TestDefinitionsAllocate(t *testing.T) {
	box := hundred(t)
	_, _ = box.Definitions(t.Context())
	if got := testing.AllocsPerRun(20, func() { _, _ = box.Definitions(t.Context()) }); got > 210 {
		t.Errorf("100 tools with warm details take %.0f allocations, the ceiling is 210", got)
	}
}
