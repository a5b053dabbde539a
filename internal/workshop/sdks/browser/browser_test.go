package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// visit is a tab with a page, and what it has asked for and complained about.
type visit struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	requests []string
}

// open starts toolwire page and the browser; without a browser the test is skipped.
func open(t *testing.T) *visit {
	t.Helper()
	browser := find(t)
	base, stop, err := StartPlatform(context.WithoutCancel(t.Context()), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return browse(t, browser, base, base+"static/run.css")
}

// find returns the path of the browser.
func find(t *testing.T) string {
	t.Helper()
	browser, err := FindBrowser()
	if errors.Is(err, ErrNoBrowser) {
		t.Skip(err) // it names what is missing, and how to install it
	}
	if err != nil {
		t.Fatal(err)
	}
	return browser
}

// browse starts the browser. Its pages may ask only for what is below base, and ask for one file.
func browse(t *testing.T, browser, base, file string) *visit {
	t.Helper()
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	tab, closeBrowser := StartBrowser(limit, browser, 1280, 900, 1)
	t.Cleanup(func() { closeBrowser(); cancel() })

	v := &visit{t: t, ctx: tab, base: base}
	console, stopConsole := context.WithCancel(tab)
	messages := chromedp.Console(console)
	if err := chromedp.Listen(tab, func(event any) {
		if sent, ok := event.(*network.EventRequestWillBeSent); ok {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.requests = append(v.requests, sent.Request.URL)
		}
	}); err != nil {
		t.Fatal(err)
	}
	var complaints []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			complaints = append(complaints, m.String())
		}
	}()
	t.Cleanup(func() {
		stopConsole()
		<-done
		for _, said := range complaints {
			switch {
			case strings.Contains(said, "status of 422"): // the answer to a form that is not valid
			case strings.Contains(said, "Autofocus processing was blocked"): // the test has typed before the page was complete
			default:
				t.Errorf("the console says: %s", said)
			}
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		if !slices.Contains(v.requests, file) {
			t.Errorf("the requests were not seen: %q", v.requests)
		}
		for _, r := range v.requests {
			if !strings.HasPrefix(r, base) && r != "data:," {
				t.Errorf("the page asked for %s", r)
			}
		}
	})
	return v
}

func (v *visit) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 5*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](v *visit, expression string) T {
	v.t.Helper()
	value, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to be true.
func (v *visit) until(expression string) {
	v.t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is, err := chromedp.Run(v.ctx, chromedp.Evaluate[bool](expression)); err == nil && is { // an error: between two pages
			return
		}
	}
	v.t.Fatalf("%s has not become true; the page says\n%s", expression, eval[string](v, "document.body.innerText"))
}

// tabTo presses the tabulator key until the element has the focus, which must be visible.
func (v *visit) tabTo(selector string) {
	v.t.Helper()
	for range 60 {
		v.do(chromedp.KeyEvent(kb.Tab))
		if eval[bool](v, `document.activeElement.matches(`+quote(selector)+`)`) {
			if outline := eval[string](v, "getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
				v.t.Errorf("the focus on %s cannot be seen", selector)
			}
			return
		}
	}
	v.t.Fatalf("%s cannot be reached with the keyboard", selector)
}

func (v *visit) says(selector string, parts ...string) {
	v.t.Helper()
	text := eval[string](v, `document.querySelector(`+quote(selector)+`).textContent.replace(/\s+/g, " ")`)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			v.t.Errorf("%q is missing in %s:\n%s", part, selector, text)
		}
	}
}

var enter, ctrlEnter = press("Enter", "\r", 13), press("Enter", "", 13, 2)

// press presses a key as a keyboard does: its character comes with it, not after what it has set
// off, which may have moved the focus.
func press(name, text string, code int64, modifiers ...int64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		key := input.DispatchKeyEventParams{
			Type: input.DispatchKeyEventTypeKeyDown, Key: name, Code: name, Text: text, UnmodifiedText: text, WindowsVirtualKeyCode: code,
		}
		for _, m := range modifiers {
			key.Modifiers |= m
		}
		if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, key); err != nil {
			return err
		}
		key.Type, key.Text, key.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, key)
		return err
	})
}

func quote(s string) string { return "`" + s + "`" }

// faint lists the visible texts whose contrast with the ground that they really stand on is below
// AA.
const faint = `(() => {
	const parts = (colour) => { const m = colour.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
	const light = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
	const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
	const ground = (e) => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
	const found = [];
	let seen = 0;
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim()) || !e.checkVisibility()) continue;
		seen++;
		const [a, b] = [luminance(parts(getComputedStyle(e).color)), luminance(ground(e))];
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (contrast < 4.5) found.push(e.tagName + "." + e.className + " " + contrast.toFixed(2) + " " + e.textContent.trim().slice(0, 40));
	}
	return seen < 8 ? ["only " + seen + " texts were seen"] : found;
})()`

