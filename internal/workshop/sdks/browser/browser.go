// Package browser drives the page of toolwire page, and the page that package eval writes, in headless
// Chromium: a click-through of each as a test, and a program that makes the pictures of the documentation.
//
//	go test .
//	go run ./screenshot
//
// The browser is the one that the environment variable BROWSER_PATH names, or else the first of
// Chromium's well-known names in PATH.
package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// ErrNoBrowser says that there is no browser, and what to do.
var ErrNoBrowser = errors.New("no Chromium: BROWSER_PATH is not set, and none of " + strings.Join(names, ", ") +
	" is in PATH; on Debian: apt-get install chromium")

var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"}

// FindBrowser returns the browser's path, or ErrNoBrowser. A BROWSER_PATH at which there is none is
// another error.
func FindBrowser() (string, error) {
	if path := os.Getenv("BROWSER_PATH"); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("BROWSER_PATH: %w", err)
		}
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoBrowser
}

// StartBrowser starts the browser without a window; it ends with ctx. It sends nothing anywhere by
// itself. The sandbox is off because Chromium refuses to start as root with it, which is what
// containers are; it opens nothing but our own page.
func StartBrowser(ctx context.Context, path string, width, height int, scale float64) (context.Context, context.CancelFunc) {
	opts := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	opts = append(opts,
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(width, height),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-device-scale-factor", fmt.Sprint(scale)),
	)
	allocator, stop := chromedp.NewExecAllocator(ctx, opts...)
	tab, closeTab := chromedp.NewContext(allocator)
	return tab, func() { closeTab(); stop() }
}

// Colours makes the page believe that the user prefers a scheme: light or dark.
func Colours(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// StartPlatform builds toolwire into dir and starts toolwire page on a free port. It returns the URL of
// the page. The process ends with ctx; stop waits for it.
func StartPlatform(ctx context.Context, dir string) (url string, stop func() error, err error) {
	program := filepath.Join(dir, "toolwire")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./examples/toolwire")
	build.Dir = root()
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("build toolwire: %w\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "page", "-addr", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() error {
		cancel()
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("toolwire page did not stop as it should: %w", err)
		}
		return nil
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	_, rest, _ := strings.Cut(line, "toolwire page: ")
	url, _, _ = strings.Cut(rest, " ")
	if err != nil || url == "" {
		return "", nil, errors.Join(fmt.Errorf("toolwire page printed %q instead of its URL", line), err, stop())
	}
	return url, stop, nil
}

// root is the folder of the repository.
func root() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "..", "..")
}

// WriteReports writes the pages of the tests of package eval into dir: comparison.html has a
// baseline, single.html has one trial of each case, versions.html has three versions, and many.html has
// 10,000 cases.
func WriteReports(ctx context.Context, dir string) error {
	return writeByTest(ctx, "./dispatch/eval", "TestWriteHTML", dir)
}

// WriteDecision writes report.html into dir: the report of the second version in docs/evaluation.md.
func WriteDecision(ctx context.Context, dir string) error {
	return writeByTest(ctx, "./examples/toolwire/internal/evalcmd", "TestDecision", dir)
}

// writeByTest runs a test that writes pages into the folder of its flag -html.
func writeByTest(ctx context.Context, folder, name, dir string) error {
	test := exec.CommandContext(ctx, "go", "test", folder, "-run", "^"+name+"$", "-vet=off", "-count=1", "-args", "-html", dir)
	test.Dir = root()
	if out, err := test.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
