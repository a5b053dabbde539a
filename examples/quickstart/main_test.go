package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

func TestQuickstart(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		final  string // of the timeline, or a part of the error text
		calls  int
	}{
		{"default", nil, 0, "The refund of $79.50 has been issued for order #4521", 2},
		{"recent order", []string{"-state", "testdata/recent.json"}, 0, "shipped 10 days ago, which is not more than 30 days, so it was not refunded", 1},
		{"recent enough for another limit", []string{"-state", "testdata/recent.json", "-instruction", "Refund order #4521 if it shipped more than 5 days ago."}, 0, "has been issued", 2},
		{"no condition", []string{"-state", "testdata/recent.json", "-instruction", "Please refund order 4521"}, 0, "has been issued", 2},
		{"missing order", []string{"-instruction", "Refund order #77."}, 0, "Order #77 could not be found", 1},
		{"empty shop", []string{"-state", "testdata/empty.json"}, 0, "Order #4521 could not be found", 1},
		{"order from the task input", []string{"-instruction", "Refund my purchase."}, 0, "has been issued for order #4521", 2},
		{"another customer", []string{"-state", file("other.json", `{"order":{"4521":{"customer_id":"x","status":"shipped","shipped_at":"2020-01-01","amount":1}}}`)}, 0, "belongs to another customer", 1},
		{"not shipped", []string{"-state", file("open.json", `{"order":{"4521":{"customer_id":"cust_99","status":"processing"}}}`)}, 0, "is processing", 1},
		{"unreadable date", []string{"-state", file("date.json", `{"order":{"4521":{"customer_id":"cust_99","status":"shipped","shipped_at":"soon"}}}`)}, 0, "is unreadable", 1},
		{"a model", []string{"-model"}, 0, "tokens     804 input, 80 output by scripted-1", 2},
		{"a model with a state", []string{"-model", "-state", "testdata/recent.json"}, 2, "cannot be used with", 0},
		{"a model with an instruction", []string{"-instruction", "Refund order #77.", "-model"}, 2, "cannot be used with", 0},
		{"no such file", []string{"-state", "testdata/nope.json"}, 2, syscall.ENOENT.Error(), 0},
		{"no JSON", []string{"-state", file("bad.json", `{`)}, 2, "initial_state", 0},
		{"null order", []string{"-state", file("null.json", `{"order":{"1":null}}`)}, 2, "/order/1", 0},
		{"unknown flag", []string{"-nope"}, 2, "-nope", 0},
		{"stray argument", []string{"x"}, 2, "unexpected argument", 0},
		{"help", []string{"-h"}, 0, "what the user asks for", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), tt.args, &stdout, &stderr); status != tt.status {
				t.Errorf("status %d, want %d\n%s%s", status, tt.status, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String()+stderr.String(), tt.final) {
				t.Errorf("%q is missing in\n%s%s", tt.final, stdout.String(), stderr.String())
			}
			if calls := strings.Count(stdout.String(), "\ncall "); calls != tt.calls {
				t.Errorf("%d calls, want %d\n%s", calls, tt.calls, stdout.String())
			}
		})
	}
}

// The transcript has the ids and the grouping of the model.
func TestQuickstartModelJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-model", "-json"}, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	var got struct{ Messages []dispatch.Message }
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range got.Messages {
		row := string(m.Role) + m.ToolCallID
		for _, call := range m.ToolCalls {
			row += call.ID
		}
		rows = append(rows, row)
	}
	want := []string{"system", "user", "assistantcall_1", "toolcall_1", "assistantcall_2", "toolcall_2", "assistant"}
	if !slices.Equal(rows, want) {
		t.Errorf("got %q, want %q", rows, want)
	}
}

// If the model is not sent what its script expects, the program fails.
func TestQuickstartModelFails(t *testing.T) {
	defer func(s []llmtest.Step) { script = s }(script)
	script = append(slices.Clone(script), llmtest.Text("never"))
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-model"}, &stdout, &stderr); status != 1 || !strings.Contains(stderr.String(), "has not been used") {
		t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
}

func TestQuickstartJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-json"}, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	var got struct {
		OK    bool `json:"ok"`
		Ping  struct{ Status int }
		Calls []struct {
			Tool      string
			Arguments map[string]any
			Response  map[string]any
			Source    string
			LatencyMS *float64 `json:"latency_ms"`
		}
		Final string `json:"final_response"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, stdout.String())
	}
	if !got.OK || got.Ping.Status != 200 || len(got.Calls) != 2 || got.Calls[1].Tool != "refund_order" || got.Calls[1].Arguments["amount"] != 79.5 ||
		got.Calls[1].Source != "odyssey" || got.Calls[1].LatencyMS == nil || !strings.Contains(got.Final, "$79.50") {
		t.Errorf("got %+v", got)
	}
}

// What the README shows is what the program prints, but for times and the date of the day.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	varying := regexp.MustCompile(`[0-9.]+ ms|"shipped_at":"[0-9-]+"`)
	shown := regexp.MustCompile(`(?s)\$ go run \./examples/quickstart ?([^\n]*)\n(.+?)\n` + "```")
	found := shown.FindAllStringSubmatch(string(readme), -1)
	if len(found) != 1 {
		t.Fatalf("the README shows %d runs, want 1", len(found))
	}
	for _, match := range found {
		var args []string
		for _, quoted := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(match[1], -1) {
			args = append(args, strings.Trim(quoted, `"`))
		}
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, &stdout, &stderr); status != 0 {
			t.Fatalf("%q: status %d: %s", args, status, stderr.String())
		}
		got, want := varying.ReplaceAllString(strings.TrimSpace(stdout.String()), "…"), varying.ReplaceAllString(match[2], "…")
		if got != want {
			t.Errorf("%q prints\n%s\nthe README shows\n%s", args, got, want)
		}
	}
}

// A run that fails makes the program fail: here the user's interrupt ends it before it begins.
func TestQuickstartFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if status := run(ctx, nil, &stdout, &stderr); status != 1 || !strings.Contains(stdout.String(), "verdict    failed") {
		t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
}