// widest names elements that end beyond the screen.
const widest = `[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth).
	map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 30)).slice(-5)`

// looks checks the page in both colours, and on a narrow screen.
func (v *visit) looks(name string) {
	v.t.Helper()
	grounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		v.do(Colours(scheme))
		grounds[scheme] = eval[string](v, "getComputedStyle(document.body).backgroundColor")
		for _, text := range eval[[]string](v, faint) {
			v.t.Errorf("%s, %s: hard to read: %s", name, scheme, text)
		}
	}
	if grounds["light"] == grounds["dark"] {
		v.t.Errorf("%s: light and dark are the same: %v", name, grounds)
	}
	v.do(Colours("light"))
	for _, width := range []int{320, 390, 1400} {
		v.do(chromedp.EmulateViewport(int64(width), 800))
		if wide := eval[int](v, "document.documentElement.scrollWidth"); wide > width {
			v.t.Errorf("%s: on a screen of %d pixels the page is %d wide: %q", name, width, wide, eval[[]string](v, widest))
		}
	}
	v.do(chromedp.ResetViewport())
}

// screen is the height of a screen of 1400 by 1050 pixels.
const screen = 1050

// A visit with the keyboard alone: the sample is dispatched, the run comes up to date by itself,
// and its page is read.
func TestClickThrough(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.do(chromedp.Navigate(v.base), chromedp.WaitVisible("h1"))
	v.says("main", "Runs", "Nothing has run yet")
	v.looks("the empty list")

	v.do(chromedp.Navigate(v.base), chromedp.KeyEvent(kb.Tab))
	if first := eval[string](v, "document.activeElement.textContent"); first != "Skip to the content" {
		t.Errorf("the first stop of the keyboard is %q", first)
	}
	v.tabTo(`form[action="/runs/sample"] button`)
	v.do(enter)
	v.until(`location.pathname === "/runs/1" && document.querySelectorAll("#events li[id]").length >= 8`)

	// While it is under way: what is open and focused stays so, and the page is not loaded again.
	if !eval[bool](v, `document.getElementById("main").hasAttribute("data-live")`) {
		t.Fatal("the run was over before it could be watched")
	}
	v.says("#now", "in progress")
	v.says("#doing", "waiting for the agent's answer", "so far")
	before := eval[int](v, `window.stayed = true, document.querySelectorAll("#events li[id]").length`)
	v.tabTo("#events summary")
	v.do(enter)
	v.until(`document.activeElement.parentElement.open`)
	opened := eval[string](v, `document.activeElement.parentElement.id`)
	v.until(`!document.getElementById("main").hasAttribute("data-live")`)
	if !eval[bool](v, `window.stayed === true`) {
		t.Error("the page was loaded again")
	}
	if after := eval[int](v, `document.querySelectorAll("#events li[id]").length`); after <= before {
		t.Errorf("%d events before, %d after", before, after)
	}
	if !eval[bool](v, `document.getElementById(`+quote(opened)+`).open && document.activeElement.parentElement.id === `+quote(opened)) {
		t.Error("what was open or focused was lost when the page was brought up to date")
	}

	v.says("#now", "completed")
	v.says("#final", "Order #4521 is refunded: $79.50")
	v.do(chromedp.Navigate(v.base + "runs/1")) // what was open stays so until the page is loaded again
	if height := eval[int](v, "document.documentElement.scrollHeight"); height > 2*screen {
		t.Errorf("the sample run is %d pixels high, more than two screens", height)
	} else {
		t.Logf("the sample run is %d pixels high", height)
	}
	v.do(chromedp.Click("#events a.at")) // the Tab key does not reach this link
	v.until(`document.querySelector("#events li:target") !== null`)
	v.says("#events", "get_order", "track_parcel", "passthrough", "Attempt 1", "503 lock_contention", "by failure rule 0", "Handoff", "subagent_final")
	v.tabTo(`#sections a[href="#ledger"]`)
	v.do(enter)
	v.until(`location.hash === "#ledger"`)
	v.says("#changes", "/order/4521/status", `"delivered"`, `"refunded"`, "flag tracked:pk_7")
	v.says("#messages", "assistant", "refund_order", "Thinking", "is refunded")
	v.says("#contract", "gradeable, 0 findings")
	v.tabTo("#raw-data > summary")
	v.do(enter)
	v.tabTo("#raw-data details summary")
	v.do(enter)
	v.until(`document.querySelector("#raw pre").checkVisibility()`)
	v.do(chromedp.Evaluate[chromedp.Void](`for (const d of document.querySelectorAll("details")) d.open = true`))
	v.looks("the run")

	v.do(chromedp.Navigate(v.base), chromedp.WaitVisible(".runs"))
	v.says("#run-1", "#1", "completed", "4 calls")
	v.looks("the list")
	// A row is a link at any point of it.
	for _, part := range []string{"0.01", "0.5", "0.99"} {
		at := eval[string](v, `(() => { const r = document.getElementById("run-1").getBoundingClientRect(); return document.elementFromPoint(r.left + r.width * `+part+`, r.top + r.height / 2).closest("a")?.pathname ?? ""; })()`)
		if at != "/runs/1" {
			t.Errorf("at %s of the row is a link to %q", part, at)
		}
	}
}

