package main

import (
	"fmt"
	"os"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

// loadWorld reads the world that tasks meet; "" is the sample's shop. It is tried out, so that what is wrong with it is
// said at the start and not with the first run.
func loadWorld(file string) (proxytest.World, error) {
	if file == "" {
		return shop()
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return proxytest.World{}, fmt.Errorf("-world: %w", err)
	}
	world, err := proxytest.ParseWorld(data)
	if err == nil {
		_, err = proxytest.New(world, nil)
	}
	if err != nil {
		return proxytest.World{}, fmt.Errorf("-world %s: %w", file, err)
	}
	return world, nil
}
