// Agent serves the support agent of a shop as an endpoint of the platform.
//
//	AGENT_TOKEN=… go run . -listen :8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/toolwire/toolwire/dispatch"
)

// runTimeout is how long a run may take. The registration has the same value, as run_timeout_s.
const runTimeout = 5 * time.Minute

func main() {
	address := flag.String("listen", ":8080", "the `address` to listen on")
	tokenFile := flag.String("token-file", "", "a `file` with the agent's token (default: the variable AGENT_TOKEN)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(ctx, *address, *tokenFile, logger); err != nil {
		logger.Error("the agent has stopped", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, tokenFile string, logger *slog.Logger) error {
	token, err := readToken(tokenFile)
	if err != nil {
		return err
	}
	agent, err := newAgent()
	if err != nil {
		return err
	}
	handler, err := newHandler(agent, token, logger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	logger.Info("the agent is listening", "address", listener.Addr().String())
	return serve(ctx, listener, handler)
}

// readToken returns the token that the platform has to send: the content of the file, or of
// AGENT_TOKEN if there is no file.
func readToken(file string) (string, error) {
	if file == "" {
		if token := os.Getenv("AGENT_TOKEN"); token != "" {
			return token, nil
		}
		return "", errors.New("set AGENT_TOKEN, or name a file with -token-file")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("-token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func newHandler(agent dispatch.Agent, token string, logger *slog.Logger) (*dispatch.Handler, error) {
	return dispatch.New(agent, &dispatch.Options{
		Tokens:         []string{token},
		RunTimeout:     runTimeout,
		SendTranscript: true, // the platform shows the tool calls of each run
		Logger:         logger,
	})
}

// serve serves the agent at /dispatch until ctx ends. Then it rejects new runs and waits for the runs
// in progress.
func serve(ctx context.Context, listener net.Listener, handler *dispatch.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("/dispatch", handler)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), runTimeout)
	defer cancel()
	return errors.Join(handler.Drain(drain), server.Shutdown(drain))
}
