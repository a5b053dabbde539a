// Tests of localplatform's page in a real browser, apart from the library's own module so that nobody who imports that
// downloads what drives the browser.
module github.com/toolwire/toolwire/examples/localplatform/browsertest

go 1.26.0

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
)

require github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
