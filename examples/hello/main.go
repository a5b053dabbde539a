// Hello is the agent of docs/getting-started.md: it calls one tool and has no model.
package main

import (
	"context"
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

func agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	order, err := proxy.Call[struct{ Status string }](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
	if err != nil {
		return nil, err
	}
	return &dispatch.Response{FinalResponse: "Your order is " + order.Status + "."}, nil
}

func main() {
	handler, err := dispatch.New(agent, &dispatch.Options{
		Tokens: []string{os.Getenv("AGENT_TOKEN")},
		Logger: slog.Default(),
	})
	if err != nil {
		log.Fatal(err) // for example if AGENT_TOKEN is not set
	}
	http.Handle("/dispatch", handler)
	log.Fatal(http.ListenAndServe(":8080", nil))
}
