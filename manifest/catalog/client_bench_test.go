package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest/catalog"
)

// BenchmarkClientList reads a list of 1,000 tools. The floor reads it with encoding/json, without
// checks.
func BenchmarkClientList(b *testing.B) {
	s := &benchTransport{body: benchmarkList()}
	c := newClient(b, "https://aip.example.com", &catalog.ClientOptions{Transport: s})
	for _, way := range []struct {
		name string
		list func() (int, error)
	}{
		{"floor", func() (int, error) { return listByHand(s) }},
		{"toolwire", func() (int, error) {
			list, err := c.List(context.Background(), "")
			return len(list), err
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(s.body)))
			b.ReportAllocs()
			for b.Loop() {
				if n, err := way.list(); err != nil || n != 1000 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func listByHand(transport http.RoundTripper) (int, error) {
	type item struct {
		ID              string   `json:"id"`
		Name            string   `json:"name"`
		Framework       string   `json:"framework"`
		ToolType        string   `json:"tool_type"`
		AccountID       string   `json:"account_id"`
		Description     string   `json:"description"`
		Tags            []string `json:"tags"`
		Version         string   `json:"version"`
		PluginClassName string   `json:"plugin_class_name"`
		ModuleName      string   `json:"module_name"`
		ScriptContent   string   `json:"script_content"`
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://aip.example.com/tools/", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-API-Key", clientKey)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var envelope struct {
		Success bool   `json:"success"`
		Data    []item `json:"data"`
	}
	err = json.Unmarshal(text, &envelope)
	return len(envelope.Data), err
}

func benchmarkList() string {
	var entries []string
	for i := range 1000 {
		entries = append(entries,
			fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","name":"tool-%d","framework":"langgraph",`+
				`"tool_type":"custom","description":%q,"tags":["a","b"],"version":"1.0.0","script_content":null}`, i, i,
				strings.Repeat("d", 200)))
	}
	return `{"success":true,"data":[` + strings.Join(entries, ",") + `],"message":"ok","timestamp":"2026-01-01T00:00:00Z"}`
}

type benchTransport struct{ body string }

func (t *benchTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(t.body)), ContentLength: int64(len(t.body)),
		Request: req,
	}, nil
}

// BenchmarkNewClient makes a client.
func BenchmarkNewClient(b *testing.B) {
	b.Run("toolwire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = newClient(b, "https://aip.example.com", nil)
		}
	})
}
