// Package canary tests that no exported type of the module shows a secret that it holds.
package canary

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

// secret is a bearer token, of which no part may be seen.
const secret = "canary-7f3a99c1/hunter2~swordfish"

// traces are how the secret, or a piece of it, may look.
func traces() []string {
	forms := []string{"canary-7f3a99c1", "hunter2", "swordfish", strings.Trim(fmt.Sprint([]byte("canary-7f")), "[]"), "0x63, 0x61, 0x6e, 0x61, 0x72",
		hex.EncodeToString([]byte("canary-7f")), url.QueryEscape(secret), strings.ReplaceAll(secret, "/", `\u002f`)}
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		forms = append(forms, encoded[4:20])
	}
	return forms
}

// show prints v in every way that a program may by mistake. Wire types must keep the secret in
// their JSON, and in the JSON of what holds them.
func show(v any, wire bool) string {
	var b strings.Builder
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&b, format+"\n", v)
	}
	slog.New(slog.NewTextHandler(&b, nil)).Info("text", "v", v)
	if !wire {
		text, err := json.Marshal(v)
		fmt.Fprintf(&b, "json %s %v\n", text, err)
		slog.New(slog.NewJSONHandler(&b, nil)).Info("json", "v", v)
	}
	return b.String()
}

type holder[T any] struct{ Value T }

type keeper[T any] struct{ value T }

// around returns v and what may hold it.
func (r row) around() map[string]any {
	v := r.value
	all := map[string]any{
		"itself": v, "a list": []any{v, v}, "a map": map[string]any{"key": v}, "a struct": holder[any]{v}, "a pointer to a struct": &holder[any]{v},
		"lists in maps": map[string][]map[int]any{"key": {{1: v}}},
	}
	if !r.open {
		all["an unexported field"], all["a list of unexported fields"] = &keeper[any]{v}, []keeper[any]{{v}}
	}
	return all
}

func TestNothingShowsASecret(t *testing.T) {
	for _, row := range table(t) {
		t.Run(row.name, func(t *testing.T) {
			for where, v := range row.around() {
				shown := show(v, row.wire)
				for _, trace := range traces() {
					if strings.Contains(shown, trace) {
						t.Errorf("%s shows %q: %.500s", where, trace, shown)
						break
					}
				}
			}
			if row.wire {
				var b strings.Builder
				slog.New(slog.NewJSONHandler(&b, nil)).Info("json", "v", row.value)
				if strings.Contains(b.String(), "canary") {
					t.Errorf("a log in JSON shows the secret: %s", b.String())
				}
				text, err := json.Marshal(row.value)
				if err != nil || !strings.Contains(string(text), secret) {
					t.Errorf("the JSON does not have the secret, which a peer needs: %s, %v", text, err)
				}
			}
		})
	}
}

// A type that hides nothing shows the traces: the test above can fail.
func TestTheTestSeesSecrets(t *testing.T) {
	type open struct{ Text string }
	for name, v := range map[string]any{
		"string": secret, "bytes": []byte(secret), "raw JSON": json.RawMessage(`"` + secret + `"`), "field": open{secret}, "hidden field": struct{ s string }{secret},
		"base64": open{base64.StdEncoding.EncodeToString([]byte("Bearer " + secret))},
	} {
		shown := show(v, false)
		seen := false
		for _, trace := range traces() {
			seen = seen || strings.Contains(shown, trace)
		}
		if !seen {
			t.Errorf("%s: the secret is not seen in %s", name, shown)
		}
	}
}
