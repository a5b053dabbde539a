// Quickstart is a whole agent run on one machine, without a key or a network: a small refund agent
// behind a real HTTP server, and a platform in the same process that pings it, dispatches a task to
// it, stands in for the proxy of its tool calls and judges its answer. The agent decides by rules. With
// -model it is a loop around a model, which is scripted.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -model
//	go run ./examples/quickstart -state examples/quickstart/testdata/recent.json
//	go run ./examples/quickstart -instruction "Refund order #77." -json
//
// The exit status is 0 when the run would be graded, 1 when it failed, 2 for a mistake on the
// command line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	instruction := flags.String("instruction", "Refund order #4521 if it shipped more than 30 days ago.", "what the user asks for")
	stateFile := flags.String("state", "", `file with the world's orders: {"order": {"4521": {"status": …}}} (default: the built-in ones)`)
	withModel := flags.Bool("model", false, "run an agent with a scripted model; its script is for the default task and shop")
	asJSON := flags.Bool("json", false, "print the run as JSON instead of a timeline")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "quickstart: unexpected argument %q; see -h\n", flags.Arg(0))
		return 2
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *withModel && (given["instruction"] || given["state"]) {
		fmt.Fprintln(stderr, "quickstart: -model cannot be used with -instruction or -state, because its script is for the default task and shop")
		return 2
	}
	platform, err := open(*stateFile)
	if err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return 2
	}
	agent, model := refundAgent, llmtest.NewModel()
	if *withModel {
		model = llmtest.NewModel(script...)
		if agent, err = modelAgent(model.Client(), model.URL); err != nil {
			fmt.Fprintf(stderr, "quickstart: %v\n", err)
			return 1
		}
	}
	result, err := stage(ctx, platform, agent, *instruction)
	if err == nil {
		err = report(stdout, result, *asJSON)
	}
	if err == nil && *withModel && !*asJSON {
		err = reportModel(stdout, result)
	}
	if err == nil {
		err = model.Err() // that the model was not sent what the script expects
	}
	if err != nil {
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return 1
	}
	if !result.OK() {
		return 1
	}
	return 0
}

// stage serves the agent as a program of one's own would, and lets the platform run a task against
// it.
func stage(ctx context.Context, platform *proxytest.Platform, agent dispatch.Agent, instruction string) (*dispatchtest.Result, error) {
	const token = "a-token-for-this-example" // a real one comes from the environment
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{token}})
	if err != nil {
		return nil, err
	}
	return dispatchtest.Dispatch(ctx, dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + token}, dispatchtest.Task{
		ID: 42, AgentID: 8, Instruction: instruction, Platform: platform,
		Input: map[string]string{"customer_id": "cust_99", "order_id": "4521"},
	})
}

func report(w io.Writer, result *dispatchtest.Result, asJSON bool) error {
	if !asJSON {
		_, err := io.WriteString(w, result.String())
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		*dispatchtest.Result
		OK bool `json:"ok"`
	}{result, result.OK()})
}
