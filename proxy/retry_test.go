package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

const ms = time.Millisecond

// table is the documented schedule: min(0.5 s × 2^k, 4 s) × U(0.75, 1.25).
var table = [][2]time.Duration{{375 * ms, 625 * ms}, {750 * ms, 1250 * ms}, {1500 * ms, 2500 * ms}}

func TestWaitsFollowTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs = 500
		var sums [3]time.Duration
		var low, high [3]int // how often a wait lies in the lowest and highest tenth of its range
		for range runs {
			c, s := scripted(t, answer(503, `{"detail":{"error_class":"lock_contention"}}`))
			_, err := c.Do(background, "get_order", nil)
			if e := wantError(t, err, toolwire.CodeUnavailable, proxy.Refused); e.Attempts != 4 ||
				e.Class != "lock_contention" {
				t.Fatalf("err = %+v", e)
			}
			waits := s.waits()
			if len(waits) != 3 {
				t.Fatalf("%d waits", len(waits))
			}
			for i, w := range waits {
				if w < table[i][0] || w > table[i][1] {
					t.Fatalf("wait %d is %s, want %s to %s", i, w, table[i][0], table[i][1])
				}
				sums[i] += w
				tenth := (table[i][1] - table[i][0]) / 10
				if w < table[i][0]+tenth {
					low[i]++
				}
				if w > table[i][1]-tenth {
					high[i]++
				}
			}
		}
		for i := range table {
			mean, middle := sums[i]/runs, (table[i][0]+table[i][1])/2
			if diff := (mean - middle).Abs(); diff > middle/20 {
				t.Errorf("mean wait %d is %s, want about %s", i, mean, middle)
			}
			if low[i] < runs/50 || high[i] < runs/50 {
				t.Errorf("wait %d is not spread evenly: %d of %d in the lowest tenth, %d in the highest", i, low[i],
					runs, high[i])
			}
		}
	})
}

// The delivery is Refused only for answers that prove that the tool did not run: the documented
// refusals. An intermediary can send any other after it has passed the request on.
func TestWhatAStatusProves(t *testing.T) {
	proofs := []int{401, 404, 413, 422, 429}
	for status := 300; status <= 599; status++ {
		for _, body := range []string{``, `<html>`, `{"detail":{"error_class":"x"}}`, `{"detail":{}}`} {
			s := &script{steps: []step{answer(status, body, "Location", "https://api.example.com/elsewhere")}}
			_, err := newClient(t, s, func(o *proxy.Options) { o.MaxAttempts = 1 }).Do(background, "get_order", nil)
			want := proxy.Unknown
			if slices.Contains(proofs, status) {
				want = proxy.Refused
			}
			if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Delivery != want || e.Status != status {
				t.Errorf("%d %s: %v, want the delivery %s", status, body, err, want)
			}
		}
	}
	for class, status := range map[string]int{
		"actor_id_invalid": 400, "trace_event_type_invalid": 400, "tool_executes_in_sandbox": 409,
		"tool_not_executable": 409,
		"lock_contention":     503, "context_store_unavailable": 503, "trace_sequence_contended": 503,
	} {
		s := &script{steps: []step{answer(status, `{"detail":{"error_class":"`+class+`"}}`)}}
		_, err := newClient(t, s, func(o *proxy.Options) { o.MaxAttempts = 1 }).Do(background, "get_order", nil)
		if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Delivery != proxy.Refused || e.Class != class {
			t.Errorf("%s: %v", class, err)
		}
	}
}

