package main

import (
	_ "embed"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

//go:embed testdata/default.json
var defaultState string

var daysAgo = regexp.MustCompile(`"(\d+) days ago"`)

// shopState reads the orders, {"order": {id: {…}}}, from a file or takes the built-in ones. A date
// such as "41 days ago" becomes that date.
func shopState(file string, now time.Time) (string, error) {
	state := defaultState
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		state = string(data)
	}
	return daysAgo.ReplaceAllStringFunc(state, func(text string) string {
		days, _ := strconv.Atoi(daysAgo.FindStringSubmatch(text)[1])
		return now.UTC().AddDate(0, 0, -days).Format(`"` + time.DateOnly + `"`)
	}), nil
}

// open makes a platform with the shop behind it.
func open(stateFile string) (*proxytest.Platform, error) {
	state, err := shopState(stateFile, time.Now())
	if err != nil {
		return nil, err
	}
	world := shop.World()
	world.InitialState = state
	return proxytest.New(world, nil)
}
