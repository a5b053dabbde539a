package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

// The key of the model's API, in a header or in the URL, and the account of an ARN in the URL are in nothing that a run sends or that a
// program prints.
func TestNoKeyIsShown(t *testing.T) {
	const key = "sk-canary-model"
	for _, w := range wires {
		var shown strings.Builder
		show := func(v any) {
			fmt.Fprintf(&shown, "%v %+v %#v\n", v, v, v)
			text, _ := json.Marshal(v)
			shown.Write(text)
		}
		transport := &llm.Transport{Base: model(w.calls[1], w.final[1], w.calls[0])}
		result := inRun(t, func(ctx context.Context, run *dispatch.Run) error {
			for _, ask := range []string{w.ask, w.again, w.ask} { // the last one does not append
				if _, err := send(ctx, transport, w.path+"?key="+key, ask); err != nil {
					return err
				}
				show(transport)
				show(run)
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			_, err := send(ended, transport, w.path+"?key="+key, w.ask)
			show(err)
			_, err = send(ctx, transport, w.path+"?key="+key, w.ask)
			if show(err); err == nil {
				t.Errorf("%s: a model without another response has answered", w.name)
			}
			return nil
		})
		show(result)
		show(result.Problems)
		if len(result.Problems) != 0 {
			t.Errorf("problems %v", result.Problems)
		}
		if strings.Contains(shown.String(), "123456789012") {
			t.Errorf("%s: the account of an ARN is shown:\n%s", w.name, shown.String())
		}
		if strings.Contains(shown.String(), key) {
			t.Errorf("%s: the key is shown:\n%s", w.name, shown.String())
		}
	}
}
