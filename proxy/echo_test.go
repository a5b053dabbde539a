package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// A proxy that repeats the run token gets it into no text of the client.
func TestAPeerThatRepeatsTheToken(t *testing.T) {
	long := strings.Repeat("x", 1024-len("…")-10) // a message has at most 1 KiB, so 10 bytes of the token would stay
	for name, s := range map[string]step{
		"class":          answer(409, `{"detail":{"error_class":"`+runToken+`"}}`),
		"within a class": answer(409, `{"error_class":"token:`+runToken+`"}`),
		"message": answer(422, `{"detail":{"error_class":"arguments_invalid","message":"Bearer `+runToken+
			`"}}`),
		"escaped":                      answer(422, `{"detail":[{"msg":"secret\u002drun\u002dtoken"}]}`),
		"text":                         answer(422, `the token `+runToken),
		"across the cut":               answer(422, `{"detail":"`+long+runToken+`"}`),
		"across the cut of other JSON": answer(422, `{"x":"`+long[:len(long)-6]+runToken+`"}`),
		"across the cut of all":        answer(422, `{"detail":["`+long[:1000]+`","`+long[:1000]+`","`+long[:25]+runToken+`"]}`),
		"cut off":                      brokenOff(422, `{"detail":"`+runToken[:10]),
		"name of a member":             answer(200, `{"response":1,"source":{"`+runToken+`":1}}`),
		"duplicate":                    answer(200, `{"response":{"`+runToken+`":[01]}}`),
		"long pointer":                 answer(200, `{"response":{"`+strings.Repeat("y", 176)+runToken+`":[01]}}`),
		"source":                       answer(200, `{"response":{"error":"x"},"source":"`+runToken+`"}`),
		"server error":                 answer(500, runToken),
	} {
		var log bytes.Buffer
		c := newClient(t, &script{steps: []step{s}}, func(o *proxy.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		_, err := proxy.Call[struct{}](background, c, "get_order", nil)
		e, ok := err.(*proxy.Error)
		if !ok {
			t.Fatalf("%s: %v", name, err)
		}
		_, traceErr := c.Trace(background, proxy.EventCustom, nil)
		for _, text := range []string{
			err.Error(), fmt.Sprint(traceErr), e.Class, e.Detail, log.String(), string(proxy.ToolResult(err)),
		} {
			if strings.Contains(text, runToken[:8]) {
				t.Errorf("%s: the token is in %q", name, text)
			}
		}
	}
}

// brokenOff answers with a body that ends with an error.
func brokenOff(status int, body string) step {
	return func(*http.Request) (*http.Response, error) {
		r := io.MultiReader(strings.NewReader(body), failingReader{})
		return &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(r)}, nil
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A result of exactly 1 MiB arrives, of whatever shape, with a large envelope around it.
func TestResultsOfOneMiB(t *testing.T) {
	const size = 1 << 20
	fill := func(open, unit, last, end string) string {
		n := (size - len(open) - len(last) - len(end)) / len(unit)
		s := open + strings.Repeat(unit, n) + last
		return s + strings.Repeat(" ", size-len(s)-len(end)) + end
	}
	for name, result := range map[string]string{
		"text":            `"` + strings.Repeat("x", size-2) + `"`,
		"small numbers":   fill("[", "1,", "1", "]"),
		"long numbers":    fill("[", strings.Repeat("7", 100)+",", "1", "]"),
		"one number":      strings.Repeat("9", size),
		"lone surrogates": fill("[", `"\ud83d",`, "1", "]"),
		"names":           fill("{", `"a":1,`, `"b":1`, "}"),
	} {
		for padding, code := range map[int]toolwire.Code{0: "", 60 << 10: "", 65 << 10: toolwire.CodeResponseTooLarge} {
			c, _ := scripted(t, answer(200, `{"response":`+result+`,"source":"odyssey","validation":"`+
				strings.Repeat("v", padding)+`"}`))
			got, err := proxy.Call[json.RawMessage](context.Background(), c, "x", nil)
			if toolwire.CodeOf(err) != code || err == nil && string(got) != result {
				t.Errorf("%s with a validation of %d bytes: %d bytes, %v", name, padding, len(got), err)
			}
		}
		c, _ := scripted(t, answer(200, `{"response":`+result[:len(result)-1]+" "+result[len(result)-1:]+`}`))
		if _, err := c.Do(background, "x", nil); name != "one number" &&
			toolwire.CodeOf(err) != toolwire.CodeResponseTooLarge {
			t.Errorf("%s, a byte more: %v", name, err)
		}
	}
}
