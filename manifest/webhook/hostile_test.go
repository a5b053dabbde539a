package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/manifest/webhook"
)

func TestHostileRequests(t *testing.T) {
	hostiletest.Run(t, func(t testing.TB) hostiletest.Subject {
		var calls atomic.Int64
		h := newHandler(t, &webhook.Options{MaxBodyBytes: 1000}, webhook.Define("count", "",
			func(context.Context, struct{}) (string, error) { calls.Add(1); return "done", nil }))
		return hostiletest.Subject{
			Handler: h, Path: "/tools", Credential: "X-Agent-Secret: " + toolSecret,
			Header: []string{"X-Agent-Identity: " + agentUUID, "Content-Type: application/json"},
			Body:   `{"tool":"count","arguments":{}}`, MaxBody: 1000,
			Ran: func() int { return int(calls.Load()) },
		}
	}, hostiletest.Sentinels())
}

// Responses that the sentinels do not cover also end the connection of a peer that withholds its
// body.
func TestWithheldBodies(t *testing.T) {
	for name, tt := range map[string]struct {
		detail bool
		sent   string
		status int
	}{
		"no identity": {false, "POST /tools HTTP/1.1\r\nHost: x\r\nX-Agent-Secret: " + toolSecret +
			"\r\nContent-Length: 13\r\n\r\n", 400},
		"a detail":      {true, "GET /detail HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n", 200},
		"a detail, 405": {true, "POST /detail HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 405},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, nil,
					webhook.Tool{Name: "a", Func: func(context.Context, json.RawMessage) (any, error) { return nil, nil }})
				if tt.detail {
					h = webhook.Detail(func(context.Context) (string, error) { return "open on Mondays", nil }, nil)
				}
				hostiletest.Withhold(t, h, tt.sent, tt.status)
			})
		})
	}
}

// The log of a rejected request has the address of the peer and the reason, but not the presented
// secret.
func TestRefusalsAreLogged(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(t, &webhook.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, schedule())
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   string
	}{
		{"no secret", header("X-Agent-Secret"), "unauthorized: the header X-Agent-Secret is missing"},
		{"wrong secret", header("X-Agent-Secret", "hunter2"),
			"unauthorized: the secret in the header X-Agent-Secret is not accepted"},
		{"GET", func(r *http.Request) { r.Method = "GET" }, "method_not_allowed: use POST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log.Reset()
			_, body, _ := serve(h, request(goodBody, tt.change, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:4711" }))
			for _, part := range []string{"level=WARN", `msg="webhook refused"`, tt.want, "remote=192.0.2.7:4711"} {
				if !strings.Contains(log.String(), part) {
					t.Errorf("%q is missing in %s", part, log.String())
				}
			}
			if strings.Contains(log.String()+body, "hunter2") {
				t.Errorf("the presented secret is shown: %s %s", log.String(), body)
			}
		})
	}
}
