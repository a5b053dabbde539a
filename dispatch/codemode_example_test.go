package dispatch_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

// This is the whole program of an agent in code mode.
func ExampleMain() {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "The order: " + string(order)}, nil
	}
	dispatch.Main(agent, &dispatch.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
}
