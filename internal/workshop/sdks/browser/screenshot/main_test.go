package main

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/workshop/sdks/browser"
)

// The picture of the README can be made again at any time, of every page.
func TestTake(t *testing.T) {
	for _, page := range []string{"run", "form"} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		picture, err := take(ctx, page, false, 640, 1000, 1)
		if errors.Is(err, browser.ErrNoBrowser) {
			t.Skip(err) // it names what is missing, and how to install it
		}
		if err != nil {
			t.Fatal(err)
		}
		image, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		if size := image.Bounds().Size(); size.X != 640 || size.Y != 1000 {
			t.Errorf("the picture of the %s has %v pixels", page, size)
		}
	}
}
