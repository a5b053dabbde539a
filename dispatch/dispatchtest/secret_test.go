package dispatchtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A URL that cannot be parsed, such as one with a placeholder for its port, may contain a password too.
func TestTargetShowsNoSecretOfAMalformedURL(t *testing.T) {
	target := dispatchtest.Target{URL: "https://user:canary-0123@example.com:{PORT}/dispatch?key=canary-4567"}
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if shown := fmt.Sprintf(format, target); strings.Contains(shown, "canary") || !strings.Contains(shown, "[redacted]") {
			t.Errorf("%s shows %s", format, shown)
		}
	}
	_, err := dispatchtest.Dispatch(t.Context(), target, dispatchtest.Task{})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("the error is %v", err)
	}
}

// Credentials in a URL are hidden however short they are, and so is a user name that may be a token.
func TestTargetShowsNoCredentialsOfAURL(t *testing.T) {
	for _, info := range []string{"zq:jj", "zq:", ":jj", "zqjj", "zq", "z%40q:j%2Fj", "zqzqzq:jjjjjj"} {
		for _, url := range []string{"https://" + info + "@example.com/dispatch?a=b", info + "@example.com/dispatch"} {
			for _, format := range []string{"%v", "%+v", "%#v"} {
				shown := fmt.Sprintf(format, dispatchtest.Target{URL: url})
				if strings.ContainsAny(shown, "zqj@") || !strings.Contains(shown, "[redacted]") {
					t.Errorf("%s of %s shows %s", format, url, shown)
				}
			}
		}
	}
	const url = "http://[::1]:8080/a%20b/c@d"
	if shown := fmt.Sprint(dispatchtest.Target{URL: url}); !strings.Contains(shown, url) {
		t.Errorf("%s is shown as %s", url, shown)
	}
}

// A URL that no request can be sent to is a mistake of the caller, and not an agent that cannot be reached.
func TestTargetURLIsChecked(t *testing.T) {
	for _, url := range []string{"localhost:8080/dispatch", "ftp://127.0.0.1/", "http://", "::"} {
		_, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{URL: url}, dispatchtest.Task{})
		if want := "dispatchtest: Target.URL is not an http or https URL with a host, such as http://"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

// An agent that repeats what it was sent puts no secret into a result, whatever it answers.
func TestResultShowsNoSecret(t *testing.T) {
	const auth = "canary-auth-value-0123456789"
	for _, status := range []int{200, 302, 401, 418, 500} {
		for name, answer := range map[string]string{
			"text": "%s and %s", "JSON": `{"x":"%s %s"}`, "member names": `{"messages":{"%s":1,"%s":2}}`,
			"cut in the middle": strings.Repeat("x", 490) + "%s %s",
		} {
			var token string
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), `"ping"`) {
					return
				}
				token = r.Header.Get("X-Pipelines-Run-Token")
				w.Header().Set("Location", "/"+token)
				w.Header().Set("WWW-Authenticate", token+" "+r.Header.Get("X-Auth"))
				w.WriteHeader(status)
				_, _ = fmt.Fprintf(w, answer, token, r.Header.Get("X-Auth"))
			})
			result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{
				Handler: handler, AuthHeader: "X-Auth", AuthValue: "Bearer " + auth,
			}, dispatchtest.Task{Instruction: "Do it."})
			if err != nil || token == "" {
				t.Fatal(err)
			}
			report, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			for _, shown := range []string{string(report), result.Error, fmt.Sprintf("%+v", result)} {
				if strings.Contains(shown, auth[:11]) || strings.Contains(shown, token[:11]) {
					t.Errorf("%d %s: %s", status, name, shown)
				}
			}
			if !strings.Contains(result.Dispatch.Body, "[redacted]") {
				t.Errorf("%d %s: the body is %s", status, name, result.Dispatch.Body)
			}
		}
	}
}

// A secret is hidden before a text is cut: half of it would not be found.
func TestNoHalfOfASecretIsPrinted(t *testing.T) {
	const secret = "s3cr-t0ken-0123456789"
	for _, before := range []int{130, 140, 145, 150, 155, 470, 485, 1985, 1990, 1995} {
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			text := strings.Repeat("x", before) + secret + strings.Repeat("y", 100)
			_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"a": text})
			_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"a": text})
			return &dispatch.Response{FinalResponse: text}, nil
		}
		world := proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order": func(r *proxytest.Request) (any, error) {
				return r.Arguments, r.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: string(r.Arguments)})
			},
		}}
		got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent, AuthValue: "Bearer " + secret,
			Options: &dispatch.Options{Tokens: []string{secret}}}, dispatchtest.Task{World: world})
		if err != nil {
			t.Fatal(err)
		}
		failed := testkit.Failures(t, func(t testing.TB) { got.AssertFinalResponse(t, "z") })
		if text := got.String() + failed; strings.Contains(text, secret[:3]) {
			t.Errorf("after %d characters:\n%s", before, text)
		}
	}
}