func TestOnlyTransientAnswersAreRepeated(t *testing.T) {
	class := func(c string) string { return `{"detail":{"error_class":"` + c + `"}}` }
	for _, tt := range []struct {
		name     string
		step     step
		requests int
		code     toolwire.Code
		delivery proxy.Delivery
	}{
		{"400", answer(400, class("x")), 1, toolwire.CodeRefused, proxy.Unknown},
		{"400 actor", answer(400, class("actor_id_invalid")), 1, "actor_id_invalid", proxy.Refused},
		{"400 actor", answer(400, class("actor_id_invalid")), 1, "actor_id_invalid", proxy.Refused},
		{"401", answer(401, `{}`), 1, toolwire.CodeRunOver, proxy.Refused},
		{"401 over", answer(401, class("run_token_expired")), 1, toolwire.CodeRunOver, proxy.Refused},
		{"403", answer(403, ``), 1, toolwire.CodeRefused, proxy.Unknown},
		{"401 undocumented", answer(401, class("x")), 1, toolwire.CodeRunOver, proxy.Refused},
		{"404", answer(404, class("tool_not_executable")), 1, toolwire.CodeNotFound, proxy.Refused},
		{"408", answer(408, ``), 1, toolwire.CodeRefused, proxy.Unknown},
		{"499", answer(499, ``), 1, toolwire.CodeRefused, proxy.Unknown},
		{"409 undocumented", answer(409, class("conflict")), 1, toolwire.CodeRefused, proxy.Unknown},
		{"500 with the class of a refusal", answer(500, class("actor_id_invalid")), 1, toolwire.CodeServerError, proxy.Unknown},
		{"409", answer(409, class("tool_executes_in_sandbox")), 1, toolwire.CodeRefused, proxy.Refused},
		{"413", answer(413, ``), 1, toolwire.CodeRequestTooLarge, proxy.Refused},
		{"422", answer(422, class("arguments_invalid")), 1, toolwire.CodeInvalidArguments, proxy.Refused},
		{"429", answer(429, ``), 4, toolwire.CodeRateLimited, proxy.Refused},
		{"429 text", answer(429, `slow down`), 4, toolwire.CodeRateLimited, proxy.Refused},
		{"429 with Retry-After", answer(429, ``, "Retry-After", "7"), 4, toolwire.CodeRateLimited, proxy.Refused},
		{"500", answer(500, class("lock_contention")), 1, toolwire.CodeServerError, proxy.Unknown},
		{"502", answer(502, `<html>`), 1, toolwire.CodeServerError, proxy.Unknown},
		{"503 lock", answer(503, class("lock_contention")), 4, toolwire.CodeUnavailable, proxy.Refused},
		{"503 store", answer(503, class("context_store_unavailable")), 4, toolwire.CodeUnavailable, proxy.Refused},
		{"503 trace", answer(503, class("trace_sequence_contended")), 4, toolwire.CodeUnavailable, proxy.Refused},
		{"503 other", answer(503, class("maintenance")), 1, toolwire.CodeUnavailable, proxy.Unknown},
		{"503 none", answer(503, ``), 1, toolwire.CodeUnavailable, proxy.Unknown},
		{"503 flat class", answer(503, `{"error_class":"lock_contention"}`), 4, toolwire.CodeUnavailable, proxy.Refused},
		{"504", answer(504, ``), 1, toolwire.CodeServerError, proxy.Unknown},
		{"301", answer(301, ``, "Location", "https://evil.example/"), 1, toolwire.CodeUnexpectedStatus, proxy.Unknown},
		{"204", answer(204, ``), 1, toolwire.CodeUnexpectedStatus, proxy.Unknown},
		{"201 without a response", answer(201, `{"status":"created"}`), 1, toolwire.CodeUnexpectedStatus, proxy.Unknown},
		{"200 text", answer(200, `<html>`, "Content-Type", "text/html"), 1, toolwire.CodeBadResponse, proxy.Unknown},
		{"200 empty", answer(200, ``), 1, toolwire.CodeBadResponse, proxy.Unknown},
		{"200 without response", answer(200, `{"source":"odyssey"}`), 1, toolwire.CodeBadResponse, proxy.Unknown},
		{"200 two values", answer(200, seedAnswer+`{}`), 1, toolwire.CodeBadResponse, proxy.Unknown},
		{"200 duplicate", answer(200, `{"response":1,"response":2}`), 1, toolwire.CodeBadResponse, proxy.Unknown},
		{"200 wrong case", answer(200, `{"Response":1}`), 1, toolwire.CodeBadResponse, proxy.Unknown},
		{"200 deep", answer(200, `{"response":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`), 1,
			toolwire.CodeBadResponse, proxy.Unknown},
		{"connection breaks", failing(errors.New("reset")), 1, toolwire.CodeTransport, proxy.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := scripted(t, tt.step)
				start := time.Now()
				got, err := proxy.Call[json.RawMessage](background, c, "get_order", nil)
				low, high := time.Duration(0), time.Duration(0)
				for _, wait := range table[:tt.requests-1] {
					low, high = low+wait[0], high+wait[1]
				}
				if tt.name == "429 with Retry-After" {
					low, high = 21*time.Second, 21*time.Second
				}
				if took := time.Since(start); took < low || took > high {
					t.Errorf("waited %s, want %s to %s", took, low, high)
				}
				if got != nil {
					t.Errorf("a failed call returned %s", got)
				}
				e := wantError(t, err, tt.code, tt.delivery)
				if len(s.requests()) != tt.requests || e.Attempts != tt.requests {
					t.Errorf("%d requests, %d attempts on the error, want %d", len(s.requests()), e.Attempts,
						tt.requests)
				}
			})
		})
	}
}

func TestRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := answer(503, `{"detail":{"error_class":"lock_contention"}}`)
		c, s := scripted(t, busy, answer(429, ``), busy, answer(200, seedAnswer))
		got, err := c.Do(background, "get_order", map[string]int{"n": 1})
		if err != nil || got.Attempts != 4 {
			t.Fatalf("got %+v, %v", got, err)
		}
		for _, sent := range s.requests() {
			if sent.body != `{"n":1}` {
				t.Errorf("an attempt sent %q", sent.body)
			}
		}
		// A final failure after a transient one ends it and tells of all attempts.
		c, _ = scripted(t, busy, answer(422, ``))
		_, err = c.Do(background, "get_order", nil)
		if e := wantError(t, err, toolwire.CodeInvalidArguments, proxy.Refused); e.Attempts != 2 {
			t.Errorf("attempts = %d", e.Attempts)
		}
	})
}

func TestMaxAttemptsIsAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(429, ``)}}
		c := newClient(t, s, func(o *proxy.Options) { o.MaxAttempts = 1 })
		_, err := c.Do(background, "x", nil)
		wantError(t, err, toolwire.CodeRateLimited, proxy.Refused)
		if len(s.requests()) != 1 {
			t.Errorf("%d requests with MaxAttempts 1", len(s.requests()))
		}
		s = &script{steps: []step{answer(503, `{"detail":{"error_class":"lock_contention"}}`)}}
		c = newClient(t, s, func(o *proxy.Options) { o.MaxAttempts = 7 })
		_, _ = c.Do(background, "x", nil)
		for i, w := range s.waits() {
			if w > 4*time.Second {
				t.Errorf("wait %d is %s, over the cap of 4 s", i, w)
			}
		}
		if len(s.waits()) != 6 {
			t.Errorf("%d waits", len(s.waits()))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seconds := func(s string) func() string { return func() string { return s } }
		at := func(d time.Duration) func() string {
			return func() string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		}
		for _, tt := range []struct {
			name      string
			header    func() string
			low, high time.Duration // of the first wait; 0 means that there is none
		}{
			{"seconds", seconds("7"), 7 * time.Second, 7 * time.Second},
			{"shorter than the table", seconds("0"), 375 * ms, 625 * ms},
			{"date", at(30 * time.Second), 29 * time.Second, 30 * time.Second},
			{"past date", at(-time.Hour), 375 * ms, 625 * ms},
			{"nonsense", seconds("soon"), 375 * ms, 625 * ms},
			{"negative", seconds("-5"), 375 * ms, 625 * ms},
			{"at the cap", seconds("60"), 60 * time.Second, 60 * time.Second},
			{"over the cap", seconds("61"), 0, 0},
			{"far over", seconds("99999999999999999999"), 0, 0},
			{"date over the cap", at(time.Hour), 0, 0},
		} {
			c, s := scripted(t, answer(429, ``, "Retry-After", tt.header()), answer(200, seedAnswer))
			_, err := c.Do(background, "x", nil)
			if tt.high == 0 {
				if e := wantError(t, err, toolwire.CodeRateLimited, proxy.Refused); e.Attempts != 1 || e.RetryAfter == 0 ||
					!strings.Contains(fmt.Sprint(e.Err), "asks to wait ") || !strings.Contains(e.Error(), "more than the limit of 1m0s") {
					t.Errorf("%s: %+v", tt.name, e)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if w := s.waits()[0]; w < tt.low || w > tt.high {
				t.Errorf("%s: waited %s, want %s to %s", tt.name, w, tt.low, tt.high)
			}
		}
	})
}

func TestNoWaitBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(background, 5*time.Second)
		defer cancel()
		start := time.Now()
		c, s := scripted(t, answer(429, ``, "Retry-After", "10"))
		_, err := c.Do(ctx, "x", nil)
		if e := wantError(t, err, toolwire.CodeDeadline, proxy.Refused); e.Status != 429 || e.Attempts != 1 {
			t.Errorf("the last answer is lost: %+v", e)
		}
		if took := time.Since(start); took != 0 || len(s.requests()) != 1 {
			t.Errorf("took %s and %d requests, want an answer at once", took, len(s.requests()))
		}
	})
}

// An error that ends the repeats keeps the failure before it.
func TestTheFailureBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(background, 100*ms)
		defer cancel()
		c := newClient(t, &script{steps: []step{failing(io.ErrUnexpectedEOF)}}, func(o *proxy.Options) { o.Repeatable = []string{"x"} })
		_, err := c.Do(ctx, "x", nil)
		e := wantError(t, err, toolwire.CodeDeadline, proxy.Unknown)
		if !strings.Contains(e.Error(), "after the call's deadline; before that: the connection was closed") {
			t.Errorf("err = %v", err)
		}
	})
}

func TestCancelDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user pressed stop")
		ctx, cancel := context.WithCancelCause(background)
		time.AfterFunc(100*ms, func() { cancel(cause) })
		start := time.Now()
		c, s := scripted(t, answer(503, `{"detail":{"error_class":"lock_contention"}}`))
		_, err := c.Do(ctx, "x", nil)
		e := wantError(t, err, toolwire.CodeCanceled, proxy.Refused)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("err = %v does not unwrap to the context's end and its cause", err)
		}
		if e.Status != 503 || e.Class != "lock_contention" || e.Attempts != 1 {
			t.Errorf("the last answer is lost: %+v", e)
		}
		if took := time.Since(start); took != 100*ms || len(s.requests()) != 1 {
			t.Errorf("took %s and %d requests", took, len(s.requests()))
		}
		_, err = c.Do(ctx, "x", nil)
		wantError(t, err, toolwire.CodeCanceled, proxy.NotSent)
		if len(s.requests()) != 1 {
			t.Error("a request was sent with an ended context")
		}
	})
}

func TestAttemptTimeoutAndDeadlineAreToldApart(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c, s := scripted(t, hang)
		_, err := c.Do(background, "x", nil)
		wantError(t, err, toolwire.CodeTimeout, proxy.Unknown)
		if took := time.Since(start); took != 120*time.Second || len(s.requests()) != 1 {
			t.Errorf("took %s and %d requests, want 120 s and no repeat", took, len(s.requests()))
		}
		start = time.Now()
		ctx, cancel := context.WithTimeout(background, 3*time.Second)
		defer cancel()
		_, err = c.Do(ctx, "x", nil)
		wantError(t, err, toolwire.CodeDeadline, proxy.Unknown)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("err = %v after %s", err, time.Since(start))
		}
	})
}

func TestRepeatableTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{failing(io.ErrUnexpectedEOF), answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Repeatable = []string{"get_order"} })
		if got, err := c.Do(background, "get_order", nil); err != nil || got.Attempts != 2 {
			t.Errorf("got %+v, %v", got, err)
		}
		s = &script{steps: []step{failing(io.ErrUnexpectedEOF), answer(200, seedAnswer)}}
		c = newClient(t, s, func(o *proxy.Options) { o.Repeatable = []string{"get_order"} })
		_, err := c.Do(background, "refund_order", nil)
		wantError(t, err, toolwire.CodeTransport, proxy.Unknown)
	})
}

func TestDeliveryIsThatOfTheCall(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, steps := range [][]step{
		{failing(io.ErrUnexpectedEOF), failing(refused)},
		{failing(io.ErrUnexpectedEOF), answer(422, ``)},
		{failing(io.ErrUnexpectedEOF), answer(401, `{"detail":{"error_class":"run_token_expired"}}`)},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{steps: steps}
			c := newClient(t, s, func(o *proxy.Options) { o.Repeatable = []string{"x"} })
			_, err := c.Do(background, "x", nil)
			if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Delivery != proxy.Unknown || e.Attempts < 2 {
				t.Errorf("err = %+v, but the first attempt may have run the tool", err)
			}
		})
	}
}

func TestA429ThatIsNotRepeatedHoldsBackToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(429, ``, "Retry-After", "30")}}
		c := newClient(t, s, func(o *proxy.Options) { o.MaxAttempts = 1 })
		for range 2 {
			_, _ = c.Do(background, "x", nil)
		}
		if w := s.waits()[0]; w < 30*time.Second {
			t.Errorf("the next request came after %s", w)
		}
		ctx, cancel := context.WithTimeout(background, 5*time.Second)
		defer cancel()
		_, err := c.Do(ctx, "x", nil)
		wantError(t, err, toolwire.CodeDeadline, proxy.NotSent)
	})
}

func TestLogHoldsNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &script{steps: []step{answer(503, `{"detail":{"error_class":"lock_contention","message":"hunter2"}}`),
			answer(422, `{"detail":"hunter2"}`)}}
		c := newClient(t, s, func(o *proxy.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		_, err := c.Do(background, "get_order", map[string]string{"password": "hunter2"})
		wantNoSecret(t, log.String())
		wantNoSecret(t, err.Error())
		for _, want := range []string{`"tool":"get_order"`, `"attempt":2`, `"status":422`, `"class":"lock_contention"`,
			`"wait":`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log misses %s:\n%s", want, log.String())
			}
		}
	})
}

// FuzzAnswer: whatever the proxy answers, there is either a result that is JSON or a typed error
// that keeps the secrets.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{seedAnswer, `{"detail":{"error_class":"x","message":"y"}}`, `{"detail":["a"]}`,
		`{"response":[[[[]]]]}`, `"x"`, `<html>`, ``} {
		f.Add(200, []byte(s))
		f.Add(422, []byte(s))
		f.Add(401, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 999 {
			return
		}
		c := newClient(t, &script{steps: []step{answer(status, string(body))}},
			func(o *proxy.Options) { o.MaxAttempts = 1 })
		result, err := c.Do(background, "x", nil)
		if err == nil {
			var envelope map[string]json.RawMessage
			_ = json.Unmarshal(body, &envelope)
			if status/100 != 2 || status != 200 && envelope["response"] == nil || !json.Valid(result.Response) {
				t.Fatalf("status %d, result %s", status, result.Response)
			}
			return
		}
		e, ok := errors.AsType[*proxy.Error](err)
		if !ok || e.Code == "" || e.Delivery == "" || e.Attempts != 1 || result != nil {
			t.Fatalf("%+v", err)
		}
		if !json.Valid(proxy.ToolResult(err)) || !utf8.ValidString(err.Error()) || len(err.Error()) > 1000 {
			t.Fatalf("%s\n%s", proxy.ToolResult(err), err)
		}
	})
}

