package pagecmd

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/runhtml"
)

// The pages have the style of runs, whose colours are readable, and no colours of their own.
func TestStyle(t *testing.T) {
	l := start(t, 1)
	page := l.get("/")
	for i, want := range []string{"/static/run.css", "/static/style.css"} {
		if sheets := page.all(func(n *node) bool { return n.attr["rel"] == "stylesheet" }); len(sheets) != 2 || sheets[i].attr["href"] != want {
			t.Errorf("the page has %d style sheets, want %s", len(sheets), want)
		}
	}
	resp, css := l.do(l.request(http.MethodGet, "/static/run.css", ""))
	if css != runhtml.Style || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/css") {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, len(css), resp.Header)
	}
	own, err := static.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`[^&]#[0-9a-fA-F]{3,8}\b|rgb|hsl`).Find(own); found != nil {
		t.Errorf("style.css has the colour %s", found)
	}
}
