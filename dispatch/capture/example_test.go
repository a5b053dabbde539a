package capture_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/proxy"
)

// serve is the code of docs/first-contact.md: an endpoint that is recorded, and what to call at the
// end of the program.
func serve(agent dispatch.Agent, token, path string) (endpoint http.Handler, stop func(context.Context) error, err error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	record := capture.New(file, &capture.Options{Logger: slog.Default()})
	handler, err := dispatch.New(agent, &dispatch.Options{
		Tokens: []string{token}, Proxy: &proxy.Options{Transport: record.Transport(nil)},
	})
	if err != nil {
		return nil, nil, err
	}
	return record.Middleware(handler), record.Close, nil
}

// recordedCatalog is the code of docs/first-contact.md for another client.
func recordedCatalog(record *capture.Capture, url, key string) (*catalog.Client, error) {
	return catalog.NewClient(url, key, &catalog.ClientOptions{Transport: record.Transport(nil)})
}

func TestThePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "capture.jsonl")
	endpoint, stop, err := serve(refund, "agent-token", path)
	if err != nil {
		t.Fatal(err)
	}
	target := dispatchtest.Target{Handler: endpoint, AuthValue: "Bearer agent-token"}
	dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Refund order #4521.", World: world()}).AssertOK(t)
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 13 {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := recordedCatalog(capture.New(&lines{}, nil), "https://aip.example.com", "key"); err != nil {
		t.Error(err)
	}
}

func Example() {
	var file strings.Builder // in a program a file
	record := capture.New(&file, nil)
	handler := record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/dispatch", nil))
	if err := record.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	records, err := capture.Read(strings.NewReader(file.String()))
	for _, r := range records {
		fmt.Println(r.Line, r.Kind, r.Side, r.Method, r.Status)
	}
	fmt.Println(err)
	// Output:
	// 2 start   0
	// 3 request dispatch POST 0
	// 4 response dispatch  200
	// 5 end   0
	// <nil>
}