func TestPeerCannotInjectText(t *testing.T) {
	c, _ := scripted(t, answer(409, `{"detail":{"error_class":"`+strings.Repeat("x", 5000)+`","message":"`+
		strings.Repeat("é", 5000)+`"}}`))
	_, err := c.Do(background, "x", nil)
	e := wantError(t, err, toolwire.CodeRefused, proxy.Unknown)
	if e.Class != "" || len(e.Detail) > 2<<10 || !strings.HasSuffix(e.Detail, "é…") {
		t.Errorf("class %q, detail of %d bytes", e.Class, len(e.Detail))
	}
	c, _ = scripted(t, answer(409, `{"detail":{"error_class":"a\nb hunter2"}}`))
	if _, err = c.Do(background, "x", nil); strings.Contains(err.Error(), "hunter2") {
		t.Errorf("err = %v", err)
	}
}

// What is known of a call whose repeat found no place in time is the answer that it had.
func TestARepeatWithoutAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(503, `{"detail":{"error_class":"lock_contention"}}`)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(1, time.Minute) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.Do(ctx, "get_order", nil)
		e := wantError(t, err, toolwire.CodeDeadline, proxy.Refused)
		if e.Status != 503 || e.Class != "lock_contention" || e.Attempts != 1 || len(s.requests()) != 1 {
			t.Errorf("%+v after %d requests, want the 503 of the one attempt", e, len(s.requests()))
		}
	})
}

// The error of a call that is not repeated any more says why, and what the last attempt said.
func TestReasonToStop(t *testing.T) {
	refused := failing(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	for _, tt := range []struct {
		name  string
		steps []step
		limit time.Duration
		want  []string
	}{
		{"too long", []step{answer(429, `{}`, "Retry-After", "120")}, time.Hour, []string{"asks to wait 2m0s, more than the limit of 1m0s"}},
		{"too late", []step{refused, answer(429, `{}`, "Retry-After", "50")}, 30 * time.Second, []string{"the next attempt is due in", "after the call's deadline"}},
		{"too late after a failure", []step{refused, refused, refused, refused}, 100 * time.Millisecond, []string{"the next attempt is due in", "before that: ", "connection refused"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, &script{steps: tt.steps})
			ctx, cancel := context.WithTimeout(background, tt.limit)
			defer cancel()
			_, err := c.Do(ctx, "get_order", nil)
			e, ok := errors.AsType[*proxy.Error](err)
			if !ok || e.Err == nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(e.Err.Error(), want) {
					t.Errorf("%s: the reason is %q, want %q", tt.name, e.Err, want)
				}
			}
		})
	}
}

// A 200 that does not come from the proxy leaves it unknown whether the tool ran.
func TestAnswersOfOthers(t *testing.T) {
	for body, want := range map[string]string{
		`<html>Sign in</html>`: "may have run", ``: "may have run", `{"Response":1}`: "may have run", `{"status":"ok"}`: "may have run",
		`{"source":"odyssey"}`: "the tool has run", `{"response":1,"response":2}`: "the tool has run", `{"response":{"a":1},"source":`: "the tool has run",
	} {
		c, _ := scripted(t, answer(200, body))
		_, err := proxy.Call[json.RawMessage](background, c, "get_order", nil)
		if e := wantError(t, err, toolwire.CodeBadResponse, proxy.Unknown); !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	c, _ := scripted(t, answer(200, "\ufeff"+`{"response":{"a":1},"source":"odyssey"}`))
	if got, err := proxy.Call[json.RawMessage](background, c, "get_order", nil); err != nil || string(got) != `{"a":1}` {
		t.Errorf("a byte order mark: %s, %v", got, err)
	}
}
