// Screenshot makes the pictures of the documentation: the page of toolwire page with a run of its
// sample agent, and the report that docs/evaluation.md decides from. Run it in the folder above, after a
// change of how they look:
//
//	go run ./screenshot
//	go run ./screenshot report
//
// The exit status is 0 when the pictures are there, 1 when one could not be made, 2 for a mistake on
// the command line.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/toolwire/toolwire/internal/workshop/sdks/browser"
)

// maxSize is how many bytes a picture may have. Readers of the repository load them.
const maxSize = 150_000

// picture is the top of a page, width pixels wide and height high.
type picture struct {
	name   string
	height int64
	open   func(ctx context.Context, dir string) (url string, stop func() error, err error)
}

const width = 1280

var pictures = []picture{{"page", 1195, browser.StartPlatform}, {"report", 955, openReport}}

func main() {
	folder := flag.String("o", "../../../../docs/img", "the `folder` of the pictures")
	dark := flag.Bool("dark", false, "in dark colours")
	flag.Parse()
	chosen := pictures
	if flag.NArg() > 0 {
		chosen = nil
		for _, name := range flag.Args() {
			i := slices.IndexFunc(pictures, func(p picture) bool { return p.name == name })
			if i < 0 {
				fmt.Fprintf(os.Stderr, "screenshot: the pictures are page and report; there is no %q\n", name)
				os.Exit(2)
			}
			chosen = append(chosen, pictures[i])
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, p := range chosen {
		data, err := p.take(ctx, *dark)
		file := filepath.Join(*folder, p.name+".png")
		if err == nil {
			err = os.WriteFile(file, data, 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "screenshot: %s: %v\n", p.name, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d KiB\n", file, len(data)>>10)
	}
}

// take returns the picture as PNG.
func (p picture) take(ctx context.Context, dark bool) (data []byte, err error) {
	program, err := browser.FindBrowser()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "screenshot")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	address, stop, err := p.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	tab, closeBrowser := browser.StartBrowser(ctx, program, width, int(p.height), 1)
	defer closeBrowser()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	err = chromedp.Do(tab, browser.Colours(scheme), chromedp.EmulateViewport(width, p.height), chromedp.Navigate(address))
	if err == nil && p.name == "page" { // what is folded when the run is over is seen when the page is loaded again
		err = chromedp.Do(tab, chromedp.Click(`form[action="/runs/sample"] button`), chromedp.WaitVisible(".status.completed"), chromedp.Navigate(address+"runs/1"))
	}
	if err != nil {
		return nil, err
	}
	if data, err = chromedp.Run(tab, chromedp.CaptureScreenshot()); err != nil {
		return nil, err
	}
	return compressed(data)
}

// compressed returns the picture with at most 256 colours, in as few bytes as PNG allows. They are the most
// frequent ones, but none that is close to a more frequent one, so that a small mark keeps its colour.
func compressed(data []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	points := map[color.Color]int{}
	size := full.Bounds()
	for y := range size.Dy() {
		for x := range size.Dx() {
			points[full.At(x, y)]++
		}
	}
	var palette color.Palette
	for _, c := range slices.SortedFunc(maps.Keys(points), func(a, b color.Color) int { return points[b] - points[a] }) {
		if len(palette) < 256 && !slices.ContainsFunc(palette, func(p color.Color) bool { return alike(p, c) }) {
			palette = append(palette, c)
		}
	}
	nearest := map[color.Color]uint8{}
	few := image.NewPaletted(size, palette)
	for y := range size.Dy() {
		for x := range size.Dx() {
			c := full.At(x, y)
			i, known := nearest[c]
			if !known {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			few.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		return nil, err
	}
	if out.Len() > maxSize {
		return nil, fmt.Errorf("the picture has %d bytes, more than %d: lower its height", out.Len(), maxSize)
	}
	return out.Bytes(), nil
}

// alike reports whether two colours can hardly be told apart.
func alike(a, b color.Color) bool {
	x, y := color.NRGBAModel.Convert(a).(color.NRGBA), color.NRGBAModel.Convert(b).(color.NRGBA)
	near := func(m, n uint8) bool { return max(m, n)-min(m, n) < 5 }
	return near(x.R, y.R) && near(x.G, y.G) && near(x.B, y.B)
}

// openReport writes the report of docs/evaluation.md.
func openReport(ctx context.Context, dir string) (address string, stop func() error, err error) {
	page := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(dir, "report.html")), "/")}
	return page.String(), func() error { return nil }, browser.WriteDecision(ctx, dir)
}
