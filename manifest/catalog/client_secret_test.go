package catalog_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/bits"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

const clientKeyCore = "live_0123456789" // in every spelling of the key

// Servers repeat what they received. Errors do not show it, however they are formatted.
func TestClientShowsNoSecret(t *testing.T) {
	const (
		line        = `    password: str = "hunter2-and-then-some"` // of the source
		description = "Uses the token 7f3a-99c1-secret inside."
	)
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	said := []string{clientKey, url.QueryEscape(clientKey), strings.ToLower(url.PathEscape(clientKey)),
		strings.NewReplacer(`"`, `\\u0022`, "/", "~1", "s", `\u0073`).Replace(clientKey),
		strings.ReplaceAll(clientKey, "_", "_\u200b"), quote(clientKey), line,
		"SyntaxError at\n\n" + clientSource, "'" + description + "' is odd"}
	bodies := []string{`{"success":true,` + quote(clientKey) + `:1,"Data":2}`, `{` + quote(clientKey) + `:1,` +
		quote(clientKey) + `:2}`,
		`{"id":"` + clientID + `",` + quote(clientKey) + `:{"x":01}}`, `[{"` + clientKeyCore[:4] + `":1}` + clientKey}
	for _, text := range said {
		q := quote(text)
		bodies = append(bodies, text, `{"detail":`+q+`}`, `{"detail":[{"loc":["body",`+q+`],"msg":`+q+`,"type":`+q+`}]}`,
			`{"success":false,"message":`+q+`,"error":{"message":`+quote(strings.Repeat("x", 4080)+text)+`,"details":[`+q+`]}}`,
			`{"message":`+quote(quote(text))+`}`)
	}
	tool := analyticsTool()
	tool.Description = description
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := &clientScript{}
	c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s, Logger: logger})
	for _, status := range []int{200, 302, 400, 401, 422, 500} {
		for _, body := range bodies {
			log.Reset()
			s.steps = []clientStep{{status: status, body: body, header: http.Header{"X-Request-Id": {clientKey},
				"Location": {clientKey}}}}
			_, err1 := c.Upload(t.Context(), tool, "tool.py", []byte(clientSource))
			_, err2 := c.UploadUpdate(t.Context(), clientID, catalog.Patch{Description: &tool.Description}, "tool.py",
				[]byte(clientSource))
			_, err3 := c.Create(t.Context(), tool)
			s.times, s.steps = nil, append([]clientStep{{status: 200, body: calculatorItem}}, s.steps...)
			_, err4 := c.Patch(t.Context(), clientID, catalog.Patch{Description: &tool.Description})
			if status != 200 && (err1 == nil || err2 == nil || err3 == nil) {
				t.Fatalf("%d %s is not an error", status, body)
			}
			for i, err := range []error{err1, err2, err3, err4} {
				if err == nil { // an update with an object as its response
					continue
				}
				asJSON, _ := json.Marshal(err)
				shown := fmt.Sprintf("%v %+v %#v %q %s %s", err, err, err, err, asJSON, log.String())
				for _, secret := range []string{clientKeyCore, "hunter2", "7f3a-99c1"} {
					if notSent := i >= 2 && secret == "hunter2"; !notSent && strings.Contains(shown, secret) {
						t.Errorf("%d %.60q shows %s: %s", status, body, secret, shown)
					}
				}
			}
			if shown := fmt.Sprintf("%v %+v %#v %s", c, c, c, errorJSON(c)); strings.Contains(shown, clientKeyCore) {
				t.Errorf("the client shows its key: %s", shown)
			}
		}
	}
}

func errorJSON(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// A description without spaces looks like a code.
func TestClientShowsNoDescriptionAsCode(t *testing.T) {
	tool := calculatorTool()
	tool.Description = "uses-7f3a-99c1-secret"
	c := serveClient(t, nil, answerWith(422, `{"detail":[{"loc":["name"],"msg":"no","type":"`+tool.Description+`"},
		{"loc":["name"],"msg":"no","type":"missing"}]}`))
	_, err := c.Create(t.Context(), tool)
	e := failedWith(t, err, toolwire.CodeRejected)
	if len(e.Problems) != 2 || e.Problems[0].Code != "" || e.Problems[1].Code != "missing" {
		t.Errorf("got %+v", e.Problems)
	}
}

// Redaction does not change ordinary texts.
func TestClientKeepsWhatServersSay(t *testing.T) {
	for _, text := range []string{
		"Tool with the same name already exists", "Failed to register plugin: missing _run",
		"line 7: invalid syntax near 'return'",
		"AnalyticsTool: BaseTool",
	} {
		err := clientCalls["upload"](t.Context(), serveClient(t, nil, answerWith(409, `{"detail":"`+text+`"}`)))
		if e := failedWith(t, err, toolwire.CodeConflict); e.Message != text {
			t.Errorf("got %q, want %q", e.Message, text)
		}
	}
	whole, _ := json.Marshal("Refused: " + clientSource)
	err := clientCalls["upload"](t.Context(), serveClient(t, nil, answerWith(400, `{"detail":`+string(whole)+`}`)))
	if want := "Refused: [redacted]"; failedWith(t, err, "invalid_plugin").Message != want {
		t.Errorf("got %v", err)
	}
	line := `{"detail":"in ä'    password: str = \"hunter2-and-then-some\"'ä, line 7"}`
	err = clientCalls["upload"](t.Context(), serveClient(t, nil, answerWith(400, line)))
	if want := "in ä'[redacted]'ä, line 7"; failedWith(t, err, "invalid_plugin").Message != want {
		t.Errorf("got %v", err)
	}
}

func TestClientHidesTheLongestKey(t *testing.T) {
	var text strings.Builder // characters with the most spellings, in an order with few repetitions
	for i := range uint(4096) {
		text.WriteByte("/~"[bits.OnesCount(i)%2])
	}
	key := text.String()
	s := &clientScript{steps: []clientStep{{status: 401, body: `{"detail":"the key ` + key + ` is unknown"}`}}}
	c, err := catalog.NewClient("https://aip.example.com", key, &catalog.ClientOptions{Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	err = clientCalls["get"](t.Context(), c)
	if e := failedWith(t, err, toolwire.CodeUnauthorized); e.Message != "the key [redacted] is unknown" {
		t.Errorf("got %v", err)
	}
}

// The key is hidden however the server spells it.
func TestClientHidesEverySpelling(t *testing.T) {
	for _, spelling := range []string{
		clientKey, url.PathEscape(clientKey), strings.NewReplacer("/", "~1", "~", "~0").Replace(clientKey),
		strings.ReplaceAll(clientKey, "l", `\\u006C`), strings.ReplaceAll(clientKey, "l", "%256c"),
	} {
		body, _ := json.Marshal(map[string]string{"detail": "not " + spelling + " ~ü"})
		err := clientCalls["get"](t.Context(), serveClient(t, nil, answerWith(401, string(body))))
		if got, want := failedWith(t, err, toolwire.CodeUnauthorized).Message, "not [redacted] ~ü"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
