package cassette_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/proxy"
)

// A cassette between the client and a proxy that misbehaves changes nothing for the client: it
// claims the same about the tool. The tape has what happened.
func TestFaultsThroughTheTransport(t *testing.T) {
	const good = `{"tool_name":"x","response":{"a":1},"source":"odyssey","latency_ms":1}`
	codes := map[faulttest.Outcome]toolwire.Code{
		faulttest.Status: toolwire.CodeUnexpectedStatus, faulttest.BadBody: toolwire.CodeBadResponse,
		faulttest.TooLarge: toolwire.CodeResponseTooLarge,
		faulttest.Broken:   toolwire.CodeTransport, faulttest.Canceled: toolwire.CodeCanceled,
	}
	statuses := map[int]toolwire.Code{429: toolwire.CodeRateLimited, 500: toolwire.CodeServerError}
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, good, func(ctx context.Context, p faulttest.Peer) {
				c, path := recording(t)
				client, err := proxy.New(p.URL, token,
					&proxy.Options{Transport: c.Transport(p.Transport), MaxAttempts: 1})
				if err != nil {
					t.Fatal(err)
				}
				_, err = client.Do(ctx, "refund_order", map[string]string{"id": "1"})
				broken := ""
				switch e, _ := errors.AsType[*proxy.Error](err); {
				case p.Want.Outcome == faulttest.Success:
					if err != nil {
						t.Error(err)
					}
				case e == nil:
					t.Fatalf("got %v", err)
				default:
					want := codes[p.Want.Outcome]
					if code, ok := statuses[p.Want.Status]; ok {
						want = code
					}
					delivery := proxy.Unknown
					switch {
					case p.Want.Delivery == faulttest.NotSent, p.Want.Delivery == faulttest.Either &&
						e.Delivery == proxy.NotSent:
						delivery = proxy.NotSent
					case p.Want.Status == 429:
						delivery = proxy.Refused
					}
					if e.Code != want || e.Delivery != delivery || e.RetryAfter != p.Want.RetryAfter {
						t.Errorf("%v\ncode %q, delivery %q, Retry-After %s; want %q, %q", err, e.Code, e.Delivery,
							e.RetryAfter, want, delivery)
					}
					switch {
					case p.Want.Outcome == faulttest.TooLarge:
						broken = "oversize"
					case p.Want.Outcome == faulttest.Canceled:
						broken = "abandoned"
					case p.Want.Outcome == faulttest.Broken && e.Status == 0:
						broken = "reset"
					case p.Want.Outcome == faulttest.Broken, p.Want.Status == 500: // which is cut off
						broken = "truncate"
					}
				}
				err = c.Close()
				if p.Want.Status == 101 { // a tape does not have such an answer
					if toolwire.CodeOf(err) != "unwritable" ||
						!strings.Contains(c.Report().String(), "switches protocols") {
						t.Errorf("%v\n%s", err, c.Report())
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if p.Want.Delivery == faulttest.NotSent {
					return // the tape has no request that was not sent
				}
				tape, err := cassette.Load(path)
				if err != nil || len(tape.Interactions) != 1 {
					t.Fatalf("%+v, %v", tape, err)
				}
				got := tape.Interactions[0]
				if got.Broken != broken || p.Want.Outcome == faulttest.Status && got.Status != p.Want.Status {
					t.Errorf("the tape has %+v, want the break %q", got, broken)
				}
				if w := p.Want.RetryAfter; w > 0 && (got.RetryAfter == nil || *got.RetryAfter != int64(w.Seconds())) {
					t.Errorf("the tape has Retry-After %v", got.RetryAfter)
				}
			})
		})
	}
}

// A proxy that misbehaves behind a cassette that is a server ends the client's call with an answer
// or with a broken connection.
func TestFaultsBehindTheHandler(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		if row.Want.Outcome == faulttest.Canceled {
			continue // the client's context does not reach the proxy behind before the connection ends
		}
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"tool_name":"x","response":{"a":1},"source":"odyssey","latency_ms":1}`,
				func(ctx context.Context, p faulttest.Peer) {
					c := newCassette(t, filepath.Join(t.TempDir(), "run.jsonl"),
						&cassette.Options{Mode: cassette.Record, Upstream: p.URL, Transport: p.Transport})
					server := httptest.NewServer(c)
					defer server.Close()
					transport := &http.Transport{DisableKeepAlives: true}
					client, err := proxy.New(server.URL, token, &proxy.Options{Transport: transport, MaxAttempts: 1})
					if err != nil {
						t.Fatal(err)
					}
					_, err = client.Do(ctx, "refund_order", map[string]string{"id": "1"})
					switch e, _ := errors.AsType[*proxy.Error](err); {
					case (err == nil) != (p.Want.Outcome == faulttest.Success):
						t.Errorf("got %v", err)
					case p.Want.Delivery == faulttest.NotSent &&
						(e.Status != 502 || e.Class != "cassette_unreachable"):
						t.Errorf("got %v", err)
					case p.Want.Outcome == faulttest.Status && e.Status != p.Want.Status:
						t.Errorf("got %v, want the status %d", err, p.Want.Status)
					case p.Want.Outcome == faulttest.TooLarge && e.Code != toolwire.CodeResponseTooLarge:
						t.Errorf("got %v", err)
					}
					_ = c.Close()
				})
		})
	}
}

// The cassette's handler needs no credential: the client's token belongs to the proxy behind it.
func TestLongestAnnouncedBody(t *testing.T) {
	hostiletest.Run(t, func(t testing.TB) hostiletest.Subject {
		ran := 0
		c, err := cassette.New(filepath.Join(t.TempDir(), "run.jsonl"), &cassette.Options{Mode: cassette.Record})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return hostiletest.Subject{
			Handler: c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				ran++
				envelope(w, "a", "{}")
			})),
			Path: "/tools/a", Credential: "Authorization: Bearer " + token, Body: "{}", MaxBody: 1 << 20,
			Ran: func() int { return ran },
		}
	}, hostiletest.Select(hostiletest.Rows, "a good request", "2^63-1 bytes are announced"))
}
