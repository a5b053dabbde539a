// Genai serves an agent on Google's Go SDK for Gemini as an endpoint of the platform.
//
//	AGENT_TOKEN=… GEMINI_API_KEY=… go run . -model gemini-2.5-flash
//
// The agent is in agent.go. The tests run it without a key and without a network.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"net/http"
	"os"

	"google.golang.org/genai"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

func main() {
	model := flag.String("model", "gemini-2.5-flash", "the model's `id`")
	listen := flag.String("listen", ":8080", "the `address` to listen on")
	flag.Parse()
	client, err := newClient(context.Background(), &http.Client{}, genai.ClientConfig{})
	if err != nil {
		log.Fatal(err) // for example when GEMINI_API_KEY is not set
	}
	handler, err := dispatch.New(newAgent(client, *model), &dispatch.Options{
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
func newClient(ctx context.Context, client *http.Client, config genai.ClientConfig) (*genai.Client, error) {
	watched := *client
	watched.Transport = &llm.Transport{Base: client.Transport}
	config.HTTPClient = &watched
	return genai.NewClient(ctx, &config)
}
