// Anthropic serves an agent on Anthropic's Go SDK as an endpoint of the platform.
//
//	AGENT_TOKEN=… ANTHROPIC_API_KEY=… go run . -model claude-sonnet-4-5
//
// The agent is in loop.go, with a loop written by hand, and in runner.go, on the tool runner of the
// SDK. The tests run both without a key and without a network.
package main

import (
	"flag"
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

func main() {
	kind := flag.String("agent", "loop", "which agent: loop or runner")
	model := flag.String("model", "claude-sonnet-4-5", "the model's `id`")
	listen := flag.String("listen", ":8080", "the `address` to listen on")
	flag.Parse()
	newAgent := loopAgent
	if *kind == "runner" {
		newAgent = runnerAgent
	} else if *kind != "loop" {
		log.Fatalf("-agent is loop or runner, not %q", *kind)
	}
	agent, err := newAgent(newClient(&http.Client{}), *model)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := dispatch.New(agent, &dispatch.Options{
		Tokens: []string{os.Getenv("AGENT_TOKEN")},
		Logger: slog.Default(),
	})
	if err != nil {
		log.Fatal(err) // for example when AGENT_TOKEN is not set
	}
	http.Handle("/dispatch", handler)
	log.Fatal(http.ListenAndServe(*listen, nil))
}

// newClient returns a client whose traffic is reported to the run: model, tokens and conversation.
func newClient(client *http.Client, opts ...option.RequestOption) anthropic.Client {
	watched := *client
	watched.Transport = &llm.Transport{Base: client.Transport}
	return anthropic.NewClient(append(opts, option.WithHTTPClient(&watched))...)
}
