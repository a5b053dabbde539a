package main

import (
	"bytes"
	"errors"
	"image/png"
	"testing"

	"github.com/toolwire/toolwire/internal/workshop/sdks/browser"
)

// The pictures can be made again at any time, and are small enough for the repository.
func TestTake(t *testing.T) {
	for _, p := range pictures {
		data, err := p.take(t.Context(), false)
		if errors.Is(err, browser.ErrNoBrowser) {
			t.Skip(err) // it names what is missing, and how to install it
		}
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		image, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if size := image.Bounds().Size(); size.X != width || size.Y != int(p.height) {
			t.Errorf("%s has %v pixels", p.name, size)
		}
	}
}
