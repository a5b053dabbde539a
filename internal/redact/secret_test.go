package redact

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

type open struct{ Name, Secret string }

func (o open) Format(f fmt.State, verb rune) {
	type plain open
	o.Secret = Field(o.Secret)
	Format(f, verb, plain(o))
}

func TestHidden(t *testing.T) {
	const canary = "hunter2-canary"
	type holder struct {
		hidden Hidden[string]
		Shown  Hidden[[]string]
		set    *Set
	}
	h := holder{Hide(canary), Hide([]string{canary}), New(canary)}
	if h.hidden.Reveal() != canary || h.Shown.Reveal()[0] != canary || (Hidden[int]{}).Reveal() != 0 {
		t.Error("the values are not as they should be")
	}
	for _, v := range []any{h, &h, []holder{h}, map[string]*holder{"a": &h}, [1]any{h}, h.hidden, &h.hidden, h.set,
		*h.set} {
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

func TestFormat(t *testing.T) {
	for format, want := range map[string]string{
		"%v": "{a [redacted]}", "%+v": "{Name:a Secret:[redacted]}",
		"%#v": `redact.plain{Name:"a", Secret:"[redacted]"}`, "%q": `{"a" "[redacted]"}`,
	} {
		if got := fmt.Sprintf(format, open{"a", "hunter2"}); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
	if got := fmt.Sprint(&open{Name: "a"}); got != "{a }" {
		t.Errorf("no secret: got %s", got)
	}
}
