package oteltoolwire_test

import (
	"context"
	"fmt"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/oteltoolwire"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// observed returns the options of a handler whose runs, tool calls and requests are reported.
func observed(provider *sdktrace.TracerProvider) (*dispatch.Options, error) {
	tel, err := oteltoolwire.New(&oteltoolwire.Options{TracerProvider: provider, AgentName: "refunds", Provider: "openai"})
	if err != nil {
		return nil, err
	}
	return &dispatch.Options{
		Observer: tel.RunObserver(),
		Proxy:    &proxy.Options{Observer: tel.CallObserver()},
	}, nil
}

// A run in a test, whose spans an exporter keeps in memory. A program passes a provider with an
// exporter of its own, or sets the global one.
func Example() {
	spans := tracetest.NewInMemoryExporter()
	options, err := observed(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	if err != nil {
		log.Fatal(err)
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := proxy.Call[any](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: "Order #4521 has shipped."}, err
	}
	_, err = dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent, Options: options},
		dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Canned(`{"status":"shipped"}`),
		}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range spans.GetSpans() { // in the order in which they ended
		fmt.Println(s.Name)
	}
	// Output:
	// POST /tools/{name}
	// execute_tool get_order
	// invoke_agent refunds
}
