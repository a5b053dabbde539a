package browser

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// reports writes the pages of package eval once, into a folder that TestMain removes.
var (
	folder  string
	reports = sync.OnceValue(func() (err error) {
		if folder, err = os.MkdirTemp("", "reports"); err != nil {
			return err
		}
		return WriteReports(context.Background(), folder)
	})
)

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// report opens a page of package eval, from its file.
func report(t *testing.T, name string, before ...chromedp.Action[chromedp.Void]) *visit {
	t.Helper()
	browser := find(t)
	if err := reports(); err != nil {
		t.Fatal(err)
	}
	page := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(folder, name)), "/")}
	v := browse(t, browser, page.String(), page.String())
	v.do(before...)
	v.do(chromedp.Navigate(v.base))
	return v
}

// openAll opens everything that can be opened, and lays out what is not on the screen.
const openAll = `for (const d of document.querySelectorAll("details")) d.open = true;
for (const c of document.querySelectorAll(".case")) c.style.contentVisibility = "visible"`

// at says which case has the focus.
const at = `document.activeElement.closest(".case")?.querySelector(".title").textContent ?? ""`

// A visit of the report with the keyboard alone, and by addresses.
func TestReport(t *testing.T) {
	t.Parallel()
	v := report(t, "comparison.html")
	v.says("header", "orders <x-evil>", "28 passed", "10 cases, 46 trials")
	v.says("#comparison", "1 regressed, 1 improved", "cannot tell")
	v.do(chromedp.KeyEvent(kb.Tab))
	if first := eval[string](v, "document.activeElement.textContent"); first != "Skip to the cases" {
		t.Errorf("the first stop of the keyboard is %q", first)
	}
	v.looks("the report")

	v.do(chromedp.Navigate(v.base), chromedp.KeyEvent("j"))
	if got := eval[string](v, at); got != "refund: refund the lamp" {
		t.Errorf("the first case is %q", got)
	}
	v.do(chromedp.KeyEvent("o"))
	v.until(`document.activeElement.parentElement.open`)
	v.do(chromedp.KeyEvent("o"))
	v.until(`!document.activeElement.parentElement.open`)
	v.do(chromedp.KeyEvent("jj"))
	if got := eval[string](v, at); got != "flaky: flaky but not worse" {
		t.Errorf("two further is %q", got)
	}
	v.do(chromedp.KeyEvent("k"))
	if got := eval[string](v, "("+at+").slice(0, 7)"); got != "hostile" {
		t.Errorf("one back is %q", got)
	}

	// The filter and the order.
	const visible = `[...document.querySelectorAll(".case")].filter((c) => c.checkVisibility()).map((c) => c.querySelector(".title").textContent)`
	v.do(press("/", "/", 191), chromedp.KeyEvent("the lampjo"))
	if n := eval[int](v, visible+`.length`); n != 0 { // the keys are text here
		t.Errorf("%d cases are shown", n)
	}
	v.says("#found", "0 of 10 cases")
	v.do(chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Escape))
	if got := eval[[]string](v, visible); len(got) != 1 || got[0] != "refund: refund the lamp" {
		t.Errorf("%q are shown with the filter %q", got, eval[string](v, `filter.value`))
	}
	v.do(chromedp.Evaluate[chromedp.Void](`filter.value = ""; show.value = "improved"; show.dispatchEvent(new Event("change"))`))
	if got := eval[[]string](v, visible); len(got) != 1 || got[0] != "improve: improve the search" {
		t.Errorf("%q are shown", got)
	}
	v.do(chromedp.Evaluate[chromedp.Void](`show.value = ""; show.dispatchEvent(new Event("change")); sort.value = "name"; sort.dispatchEvent(new Event("change"))`))
	if got := eval[[]string](v, visible); len(got) != 10 || got[0] != "flaky: flaky but not worse" || got[9] != "talk: say a" {
		t.Errorf("by name: %q", got)
	}
	v.do(chromedp.Evaluate[chromedp.Void](`keys.checked = false; document.activeElement.blur()`), chromedp.KeyEvent("j"))
	if got := eval[string](v, at); got != "" {
		t.Errorf("a key that is off has led to %q", got)
	}

	// Addresses open what is around them, also what is filtered.
	const shown = `(() => { const r = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.getBoundingClientRect(); return r !== undefined && r.height > 0 && r.bottom > 0 && r.top < innerHeight; })()`
	v.do(chromedp.Evaluate[chromedp.Void](`show.value = "improved"; show.dispatchEvent(new Event("change")); location.hash = "#refund/3/event-10"`))
	v.until(shown)
	if got := eval[bool](v, `document.getElementById("refund/3").closest("details").open && !document.getElementById("refund/2").closest("details").open`); !got {
		t.Error("the address of an event has not opened its trial alone")
	}
	v.do(chromedp.Navigate(v.base + "#refund/2"))
	v.until(shown)
	v.says(`[id="refund/2"]`, "wrong: the amount", "Calls compared with trial 2 of the baseline, which passed", "list_orders", "Timeline", "+")

	// The browser would number the items of a list anew with each change: minutes for 10,000.
	if display := eval[string](v, `getComputedStyle(document.querySelector(".case")).display`); display != "block" {
		t.Errorf("the cases are displayed as %s", display)
	}

	// Nothing that an agent or a tool said is an element.
	if eval[bool](v, `document.querySelector("x-evil, img, iframe, [onload], [style]") !== null`) {
		t.Error("a text from outside has become an element")
	}
	v.do(chromedp.Evaluate[chromedp.Void](openAll))
	v.looks("the report, opened")
}

func TestReportOfSingleTrials(t *testing.T) {
	t.Parallel()
	v := report(t, "single.html")
	v.do(chromedp.KeyEvent("jo"))
	v.until(`document.activeElement.closest(".case").querySelector(".timeline").checkVisibility()`)
	v.do(chromedp.Evaluate[chromedp.Void](openAll))
	v.looks("the report of single trials")
}

// Without scripts everything is there, opens by itself, and is reached by addresses.
func TestReportWithoutScripts(t *testing.T) {
	t.Parallel()
	disabled := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
	v := report(t, "comparison.html", disabled)
	if eval[bool](v, `document.getElementById("controls").checkVisibility()`) {
		t.Fatal("the script has run")
	}
	v.says("#list", "refund: refund the lamp", "wrong: the amount", "Timeline", "list_orders", "Dispatch, turn 2")
	v.tabTo("#list summary")
	v.do(enter)
	v.until(`document.activeElement.parentElement.open && document.querySelector(".trials").checkVisibility()`)
	v.do(chromedp.Navigate(v.base + "#refund/3"))
	v.until(`document.getElementById("refund/3").checkVisibility() && document.getElementById("refund/3").getBoundingClientRect().height > 0`)
}
