package redact

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecret(t *testing.T) {
	const canary = "hunter2-canary"
	type holder struct {
		hidden Secret
		Shown  Secret
	}
	h := holder{Hide(canary), Hide(canary)}
	if h.hidden.Reveal() != canary || h.hidden.String() != Placeholder || (Secret{}).String() != "" || Hide("") != (Secret{}) {
		t.Error("the secret is not as it should be")
	}
	for _, v := range []any{h, &h, []holder{h}, map[string]*holder{"a": &h}, [1]any{h}, h.hidden, &h.hidden} {
		var shown strings.Builder
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&shown, format, v)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(text)
		slog.New(slog.NewTextHandler(&shown, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&shown, nil)).Info("m", "v", v)
		if strings.Contains(shown.String(), canary) || strings.Contains(shown.String(), fmt.Sprintf("%x", canary)) {
			t.Errorf("%T shows its secret: %s", v, &shown)
		}
	}
}