// A sub-agent without a failure is folded. It opens and closes by the keyboard, and for the address of a
// row in it, without a script too.
func TestFold(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]chromedp.Action[chromedp.Void]{"with scripts": nil, "without": {withoutScripts}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t)
			v.do(before...)
			v.do(chromedp.Navigate(v.base))
			v.tabTo(`form[action="/runs/sample"] button`)
			v.do(enter)
			v.until(`location.pathname === "/runs/1"`)
			for over := false; !over; {
				v.do(chromedp.Navigate(v.base + "runs/1"))
				over = eval[bool](v, `!document.getElementById("main").hasAttribute("data-live")`)
			}
			const folds = `[...document.querySelectorAll(".agent > details")].map((d) => d.querySelector(".actor").textContent + (d.open ? " is open" : ""))`
			if got, want := eval[[]string](v, folds), []string{"supervisor is open", "supervisor/orders", "supervisor/refunds is open"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			const orders = `.agent > details:not([open]) > summary`
			row := eval[string](v, `document.querySelector("`+orders+`").parentElement.querySelector("li").id`)
			shown := `document.getElementById("` + row + `").checkVisibility()`
			v.tabTo(orders)
			v.do(enter)
			v.until(shown)
			v.do(enter)
			v.until(`!` + shown)
			v.do(chromedp.Navigate(v.base + "runs/1#" + row))
			v.until(shown + ` && document.getElementById("` + row + `").matches(":target")`)
			// All bars are on one scale, however deep their rows are.
			const edges = `new Set([...document.querySelectorAll("#events svg.bar")].filter((b) => b.checkVisibility()).map((b) => Math.round(b.getBoundingClientRect().left) + " " + Math.round(b.getBoundingClientRect().right))).size`
			for _, width := range []int64{390, 1400} {
				v.do(chromedp.EmulateViewport(width, 900))
				if n := eval[int](v, edges); n != 1 {
					t.Errorf("at %d pixels the bars have %d scales", width, n)
				}
			}
		})
	}
}

