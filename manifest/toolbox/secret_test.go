package toolbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

// If a tool's server repeats the secret, no error contains it, and so the model does not read it. A
// result is the agent's data and stays unchanged.
func TestServerThatRepeatsTheSecret(t *testing.T) {
	const secret, query = `hunter2/"swordfish"~1`, "canary-in-the-query"
	quoted, err := json.Marshal("Bearer " + secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{200, 302, 400, 401, 422, 500} {
		for _, body := range []string{
			`{"error":` + string(quoted) + `}`, `{` + string(quoted) + `:1}`, `[` + string(quoted) + `]`, string(quoted),
			"plain " + secret,
			`{"x":` + strings.Repeat(" ", 10) + `"` + strings.Repeat("y", 2030) + string(quoted[1:]) + `}`, `{"url":"/t?k=` +
				query + `"}`,
			`{` + string(quoted) + `:1,` + string(quoted) + `:2}`,
		} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/other?"+secret)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			}))
			var log strings.Builder
			box, err := toolbox.Parse([]byte(`{"adapters":[{"name":"a","tools":[{"name":"t","description":"d","url":"`+
				server.URL+`/t?k=`+query+`"}]}]}`),
				&toolbox.Options{
					Secret: secret, Agent: toolbox.Agent{ID: "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"},
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
			if err != nil {
				t.Fatal(err)
			}
			result, err := box.Call(t.Context(), "t", nil)
			server.Close()
			if err == nil {
				var text string // the model reads what the tool said unchanged
				if string(result) != body && (json.Unmarshal(result, &text) != nil || text != body) {
					t.Errorf("%s: the result is %s", body, result)
				}
				continue
			}
			e, ok := errors.AsType[*toolbox.Error](err)
			if !ok {
				t.Fatal(err)
			}
			if e.Code == toolwire.CodeToolFailed { // the model reads the response of the tool unchanged
				if string(e.ToolResult()) != body {
					t.Errorf("%s: the result is %s", body, e.ToolResult())
				}
				e = &toolbox.Error{}
			}
			for _, shown := range []string{err.Error(), e.Detail, fmt.Sprint(e.Err), string(e.ToolResult()), log.String()} {
				if strings.Contains(shown, "hunter2") || strings.Contains(shown, "swordfish") || strings.Contains(shown, query) {
					t.Errorf("%d %.80s: shown is %s", status, body, shown)
				}
			}
		}
	}
}
