package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// For any response, every call returns a plausible result or an error that can be shown.
func FuzzClientAnswer(f *testing.F) {
	for _, body := range []string{``, calculatorItem, `[` + calculatorItem + `]`, `{"success":true,"data":[` +
		calculatorItem + `],"message":"ok"}`,
		`{"success":true,"data":` + calculatorItem + `}`,
		`{"success":false,"error":{"code":"x","message":"y","problems":[{"field":"a","message":"b"}]}}`,
		`{"script":"a","content":null}`, `{"detail":[{"loc":["body",0],"msg":"m","type":"t","input":1}]}`,
		`{"detail":"Tool not found"}`,
		`{"id":"` + clientID + `","name":"x","tags":"a,b","script_content":""}`, `<html>`,
		"{\"message\":\"\\u001b[2J\\ud800 " + clientKeyCore + "\"}"} {
		for _, status := range []int{200, 204, 422, 503} {
			f.Add(status, body, "3", "r-1")
		}
	}
	f.Fuzz(func(t *testing.T, status int, body, retryAfter, id string) {
		header := http.Header{"Retry-After": {retryAfter}, "X-Request-Id": {id}}
		cost.Linear(t, "a response", []byte(body), cost.List(`{"data":[`, []byte(body), `]}`), func(doc []byte) {
			s := &clientScript{steps: []clientStep{{status: status, body: string(doc), header: header}}}
			c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s, MaxAttempts: 1})
			_, _ = c.List(t.Context(), "")
		})
		s := &clientScript{steps: []clientStep{{status: status, body: body, header: header}}}
		c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s, MaxAttempts: 1})
		check := func(item catalog.ListItem) {
			if !text.ValidUUID(item.ID) || item.Name == "" || !utf8.ValidString(item.Name+item.Description+item.ScriptContent+
				strings.Join(item.Tags, "")) {
				t.Errorf("%q became %+v", body, item)
			}
		}
		for name, call := range clientCalls {
			err := call(t.Context(), c)
			e, isError := errors.AsType[*toolwire.Error](err)
			switch {
			case err == nil && (status < 200 || status > 299 || status != 204 && !json.Valid([]byte(body))):
				t.Errorf("%s: %d %q is not an error", name, status, body)
			case err != nil && (!isError || e.Code == "" || e.Message == "" || len(err.Error()) > 250<<10 || e.Response != nil && e.Response.RetryAfter < 0):
				t.Errorf("%s: %#v", name, err)
			case err != nil && (!utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\x1b\r\x00") ||
				strings.Contains(fmt.Sprintf("%#v", err), clientKey)):
				t.Errorf("%s: %q", name, err)
			}
		}
		if list, err := c.List(t.Context(), ""); err == nil {
			for _, item := range list {
				check(item)
			}
		}
		if item, err := c.Get(t.Context(), clientID); err == nil {
			check(*item)
		}
		if script, err := c.Script(t.Context(), clientID); err == nil && script == "" {
			t.Error("an empty script")
		}
	})
}
