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
const at = `document.activeElement.closest(".case")?.querySelector(".name").firstChild.textContent ?? ""`

// A visit of the report with the keyboard alone, and by addresses.
func TestReport(t *testing.T) {
	t.Parallel()
	v := report(t, "comparison.html")
	v.says("header", "orders <x-evil>", "28 passed", "10 cases, 46 trials")
	v.says("#summary", "1 improved, 1 regressed", "cannot tell", "v1", "v2")
	v.says("#warnings", "Warnings", "skipped: a model has to write")
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
	const visible = `[...document.querySelectorAll(".case")].filter((c) => c.checkVisibility()).map((c) => c.querySelector(".name").firstChild.textContent)`
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
	v.says(`[id="refund/"] > summary`, "refund: refund the lamp", "100 % → 0 % [0, 43.4]", "▼ regressed")
	v.says(`[id="refund/2"]`, "wrong: the amount", "Calls compared with trial 2 of the baseline, which passed", "list_orders", "Timeline", "+")

	// The name and the instruction of the case stay above what the address leads to.
	v.do(chromedp.Navigate(v.base + "#refund/3/event-10"))
	v.until(shown)
	const above = `(() => { const s = document.querySelector('[id="refund/"] > summary').getBoundingClientRect(); const r = document.getElementById("refund/3/event-10").getBoundingClientRect();
		return s.top >= 0 && s.bottom <= r.top + 1 && r.bottom <= innerHeight; })()`
	v.until(above)
	v.do(chromedp.EmulateViewport(390, 800), chromedp.Evaluate[chromedp.Void](`location.hash = "#refund/3"; location.hash = "#refund/3/event-10"`))
	v.until(above)
	v.do(chromedp.ResetViewport())

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

// The columns of a dataset filter the cases, by a link in the breakdown or a list. Several versions are
// rows at the top, on a narrow screen too.
func TestReportOfVersions(t *testing.T) {
	t.Parallel()
	v := report(t, "versions.html")
	v.says(".versions", "v1", "90 %", "v2", "▼ regressed", "v3", "100 %", "▲ improved")
	v.says("#summary", "The gate")
	v.says("#figures", "Scores by version", "slowest", "dearest")
	const visible = `[...document.querySelectorAll(".case")].filter((c) => c.checkVisibility()).length`
	const cells = `document.querySelector(".case:not([hidden]) .cells").checkVisibility()`
	v.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-by="team:\tteam 2"]').click()`))
	v.until(`location.hash === "#cases"`)
	if n := eval[int](v, visible); n != 8 || eval[bool](v, cells) {
		t.Errorf("%d cases of the team are shown", n)
	}
	v.do(chromedp.Evaluate[chromedp.Void](`columns.click(); by.value = "topic:\tangry"; by.dispatchEvent(new Event("change"))`))
	if n := eval[int](v, visible); n != 10 || !eval[bool](v, cells) {
		t.Errorf("%d cases of the topic are shown", n)
	}
	v.do(chromedp.Evaluate[chromedp.Void](`by.value = ""; by.dispatchEvent(new Event("change")); sort.value = "k"; sort.dispatchEvent(new Event("change"))`))
	if got := eval[string](v, `document.querySelector(".case .name").firstChild.textContent`); got != "row-6: Order #1006" {
		t.Errorf("the dearest case is %q", got)
	}
	v.do(chromedp.EmulateViewport(390, 800))
	if bottom := eval[float64](v, `document.querySelector(".versions").getBoundingClientRect().bottom`); bottom > 800 {
		t.Errorf("the versions end at %.0f pixels of a narrow screen", bottom)
	}
	v.do(chromedp.ResetViewport())
	v.looks("the report of versions")
	v.do(chromedp.Evaluate[chromedp.Void](openAll))
	v.looks("the report of versions, opened")
}

// 10,000 cases are usable. The times depend on the machine, so they are printed.
func TestReportOfManyCases(t *testing.T) {
	t.Parallel()
	v := report(t, "many.html")
	load := eval[float64](v, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	took := func(change string) float64 {
		return eval[float64](v, `(() => { const begun = performance.now(); `+change+`; document.body.offsetHeight; return performance.now() - begun; })()`)
	}
	filtered := took(`filter.value = "row-77"; filter.dispatchEvent(new Event("input"))`)
	v.says("#found", "111 of 10000 cases")
	again := took(`filter.value = ""; filter.dispatchEvent(new Event("input")); by.value = "topic:\tangry"; by.dispatchEvent(new Event("change"))`)
	v.says("#found", "2500 of 10000 cases")
	sorted := took(`by.value = ""; by.dispatchEvent(new Event("change")); sort.value = "n"; sort.dispatchEvent(new Event("change"))`)
	t.Logf("10,000 cases: load %.0f ms, first filter %.0f ms, filter by a column %.0f ms, sort %.0f ms, %d elements",
		load, filtered, again, sorted, eval[int](v, `document.getElementsByTagName("*").length`))
	// A trial that is not shown in full has the address of its case.
	v.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#row-7778/2"`))
	v.until(`(() => { const r = document.getElementById("row-7778/").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; })()`)
	v.do(chromedp.EmulateViewport(390, 800))
	if wide := eval[int](v, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("on a narrow screen the page is %d wide: %q", wide, eval[[]string](v, widest))
	}
}

// withoutScripts makes the page believe that the user allows no scripts.
var withoutScripts = chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
	_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
})

// Without scripts everything is there, opens by itself, and is reached by addresses.
func TestReportWithoutScripts(t *testing.T) {
	t.Parallel()
	v := report(t, "comparison.html", withoutScripts)
	if eval[bool](v, `document.getElementById("controls").checkVisibility()`) {
		t.Fatal("the script has run")
	}
	v.tabTo("#columns")
	v.do(press(" ", " ", 32))
	v.until(`document.querySelector(".case .cells").checkVisibility()`)
	v.says("#list", "refund: refund the lamp", "wrong: the amount", "Timeline", "list_orders", "Dispatch, turn 2")
	v.tabTo("#list summary")
	v.do(enter)
	v.until(`document.activeElement.parentElement.open && document.querySelector(".trials").checkVisibility()`)
	v.do(chromedp.Navigate(v.base + "#refund/3"))
	v.until(`document.getElementById("refund/3").checkVisibility() && document.getElementById("refund/3").getBoundingClientRect().height > 0`)
}
