package evalcmd

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

var htmlFolder = flag.String("html", "", "a `folder` for the files of TestDecision, of which the picture in docs/evaluation.md is made")

// versionOne is the sample agent, with the tokens that a model would need.
func versionOne(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	response, err := sampleAgent(ctx, run)
	if response != nil {
		response.Metadata = &dispatch.Metadata{Model: "small-2", TotalInputTokens: 900, TotalOutputTokens: 60}
	}
	return response, err
}

// versionThree is not impressed by an angry tone. Its prompt is longer, and it looks an order up once
// more after it has refunded it.
func versionThree(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	calm := *run
	calm.Instruction = strings.TrimRight(run.Instruction, "!") + "."
	response, err := sampleAgent(ctx, &calm)
	if response != nil && strings.Contains(response.FinalResponse, "issued") {
		_, err = proxy.Call[any](ctx, run.Proxy, "get_order", orderArgs{OrderID: orderNumber.FindStringSubmatch(run.Instruction)[1]})
	}
	if response != nil {
		response.Metadata = &dispatch.Metadata{Model: "small-2", TotalInputTokens: 1000, TotalOutputTokens: 70}
	}
	return response, err
}

// versionTwo also asks back before it refunds more than 200, and reports no tokens then.
func versionTwo(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	if strings.Contains(run.Instruction, "#1003") {
		return say("Order #1003 is worth $240. Shall I refund it?")
	}
	return versionThree(ctx, run)
}

// talker says what version one would, and refunds nothing.
func talker(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	args := orderArgs{OrderID: orderNumber.FindStringSubmatch(run.Instruction)[1]}
	found, err := proxy.Call[order](ctx, run.Proxy, "get_order", args)
	switch {
	case toolwire.CodeOf(err) == toolwire.CodeToolFailed:
		return say("I could not find order #%s.", args.OrderID)
	case err != nil:
		return nil, err
	case found.Status == "refunded":
		return say("Order #%s has been refunded before.", args.OrderID)
	case found.Status != "shipped":
		return say("Order #%s is %s, so I did not refund it.", args.OrderID, found.Status)
	}
	return say("The refund of $%.2f for order #%s has been issued.", found.Amount, args.OrderID)
}

// The example of docs/evaluation.md prints what the page shows: 30 rows, three versions and a decision.
func TestDecision(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/evaluation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "## From an empty file to a decision")
	shown, _, _ = strings.Cut(shown, "\n## ")
	dir := cmp.Or(*htmlFolder, t.TempDir())
	prices := filepath.Join(dir, "prices.json")
	if err := os.WriteFile(prices, []byte(`{"small-2": {"input": 0.25, "output": 2}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	for _, version := range []struct {
		agent dispatch.Agent
		args  string
	}{
		{versionOne, "-plan -trials 3"},
		{talker, "-trials 3 -agent-version talker"},
		{versionOne, "-trials 3 -agent-version v1 -results v1.jsonl -prices prices.json -slice topic"},
		{versionTwo, "-trials 3 -agent-version v2 -results v2.jsonl -prices prices.json -slice topic -baseline v1.jsonl -gate cost=0.3 -max-trial-cost 0.0008 -html report.html"},
		{versionThree, "-trials 3 -agent-version v3 -results v3.jsonl -prices prices.json -baseline v1.jsonl -gate cost=0.3 -max-trial-cost 0.0008"},
	} {
		handler, err := dispatch.New(version.agent, &dispatch.Options{InsecureNoAuth: true})
		if err != nil {
			t.Fatal(err)
		}
		agent := httptest.NewServer(handler)
		t.Cleanup(agent.Close)
		if !strings.Contains(shown, version.args) {
			t.Errorf("the page does not have the command %s", version.args)
		}
		args := []string{"-dataset", "testdata/refunds.jsonl", "-world", "testdata/world.json", "-url", agent.URL}
		for _, arg := range strings.Fields(version.args) {
			if strings.Contains(arg, ".json") || strings.HasSuffix(arg, ".html") {
				arg = filepath.Join(dir, arg)
			}
			args = append(args, arg)
		}
		var out bytes.Buffer
		Run(t.Context(), args, &out, &out)
		printed.Write(out.Bytes())
	}
	if args := "versions -prices prices.json v1.jsonl v2.jsonl v3.jsonl"; !strings.Contains(shown, args) {
		t.Errorf("the page does not have the command %s", args)
	}
	var table bytes.Buffer
	Run(t.Context(), []string{"versions", "-prices", prices, filepath.Join(dir, "v1.jsonl"), filepath.Join(dir, "v2.jsonl"), filepath.Join(dir, "v3.jsonl")}, &table, &table)
	printed.Write(table.Bytes())
	// Spaces do not count, and … stands for anything. A line may be shown without its beginning or its end.
	spaces := regexp.MustCompile(` +`)
	all := spaces.ReplaceAllString(printed.String(), " ")
	lines := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(shown, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(spaces.ReplaceAllString(line, " "))
			if strings.HasPrefix(line, "$ ") {
				continue
			}
			lines++
			parts := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
			if !regexp.MustCompile(`(?m)^ ?` + parts + `|` + parts + ` ?$`).MatchString(all) {
				t.Errorf("the page shows %q, which is not printed", line)
			}
		}
	}
	if lines < 15 {
		t.Errorf("the page shows %d lines", lines)
	}
	if t.Failed() || testing.Verbose() {
		t.Log(printed.String())
	}
}
