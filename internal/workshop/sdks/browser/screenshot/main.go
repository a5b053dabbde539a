// Screenshot makes the picture of toolwire page that the README shows: it starts
// toolwire page, lets the sample agent run, and takes the top of the run's page. Run it in the
// folder above:
//
//	go run ./screenshot -o ../../../../docs/page.png
//
// The exit status is 0 when the picture is there, 1 when it could not be made, 2 for a mistake on
// the command line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/toolwire/toolwire/internal/workshop/sdks/browser"
)

func main() {
	out := flag.String("o", "page.png", "the PNG `file` to write")
	dark := flag.Bool("dark", false, "in dark colours")
	path := flag.String("page", "run", "which page: run, list or form")
	width := flag.Int("width", 1280, "of the window, in CSS pixels")
	height := flag.Int("height", 1660, "of the picture, in CSS pixels; 0 is the whole page")
	scale := flag.Float64("scale", 1, "device pixels per CSS pixel")
	flag.Parse()
	mistake := ""
	switch {
	case flag.NArg() > 0:
		mistake = fmt.Sprintf("unexpected argument %q", flag.Arg(0))
	case *path != "run" && *path != "list" && *path != "form":
		mistake = fmt.Sprintf("-page is run, list or form, not %q", *path)
	case *width < 1 || *height < 0 || *scale <= 0:
		mistake = "-width and -scale are positive, and -height is not negative"
	}
	if mistake != "" {
		fmt.Fprintf(os.Stderr, "screenshot: %s\n", mistake)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	png, err := take(ctx, *path, *dark, *width, *height, *scale)
	if err == nil {
		err = os.WriteFile(*out, png, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "screenshot: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d KiB\n", *out, len(png)>>10)
}

func take(ctx context.Context, path string, dark bool, width, height int, scale float64) (png []byte, err error) {
	program, err := browser.FindBrowser()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "screenshot")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	url, stop, err := browser.StartPlatform(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	tab, closeBrowser := browser.StartBrowser(ctx, program, width, max(height, 900), scale)
	defer closeBrowser()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	steps := []chromedp.Action[chromedp.Void]{
		browser.Colours(scheme), chromedp.EmulateViewport(int64(width), int64(max(height, 900)), chromedp.EmulateScale(scale)),
		chromedp.Navigate(url),
	}
	if path != "form" {
		steps = append(steps, chromedp.Click(`form[action="/runs/sample"] button`), chromedp.WaitVisible(".status.completed"))
	}
	switch path {
	case "list":
		steps = append(steps, chromedp.Navigate(url))
	case "form":
		steps = append(steps, chromedp.Navigate(url+"dispatch"))
	}
	if err := chromedp.Do(tab, steps...); err != nil {
		return nil, err
	}
	if height == 0 {
		return chromedp.Run(tab, chromedp.FullScreenshot(100))
	}
	return chromedp.Run(tab, chromedp.CaptureScreenshot())
}
