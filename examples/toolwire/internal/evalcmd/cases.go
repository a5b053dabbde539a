package evalcmd

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

var (
	//go:embed testdata/orders.csv
	sampleDataset string

	//go:embed testdata/world.json
	sampleWorld []byte
)

// cases reads the dataset and puts its rows into the world.
func (o *options) cases() ([]eval.Case, error) {
	var rows io.Reader = strings.NewReader(sampleDataset)
	if o.dataset != "" {
		file, err := os.Open(o.dataset)
		if err != nil {
			return nil, fmt.Errorf("-dataset: %w", err)
		}
		defer func() { _ = file.Close() }()
		rows = file
	}
	dataset, err := eval.Read(rows)
	if err != nil && o.dataset != "" {
		return nil, fmt.Errorf("-dataset: %s: %w", o.dataset, err)
	}
	if err != nil {
		return nil, err
	}
	var world proxytest.World
	switch {
	case o.world != "":
		data, err := os.ReadFile(o.world)
		if err != nil {
			return nil, fmt.Errorf("-world: %w", err)
		}
		if world, err = proxytest.ParseWorld(data); err != nil {
			return nil, fmt.Errorf("-world: %s: %w", o.world, err)
		}
	case o.agent.URL == "":
		if world, err = proxytest.ParseWorld(sampleWorld); err != nil {
			return nil, err
		}
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: world}, nil)
	if err != nil {
		return nil, err
	}
	for i := range cases {
		if c := &cases[i]; o.stateAsInput && c.Row.State != nil && c.Row.Input == nil {
			c.Task.Input = c.Row.State
		}
	}
	return cases, nil
}

// graderVersion changes with grade.
const graderVersion = "says 1"

// grade checks what can be checked without a model.
func grade(_ context.Context, c eval.Case, result *dispatchtest.Result) error {
	says := strings.TrimSpace(c.Row.Extra["says"])
	if !strings.Contains(strings.ToLower(result.FinalResponse), strings.ToLower(says)) {
		return fmt.Errorf("the final response does not say %q: %s", says, result.FinalResponse)
	}
	if c.Row.ExpectedOutcome == eval.Refusal && len(result.Changes) > 0 {
		return fmt.Errorf("a refusal is expected, and the run changed the world: %s", result.Changes)
	}
	return nil
}
