package redact_test

import (
	"testing"

	"github.com/toolwire/toolwire/internal/redact"
)

func TestRedactor(t *testing.T) {
	card := func(pointer, name string) bool { return pointer == "/card/number" && name == "number" }
	all := &redact.Redactor{Credentials: true, Member: card, Secrets: redact.New("hunter2")}
	for body, want := range map[string]string{
		`{"api_key":"a","n":1,"password":null}`:            `{"api_key":"[redacted]","n":1,"password":null}`,
		`{"card":{"number":4111,"cvc":1}}`:                 `{"card":{"number":"[redacted]","cvc":1}}`,
		`{"name":"Cookie","value":"a"}`:                    `{"name":"Cookie","value":"[redacted]"}`,
		`{"hunter2":"hunter2","a":["\u0068unter2"]}`:       `{"[redacted]":"[redacted]","a":["[redacted]"]}`,
		`{"a":"{\"pwd\":\"x\"}"}`:                          `{"a":"{\"pwd\":\"[redacted]\"}"}`,
		`{"a":"curl https://u:pw@example.com/?token=x&b"}`: `{"a":"curl https://u:[redacted]@example.com/?token=[redacted]&b"}`,
		`{ "a" : 1 }`: `{"a":1}`,
	} {
		_, raw, text := all.Body([]byte(body))
		if string(raw) != want || text != "" {
			t.Errorf("%s became %s, %q, want %s", body, raw, text, want)
		}
		if _, again, _ := all.Body(raw); string(again) != want {
			t.Errorf("%s became %s when redacted again", raw, again)
		}
	}
	for text, want := range map[string]string{
		"Authorization: Digest a, b\nAccept: c": "Authorization: [redacted]\nAccept: c",
		"-H 'Cookie: a=b' -X GET":               "-H 'Cookie: [redacted]' -X GET",
		"basic abcdefghijkl":                    "basic [redacted]",
		"?filter=%7B%22pwd%22%3A%22x%22%7D":     "?filter=%7B%22pwd%22%3A%22%5Bredacted%5D%22%7D",
		"secret = [a, \"]\"] and hunter2":       "secret = [redacted] and [redacted]",
	} {
		if got := all.Redact(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if got := new(redact.Redactor).Redact(text); got != text {
			t.Errorf("without credentials, members and secrets %q became %q", text, got)
		}
	}
}