// What an agent says, calls itself, or sends as metadata is text, and no wider than the screen.
func TestHostileAgent(t *testing.T) {
	t.Parallel()
	evil := "</pre></script><x-evil onload=alert(1)>\u202e\u0000\x1b[2J<img src=x>" + strings.Repeat("long", 200)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send := func(path string, body any) {
			data, _ := json.Marshal(body) // of strings
			sent, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.Header.Get("X-Pipelines-Odyssey-Proxy-Url")+path, bytes.NewReader(data))
			if err != nil || r.Header.Get("X-Pipelines-Run-Token") == "" {
				return
			}
			sent.Header.Set("X-Pipelines-Run-Token", r.Header.Get("X-Pipelines-Run-Token"))
			sent.Header.Set("X-Pipelines-Actor-Id", strings.Repeat("a/", 40)+"b")
			if resp, err := http.DefaultClient.Do(sent); err == nil {
				_ = resp.Body.Close()
			}
		}
		send("/tools/get_order", map[string]string{"order_id": evil})
		send("/tools/"+strings.Repeat("x", 100), map[string]string{evil: evil})
		send("/traces/handoff", map[string]string{"from_sub_agent": evil, "to_sub_agent": evil, "text": evil})
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"final_response": evil, "metadata": map[string]string{"model": evil},
			"messages": []any{map[string]any{"role": "assistant", "content": evil}},
		})
	}))
	t.Cleanup(agent.Close)
	v := open(t)
	v.do(chromedp.Navigate(v.base + "dispatch"))
	said, _ := json.Marshal("hostile </script><x-evil>\u202e" + strings.Repeat("long", 100)) // of a string
	v.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("url").value = "`+agent.URL+`"; document.getElementById("instruction").value = `+string(said)), chromedp.Click("#submit"))
	v.until(`document.getElementById("main")?.hasAttribute("data-live") === false && location.pathname === "/runs/1"`)
	v.says("#now", "completed")
	v.says("#events", "⟨U+202E⟩", "a/a/a")
	for _, page := range []string{"runs/1", ""} {
		v.do(chromedp.Navigate(v.base+page), chromedp.Evaluate[chromedp.Void](`for (const d of document.querySelectorAll("details")) d.open = true`))
		v.looks("the page /" + page)
		if eval[bool](v, `document.querySelector("x-evil, img, iframe, [onload], [style]") !== null`) {
			t.Errorf("a text from outside has become an element of /%s", page)
		}
	}
}

// A session goes on from the page of its run, by the keyboard alone.
func TestSayMore(t *testing.T) {
	t.Parallel()
	v := open(t)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input struct {
				TurnID   string `json:"turn_id"`
				Messages []any  `json:"messages"`
			} `json:"input"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		_ = json.NewEncoder(w).Encode(map[string]string{"final_response": fmt.Sprintf("turn %q after %d messages", body.Input.TurnID, len(body.Input.Messages))})
	}))
	defer agent.Close()
	v.do(chromedp.Navigate(v.base + "dispatch"))
	v.tabTo("#instruction")
	v.do(chromedp.KeyEvent("Hello."))
	v.tabTo("#url")
	v.do(chromedp.KeyEvent(agent.URL))
	v.do(ctrlEnter)
	v.until(`location.pathname === "/runs/1" && document.getElementById("more") !== null`)
	v.looks("the run that can go on")
	v.tabTo("#more textarea")
	v.do(chromedp.KeyEvent("And now?"))
	v.do(ctrlEnter)
	v.until(`location.pathname === "/runs/2" && document.getElementById("more") !== null`)
	v.says("#final", `turn "2" after 2 messages`)
	v.says("#facts", "Session", "turn 2, after", "#1")
	v.looks("the run of the second turn")
	v.tabTo("#earlier-data > summary")
	v.do(enter)
	v.until(`document.querySelector("#earlier pre").checkVisibility()`)
	v.says("#earlier", "Hello.", `turn "" after 0 messages`)
}

// The form: what is wrong is said, found by keyboard and screen reader, and mended.
func TestForm(t *testing.T) {
	t.Parallel()
	v := open(t)
	v.do(chromedp.Navigate(v.base + "dispatch"))
	v.tabTo("#instruction")
	v.do(chromedp.KeyEvent("Say hello."))
	v.tabTo("#submit")
	v.do(enter)
	v.until(`document.activeElement.id === "problems"`)
	v.says("#problems", "Agent URL", "Enter the address")
	v.looks("the form with problems")
	v.do(chromedp.Focus("#problems"))
	v.tabTo(`#problems a[href="#url"]`)
	v.do(enter)
	v.until(`location.hash === "#url"`)
	if kept := eval[string](v, `document.getElementById("instruction").value`); kept != "Say hello." {
		t.Errorf("the instruction has become %q", kept)
	}
	if !eval[bool](v, `(() => { const u = document.getElementById("url"); return u.ariaInvalid === "true" && document.getElementById("url-problem") !== null; })()`) {
		t.Error("the field is not marked")
	}
	u, err := url.Parse(v.base)
	if err != nil {
		t.Fatal(err)
	}
	v.tabTo("#url")
	v.do(chromedp.KeyEvent("http://" + u.Host + "/sample/dispatch"))
	v.tabTo("#auth_value")
	v.do(chromedp.KeyEvent("Bearer wrong-token"))
	v.tabTo("#submit")
	v.do(enter)
	v.until(`location.pathname === "/runs/1" && document.getElementById("failure") !== null`)
	v.says("#failure", "auth_failed", "Send the header and the value", "danger")
	if text := eval[string](v, "document.documentElement.outerHTML"); strings.Contains(text, "wrong-token") {
		t.Error("the auth value is on the page")
	}
	v.looks("the failed run")

	// An element that is gone when the run is over does not take the focus with it.
	v.do(chromedp.Navigate(v.base), chromedp.Click(`form[action="/runs/sample"] button`), chromedp.WaitVisible("#refresh"))
	v.tabTo("#refresh a")
	v.until(`!document.getElementById("main").hasAttribute("data-live")`)
	if focused := eval[string](v, "document.activeElement.id"); focused != "main" {
		t.Errorf("the focus went to %q", focused)
	}
}
