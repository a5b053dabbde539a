// Multiagent serves a supervisor with two specialists, on OpenAI's Go SDK, as an endpoint of the
// platform.
//
//	AGENT_TOKEN=… OPENAI_API_KEY=… go run . -model gpt-5.2
//
// The supervisor (supervisor.go) gives its specialists (specialist.go) tasks, several at the same
// time if its model asks for that. Each agent has a conversation of its own with the model, and a
// label (team.go) under which the platform shows its tool calls. The tests run without a key and
// without a network.
package main

import (
	"flag"
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

func main() {
	model := flag.String("model", "gpt-5.2", "the model's `id`")
	listen := flag.String("listen", ":8080", "the `address` to listen on")
	flag.Parse()
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

// newClient returns a client whose traffic is reported to the run: model, tokens and a conversation
// for each label.
func newClient(client *http.Client, opts ...option.RequestOption) openai.Client {
	watched := *client
	watched.Transport = &llm.Transport{Base: client.Transport}
	return openai.NewClient(append(opts, option.WithHTTPClient(&watched))...)
}
