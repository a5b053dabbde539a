package webhook_test

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	lib "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwire/toolwire/manifest/webhook"
)

const scheduleSchema = `{"type":"object","properties":{"day":{"type":"string","enum":["monday","friday"]},"hours":{"type":"integer"},
	"notes":{"type":"array","items":{"type":"string"}}},"required":["day"],"additionalProperties":false}`

type notedQuery struct {
	Day   string   `json:"day"`
	Hours int      `json:"hours"`
	Notes []string `json:"notes"`
}

// floor returns a handler written by hand with net/http, encoding/json and the validator library.
// It has the documented steps, without limits, deadlines, strict decoding and recovery from panics.
func floor(tb testing.TB, tool func(in notedQuery) slots) http.Handler {
	doc, err := lib.UnmarshalJSON(strings.NewReader(scheduleSchema))
	if err != nil {
		tb.Fatal(err)
	}
	c := lib.NewCompiler()
	if err := c.AddResource("mem:///floor", doc); err != nil {
		tb.Fatal(err)
	}
	parameters, err := c.Compile("mem:///floor")
	if err != nil {
		tb.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Agent-Secret")), []byte(toolSecret)) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var envelope struct {
			Tool struct {
				Name string `json:"name"`
			} `json:"tool"`
			Arguments map[string]json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(body, &envelope); err != nil || envelope.Tool.Name != "check_schedule" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		delete(envelope.Arguments, "reasoning")
		raw, err := json.Marshal(envelope.Arguments)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		instance, err := lib.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if err := parameters.Validate(instance); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var in notedQuery
		if err := json.Unmarshal(raw, &in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer, err := json.Marshal(tool(in))
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
}

type nopResponse struct{ header http.Header }

func (n *nopResponse) Header() http.Header             { return n.header }
func (n *nopResponse) Write(b []byte) (int, error)     { return len(b), nil }
func (n *nopResponse) WriteHeader(int)                 {}
func (n *nopResponse) SetReadDeadline(time.Time) error { return nil }

func benchmarkedTool() webhook.Tool {
	tool := webhook.Define("check_schedule", "", func(_ context.Context, in notedQuery) (slots, error) {
		return slots{in.Notes}, nil
	})
	tool.Parameters = json.RawMessage(scheduleSchema)
	return tool
}

func bodyOf(size int) string {
	note := `"bring the blue folder and the printed agenda for the second room",`
	notes := strings.TrimSuffix(strings.Repeat(note, max(1, size/len(note))), ",")
	return `{"tool":{"name":"check_schedule","description":"Check availability on the calendar","parameters":` +
		scheduleSchema + `},` +
		`"agent":{"id":"` + agentUUID + `","template":{"name":"front desk"}},` +
		`"arguments":{"reasoning":"The user asked for an appointment on Monday.","day":"monday","hours":2,"notes":[` +
		notes + `]}}`
}

// BenchmarkReceiver serves the call of an external tool with arguments of several sizes. The floor has
// the documented steps with the same validator library, and no limits.
func BenchmarkReceiver(b *testing.B) {
	ours := newHandler(b, nil, benchmarkedTool())
	hand := floor(b, func(in notedQuery) slots { return slots{in.Notes} })
	for _, size := range []struct {
		name  string
		bytes int
	}{{"call", 0}, {"8KB", 8 << 10}, {"256KB", 256 << 10}} {
		body := bodyOf(size.bytes)
		for _, way := range []struct {
			name    string
			handler http.Handler
		}{{"floor", hand}, {"toolwire", ours}} {
			b.Run(size.name+"/"+way.name, func(b *testing.B) {
				r := request(body)
				reader := strings.NewReader(body)
				b.ReportAllocs()
				for b.Loop() {
					reader.Reset(body)
					r.Body = io.NopCloser(reader)
					way.handler.ServeHTTP(&nopResponse{http.Header{}}, r)
				}
			})
		}
	}
}

func TestAllocations(t *testing.T) {
	h, body := newHandler(t, nil, benchmarkedTool()), bodyOf(0)
	r, reader := request(body), strings.NewReader(body)
	got := testing.AllocsPerRun(200, func() {
		reader.Reset(body)
		r.Body = io.NopCloser(reader)
		h.ServeHTTP(&nopResponse{http.Header{}}, r)
	})
	if got > 75 {
		t.Errorf("a call makes %.0f allocations, at most 75 are allowed", got)
	}
}
