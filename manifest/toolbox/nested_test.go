package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

// A handler that calls another toolbox fails for a reason of its own if that call does not fit: its own
// arguments are not wrong.
func TestMisfitOfAnotherCall(t *testing.T) {
	small := toolbox.Typed(func(context.Context, struct {
		N int8 `json:"n"`
	}, toolbox.Agent, toolbox.Tool) (string, error) {
		return "", nil
	})
	inner := parse(t, `[{"name":"inner","handler":"inner"}]`, &toolbox.Options{Handlers: map[string]toolbox.Handler{"inner": small}})
	outer := parse(t, `[{"name":"outer","handler":"outer"}]`, &toolbox.Options{Handlers: map[string]toolbox.Handler{
		"outer": func(ctx context.Context, args json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
			_, err := inner.Call(ctx, "inner", args)
			return "", fmt.Errorf("inner: %w", err)
		},
	}})
	_, err := inner.Call(t.Context(), "inner", json.RawMessage(`{"n":300}`))
	if e, ok := errors.AsType[*toolbox.Error](err); !ok || e.Code != toolwire.CodeInvalidArguments ||
		!strings.Contains(e.Message, "correct them and call the tool again") || e.Err == nil {
		t.Errorf("inner: %v", err)
	}
	if _, err := outer.Call(t.Context(), "outer", json.RawMessage(`{"n":300}`)); toolwire.CodeOf(err) != toolwire.CodeToolFailed {
		t.Errorf("outer: %v", err)
	}
}
