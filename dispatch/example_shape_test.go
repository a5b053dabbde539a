package dispatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
)

// shapes prints what requests consist of: names of headers, and names and kinds of the body's
// members. It prints no value.
func shapes(next http.Handler, out io.Writer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		r = r.WithContext(r.Context())
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &body), r.Body}
		next.ServeHTTP(w, r)

		lines := make(map[string]bool)
		for name := range r.Header {
			lines[fmt.Sprintf("header %q", name)] = true
		}
		var value any
		if json.Unmarshal(body.Bytes(), &value) == nil {
			kinds(lines, "", value)
		}
		fmt.Fprintln(out, strings.Join(slices.Sorted(maps.Keys(lines)), "\n"))
	})
}

// kinds adds a line for each value of a document. A quoted name cannot write to a terminal.
func kinds(lines map[string]bool, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			kinds(lines, path+"/"+name, member)
		}
	case []any:
		for _, element := range v {
			kinds(lines, path+"/-", element)
		}
	default:
		lines[fmt.Sprintf("member %q %T", path, v)] = true
	}
}

// A middleware shows what the platform sends, without what tasks and users say.
func ExampleHandler_shapes() {
	handler, err := dispatch.New(echo, &dispatch.Options{Tokens: []string{"agent-token"}})
	if err != nil {
		log.Fatal(err)
	}
	show(shapes(handler, os.Stdout), "/", "agent-token", `{"task_id":42,"input":{"user_instruction":"hello",`+
		`"messages":[{"role":"user","content":"hi"}]},"odyssey_proxy_url":"https://api.example.com/runs/abc","is_replay":false}`)
	// Output:
	// header "Authorization"
	// header "X-Pipelines-Run-Token"
	// member "/input/messages/-/content" string
	// member "/input/messages/-/role" string
	// member "/input/user_instruction" string
	// member "/is_replay" bool
	// member "/odyssey_proxy_url" string
	// member "/task_id" float64
	// 200 {"final_response":"You said: hello"}
}
