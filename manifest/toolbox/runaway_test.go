package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
)

func tool(f func(ctx context.Context) (string, error)) toolbox.Handler {
	return func(ctx context.Context, _ json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
		return f(ctx)
	}
}

const oneTool = `[{"name":"slow","handler":"slow"}]`

func TestHandlersAndTheTimeLimit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tool  func(context.Context) (string, error)
		after time.Duration
		want  string // a part of what the model reads
	}{
		{"in time", func(context.Context) (string, error) { time.Sleep(time.Second); return "done", nil }, time.Second,
			`done`},
		{"obeys its context", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, 10 * time.Second, `"error":"timeout"`},
		{"returns what it has", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "half", nil
		}, 10 * time.Second, `half`},
		{"says why", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", toolbox.Errorf("too many rows; ask for a day")
		}, 10 * time.Second, `ask for a day`},
		{"ignores its context", func(context.Context) (string, error) { time.Sleep(time.Hour); return "late", nil },
			10*time.Second + 500*time.Millisecond, `may or may not have had an effect`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := parse(t, oneTool, &toolbox.Options{Timeout: 10 * time.Second,
					Handlers: map[string]toolbox.Handler{"slow": tool(tt.tool)}})
				start := time.Now()
				said := shown(box.Call(t.Context(), "slow", nil))
				if took := time.Since(start); !strings.Contains(said, tt.want) || took != tt.after {
					t.Errorf("after %s: %s; want %s after %s", took, said, tt.want, tt.after)
				}
				time.Sleep(2 * time.Hour) // until the handler returns
			})
		})
	}
}

// A model reads the text of a handler's error only if Errorf of this package or of webhook made it.
func TestTextsOfHandlers(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"made for the model": {toolbox.Errorf("no order %d; ask for the number", 7),
			`{"error":"tool_failed","detail":"no order 7; ask for the number"}`},
		"wrapped": {fmt.Errorf("hunter2: %w", toolbox.Errorf("ask for the number")),
			`{"error":"tool_failed","detail":"ask for the number"}`},
		"made for a webhook": {webhook.Errorf("ask for the number"),
			`{"error":"tool_failed","detail":"ask for the number"}`},
		"any other": {errors.New("dial tcp 10.0.0.7: hunter2"),
			`{"error":"tool_failed","detail":"the tool failed for a reason of its own; trying again may help, other arguments will not"}`},
		"about arguments": {&toolbox.Error{Code: toolwire.CodeInvalidArguments, Message: "hunter2"},
			`{"error":"tool_failed","detail":"the tool failed for a reason of its own; trying again may help, other arguments will not"}`},
		"of a call in the handler": {&toolbox.Error{Code: "unexpected_status", Message: "hunter2"},
			`{"error":"tool_failed","detail":"the tool failed for a reason of its own; trying again may help, other arguments will not"}`},
	} {
		t.Run(name, func(t *testing.T) {
			box := parse(t, oneTool, &toolbox.Options{Handlers: map[string]toolbox.Handler{
				"slow": tool(func(context.Context) (string, error) { return "half", tt.err })}})
			result, err := box.Call(t.Context(), "slow", nil)
			if said := shown(result, err); said != tt.want || toolwire.CodeOf(err) != toolwire.CodeToolFailed ||
				!errors.Is(err, tt.err) {
				t.Errorf("%s, %v; want %s", said, err, tt.want)
			}
			if private := strings.Contains(tt.err.Error(), "hunter2") && name != "wrapped"; private &&
				!strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error for the log has lost its cause: %v", err)
			}
		})
	}
}

// The host's code never ends the caller's goroutine, and delays it for a bounded time.
func TestRunawayCodeOfTheHost(t *testing.T) {
	for name, misbehave := range map[string]func(){
		"panics": func() { panic("the reason") }, "exits": runtime.Goexit, "blocks": func() { time.Sleep(time.Hour) },
	} {
		for place, tt := range map[string]struct {
			arrange func(o *toolbox.Options)
			code    toolwire.Code // of the call, unless the code blocks
			blocked toolwire.Code
			limit   time.Duration
		}{
			"handler": {func(o *toolbox.Options) {
				o.Handlers["ping"] = tool(func(context.Context) (string, error) { misbehave(); return "", nil })
			}, "tool_panicked", toolwire.CodeTimeout, time.Minute + time.Second/2},
			"OnCall": {func(o *toolbox.Options) { o.OnCall = func(context.Context, toolbox.CallEnd) { misbehave() } }, "", "",
				time.Second / 2},
			"Transport": {func(o *toolbox.Options) { o.Transport = roundTripper(misbehave) },
				"tool_panicked", toolwire.CodeTimeout, time.Minute + time.Second/2},
		} {
			t.Run(place+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					opts := options(func(*http.Request) (int, string) { return 200, `1` })
					opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
					tt.arrange(opts)
					box := parse(t, document, opts)
					name, want, limit := "check_schedule", tt.code, time.Duration(0)
					if place == "handler" {
						name = "ping"
					}
					if strings.HasSuffix(t.Name(), "blocks") {
						want, limit = tt.blocked, tt.limit
					}
					var err error
					start, done := time.Now(), make(chan struct{})
					go func() { // a runtime.Goexit would end it
						defer close(done)
						defer func() {
							if p := recover(); p != nil {
								t.Errorf("escapes: %v", p)
							}
						}()
						err = io.ErrUnexpectedEOF // unless Call returns
						_, err = box.Call(t.Context(), name, nil)
					}()
					<-done
					if took := time.Since(start); toolwire.CodeOf(err) != want || (err == nil) != (want == "") || took != limit {
						t.Errorf("after %s: %v; want %q after %s", took, err, want, limit)
					}
					time.Sleep(2 * time.Hour) // until the code returns
				})
			})
		}
	}
}

// A handler that outlives its call does not share the caller's arguments.
func TestArgumentsAreTheTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan string, 1)
		box := parse(t, oneTool, &toolbox.Options{Handlers: map[string]toolbox.Handler{
			"slow": func(_ context.Context, args json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
				time.Sleep(time.Hour)
				seen <- string(args)
				return "", nil
			}}})
		args := []byte(`{"a":1}`)
		_, _ = box.Call(t.Context(), "slow", args)
		copy(args, `{"b":2}`)
		if got := <-seen; got != `{"a":1}` {
			t.Errorf("the handler read %s", got)
		}
	})
}

// A transport that ignores its context delays a list of tools for a bounded time.
func TestRunawayDetails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures []error
		opts := options(nil)
		opts.Transport, opts.InsecurePrivateDetails = roundTripper(func() { time.Sleep(time.Hour) }), true
		onDetailError(opts, func(err error) { failures = append(failures, err) })
		start := time.Now()
		defs, err := parse(t, document, opts).Definitions(t.Context())
		if took := time.Since(start); err != nil || len(defs) != 3 || took != 3*time.Second+time.Second/2 {
			t.Errorf("after %s: %d tools, %v", took, len(defs), err)
		}
		synctest.Wait()
		if len(failures) != 1 || toolwire.CodeOf(failures[0]) != toolwire.CodeTimeout {
			t.Errorf("the logger received %v", failures)
		}
		time.Sleep(2 * time.Hour) // until the transport returns
	})
}
