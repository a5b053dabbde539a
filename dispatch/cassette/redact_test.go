package cassette_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/proxy"
)

// The run token is nowhere in the file, however it is written.
func TestTokenIsNeverOnTheTape(t *testing.T) {
	const token = `tok/en+with="<odd>&\chars.` + "0123456789"
	quoted, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	forms := []string{
		token, url.QueryEscape(token), url.PathEscape(token), string(quoted),
		base64.StdEncoding.EncodeToString([]byte(token)),
		base64.RawURLEncoding.EncodeToString([]byte(token)),
		strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3D", "%3d",
			"%3C", "%3c", "%3E", "%3e", "%5C", "%5c").Replace(url.QueryEscape(token)),
		strings.Replace(string(quoted), "/", `\/`, 1),
		base64.StdEncoding.EncodeToString([]byte("u:" + token)),
		base64.URLEncoding.EncodeToString([]byte(`{"run":"` + token + `"}`)),
		base64.RawStdEncoding.EncodeToString([]byte("as:" + token + ":")),
		base64.StdEncoding.EncodeToString([]byte("x" + token)),
	}
	inner, err := json.Marshal(map[string]string{"note": "use " + token})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		token: 1, token + "-secret": 1, "in a list": forms, "in a text": "my token is " + token + ", keep it",
		"in JSON":         string(inner),
		"in JSON in JSON": fmt.Sprintf("[%q]", inner), "url": "https://example.com/a?x=" + url.QueryEscape(token),
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := []string{string(body), "plain " + token, "\xff" + token,
		`{"twice":1,"twice":"` + string(quoted[1:len(quoted)-1]) + `"}`}
	path := filepath.Join(t.TempDir(), "run.jsonl")
	c := newCassette(t, path, &cassette.Options{Mode: cassette.Record, Task: cassette.Task{
		Name: "with " + token, Instruction: "Use " + token, Input: body, Tools: []string{token},
	}})
	n := 0
	behind := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; x="+token)
		_, _ = io.WriteString(w, answers[n%len(answers)])
		n++
	}))
	for _, body := range append(answers, "") {
		r := request(t, http.MethodPost, "http://proxy.test/runs/"+url.PathEscape(token)+"/context/"+url.PathEscape(token)+"?t="+
			url.QueryEscape(token), strings.NewReader(body))
		r.Header.Set("Authorization", "bearer "+token)
		r.Header.Set("X-Pipelines-Actor-Id", "supervisor/"+token)
		do(t, behind, r)
	}
	// A second token in the other header is one, too.
	r := request(t, http.MethodPost, "http://proxy.test/tools/get_order", strings.NewReader(`{"x":"another-token-987"}`))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Pipelines-Run-Token", "another-token-987")
	do(t, behind, r)
	finish(t, c)
	text := readFile(t, path)
	for _, form := range append(forms, "odd>", "odd%3E", "odd%3e", `tok\/en`, "another-token-987", "with=",
		strings.Trim(forms[4], "=")) {
		if strings.Contains(text, form) {
			t.Errorf("%q is in\n%s", form, text)
		}
	}
	if strings.Count(text, "\n") != len(answers)+4 {
		t.Errorf("the tape has not all interactions:\n%s", text)
	}
	if strings.Contains(c.Report().String(), "odd>") {
		t.Errorf("the token is in %s", c.Report())
	}
	whole := loaded(t, path)
	if got := string(whole.Interactions[2].AnswerBytes); got != "\xff[redacted]" {
		t.Errorf("the binary answer is %q", got)
	}
}

// A token of a JWT's characters needs no escape, so only somebody who escapes every character
// changes it.
func TestTokenThatIsPercentEncodedIsNotOnTheTape(t *testing.T) {
	const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJydW4tMSJ9.dBjftJeZ4CVP-mBZ_x8"
	var whole strings.Builder
	for _, c := range []byte(token) {
		fmt.Fprintf(&whole, "%%%02X", c)
	}
	for name, form := range map[string]string{
		"whole": whole.String(), "lower case": strings.ToLower(whole.String()),
		"twice":         strings.ReplaceAll(whole.String(), "%", "%25"),
		"one character": strings.Replace(token, ".", "%2e", 1),
	} {
		t.Run(name, func(t *testing.T) {
			c, path := recording(t)
			behind := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "The token "+form+" is old.")
			}))
			post(t, behind, "/tools/a", `{"prose":"see https://example.com/`+form+`/x"}`, token)
			post(t, behind, "/context/"+form+"/x?at="+form, `{}`, token)
			finish(t, c)
			text := readFile(t, path)
			mustContain(t, text, `"name":"context/[redacted]/x?at=[redacted]"`)
			mustContain(t, text, "The token [redacted] is old.")
			mustContain(t, text, "https://example.com/[redacted]/x")
		})
	}
}

// A token of digits may be a number, and one that is short may be anything: it is kept off by its
// headers only.
func TestTokensThatAreSpecial(t *testing.T) {
	inside := base64.StdEncoding.EncodeToString([]byte("as:1234567890:"))
	for token, want := range map[string]string{
		"1234567890": `{"a":"[redacted]","b":12,"c":"YXM6[redacted]Do="}`,
		"12":         `{"a":1234567890,"b":12,"c":"` + inside + `"}`,
	} {
		c, path := recording(t)
		post(t, c.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), "/tools/a",
			`{"a":1234567890,"b":12,"c":"`+inside+`"}`, token)
		finish(t, c)
		mustContain(t, readFile(t, path), `"arguments":`+want)
	}
}

const secretive = `{"authorization":"Bearer abc","Api-Key":7,"clientSecret":{"a":1},"user":{"PASSWORD":"pw","set_cookie":["a","b"]},` +
	`"headers":[{"name":"Authorization","value":"xyzzy"},{"name":"Accept","value":"text/html"}],"body":"{\"access_token\":\"xyzzy\",\"n\":1}",` +
	`"text":"basic xyzzyxyzzyxyzzy curl -b 'Cookie: a=xyzzy; b=xyzzy' -H 'Authorization: Bearer xyzzyxyzzyxyzzy' 'https://bob:xyzzy@example.com/?api_key=xyzzy&page=2' password=xyzzy pwd='xyzzy xyzzy' {\\\"pwd\\\":\\\"xyzzy xyzzy\\\",\\\"n\\\":1} secret: \"xyzzy \\\"xyzzy\" {\\\"secret\\\": \\\"xyzzy xyzzy",` +
	`"has_password":true,"old_token":null,"tokens_used":12,"total":79.50,"card":{"number":"4111 1111"}}`

func TestRedaction(t *testing.T) {
	const clean = `{"authorization":"[redacted]","Api-Key":"[redacted]","clientSecret":"[redacted]","user":{"PASSWORD":"[redacted]","set_cookie":"[redacted]"},` +
		`"headers":[{"name":"Authorization","value":"[redacted]"},{"name":"Accept","value":"text/html"}],"body":"{\"access_token\":\"[redacted]\",\"n\":1}",` +
		`"text":"basic [redacted] curl -b 'Cookie: [redacted]' -H 'Authorization: [redacted]' 'https://bob:[redacted]@example.com/?api_key=[redacted]&page=2' password=[redacted] pwd='[redacted]' {\\\"pwd\\\":\\\"[redacted]\\\",\\\"n\\\":1} secret: \"[redacted]\" {\\\"secret\\\": \\\"[redacted]",` +
		`"has_password":true,"old_token":null,"tokens_used":12,"total":79.50,"card":{"number":"4111 1111"}}`
	card := func(pointer, name string) bool { return strings.HasSuffix(pointer, "/card/number") && name == "number" }
	tests := map[string]struct {
		opts cassette.Options
		want string
	}{
		"default":  {cassette.Options{}, clean},
		"more":     {cassette.Options{Redact: card}, strings.Replace(clean, "4111 1111", "[redacted]", 1)},
		"insecure": {cassette.Options{InsecureKeepSecrets: true}, secretive},
		"insecure, but more": {cassette.Options{InsecureKeepSecrets: true, Redact: card},
			strings.Replace(secretive, "4111 1111", "[redacted]", 1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := record(t, &test.opts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				envelope(w, "login", secretive)
			}),
				func(p *proxy.Client) {
					if got, err := proxy.Call[json.RawMessage](t.Context(), p, "login", json.RawMessage(secretive)); err != nil ||
						string(got) != secretive {
						t.Errorf("the agent got %s, %v", got, err)
					}
				})
			text := readFile(t, path)
			mustContain(t, text, `"arguments":`+test.want+`,`, `"response":`+test.want+`,`)
			if leaks := strings.Contains(text, "xyzzy"); leaks != test.opts.InsecureKeepSecrets {
				t.Errorf("xyzzy is there: %v, in\n%s", leaks, text)
			}
			// The same request finds its answer, although the tape has not its secrets. So does
			// what the agent makes of the redacted answer, and the same with another secret.
			for _, request := range []string{secretive, test.want, strings.ReplaceAll(secretive, "xyzzy", "plugh")} {
				if name == "insecure" || name == "insecure, but more" {
					request = secretive
				}
				c := newCassette(t, path, &test.opts)
				if got, err := proxy.Call[json.RawMessage](t.Context(), client(t, c, nil), "login", json.RawMessage(request)); err != nil ||
					string(got) != test.want {
					t.Errorf("replayed %s, %v\n%s", got, err, c.Report())
				}
			}
		})
	}
	// A tape that was recorded without a hook fits a replay that has one.
	path := record(t, nil, answering("login", "1"),
		func(p *proxy.Client) { _, _ = p.Do(t.Context(), "login", json.RawMessage(secretive)) })
	c := newCassette(t, path, &cassette.Options{Redact: card})
	if _, err := client(t, c, nil).Do(t.Context(), "login", json.RawMessage(secretive)); err != nil {
		t.Errorf("%v\n%s", err, c.Report())
	}
}

// Secrets are found in bodies that are not JSON, or not quite, in queries, forms, headers with
// quotes, and code.
func TestRedactionOfTexts(t *testing.T) {
	tests := map[string]struct {
		path, body, answer string
		want               string // on the tape
	}{
		"no UTF-8": {answer: "{\"password\":\"xyzzy\",\"name\":\"J\xf6rg\"}"},
		"objects in lines": {answer: "{\"secret\":{\"a\":[\"xyzzy\"]},\"n\":1}\n{\"n\":2}",
			want: `"answer_text":"{\"secret\":[redacted],\"n\":1}\n{\"n\":2}"`},
		"lists in lines": {answer: "{\"cookies\":[\"]xyzzy\",\"xyzzy\"]}\n{}",
			want: `"answer_text":"{\"cookies\":[redacted]}\n{}"`},
		"cut off": {answer: `{"a":{"credentials":[{"id":1,"key":"xyzzy`,
			want: `{\"a\":{\"credentials\":[redacted]"`},
		"JSON in a sentence": {body: `{"a":"got {\"password\": {\"v\":\"}xyzzy\"}, \"n\":1}"}`,
			want: `"got {\"password\": [redacted], \"n\":1}"`},
		"escaped JSON": {body: `{"a":"got {\\\"password\\\": {\\\"v\\\":\\\"}xyzzy\\\"}, 1}"}`,
			want: `{\\\"password\\\": [redacted], 1}"`},
		"more than a list": {body: `{"a":"password=[xyzzy]xyzzy n=1"}`, want: `"password=[redacted] n=1"`},
		"JSON in a query": {path: "/data?n=1&filter=%7B%22password%22%3A%22xyzzy%22%7D&m=%20",
			want: `"name":"data?n=1&filter=%7B%22password%22%3A%22%5Bredacted%5D%22%7D&m=%20"`},
		"URL in a query":   {path: "/data?next=https%3A%2F%2Fbob%3Axyzzy%40example.com%2F%3Ftoken%3Dxyzzy"},
		"query in a query": {path: "/data?next=" + url.QueryEscape("/a?next="+url.QueryEscape("/b?token=xyzzy"))},
		"name in a query":  {path: "/data?api%5Fkey=xyzzy&api%2Dkey=xyzzy&user[password]=xyzzy&password%5B%5D=xyzzy&token[0]=xyzzy"},
		"form":             {path: "/data", body: "user=1&api%5Fkey=xyzzy&p=%7B%22password%22%3A%22xyzzy%22%7D"},
		"header with quotes": {body: `{"a":"Authorization: Digest username=\"bob\", response=\"xyzzy\"\nAccept: */*"}`,
			want: `"Authorization: [redacted]\nAccept: */*"`},
		"cookie with quotes": {body: `{"a":"Cookie: sid=\"xyzzy\"; b=o'xyzzy"}`, want: `"Cookie: [redacted]"`},
		"header in quotes": {body: `{"a":"curl -H \"Cookie: sid='xyzzy'; b=xyzzy\" https://example.com"}`,
			want: `\"Cookie: [redacted]\" https://example.com`},
		"values of a header": {body: `{"headers":[{"name":"Authorization","values":["xyzzy"]}]}`},
		"Go": {body: `{"a":"password := \"xyzzy\"; n := 1"}`,
			want: `"password := \"[redacted]\"; n := 1"`},
		"Ruby": {body: `{"a":"{:password=>\"xyzzy\", :n=>1}"}`,
			want: `{:password=>\"[redacted]\", :n=>1}`},
		"shell":               {body: "{\"a\":\"password=`xyzzy xyzzy` run\"}", want: "password=`[redacted]` run"},
		"brackets not closed": {body: `{"a":"password=[xyzzy, n=1"}`, want: `"password=[redacted]"`},
		"name that has to go": {body: `{"password=xyzzy":1,"password=[redacted]":2}`,
			want: `{"2 password=[redacted]":1,"password=[redacted]":2}`},
		"names that have to go": {body: `{"pwd=xyzzy1":1,"pwd=xyzzy2":2,"2 pwd=[redacted]":3}`,
			want: `{"pwd=[redacted]":1,"3 pwd=[redacted]":2,"2 pwd=[redacted]":3}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, path := recording(t)
			request := func(c http.Handler) answer {
				return post(t, c, cmp.Or(test.path, "/tools/a"), cmp.Or(test.body, "{}"), token)
			}
			request(c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, cmp.Or(test.answer, "{}"))
			})))
			finish(t, c)
			tape := loaded(t, path)
			text := readFile(t, path)
			if strings.Contains(text+string(tape.Interactions[0].AnswerBytes), "xyzzy") ||
				!strings.Contains(text, "redacted") &&
					!strings.Contains(string(tape.Interactions[0].AnswerBytes), `{"password":"[redacted]","name":"J`) {
				t.Errorf("a secret is in\n%s", text)
			}
			mustContain(t, text, test.want)
			replay := newCassette(t, path, nil)
			if got := request(replay); got.status != http.StatusOK {
				t.Errorf("replayed: %+v\n%s", got, replay.Report())
			}
		})
	}
}

// Arguments made for it do not take for ever: names that become one, and objects that have no
// member in common.
func TestWideObjects(t *testing.T) {
	const n = 40_000
	wide := func(name string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%s%d":1,`, name, i)
		}
		return "{" + b.String() + `"last":1}`
	}
	c := newCassette(t, tape(t, head, call(1, "a", wide("pwd="), `1`), tail(1)), nil)
	post(t, c, "/tools/a", wide("other"), token)
	report := c.Report()
	if wantKinds(t, report, "changed"); len(report.Deviations[0].Diff) != 2*n {
		t.Errorf("%d differences, want %d", len(report.Deviations[0].Diff), 2*n)
	}
}

// Redacting is final: once more changes nothing, whatever the text.
func FuzzRedact(f *testing.F) {
	f.Add(secretive)
	f.Add(`{"a":"token: [redacted]","b":"://a:b@c","c":"[\"Bearer aaaaaaaaaaaaaaaa\"]"}`)
	f.Add(`{"a":"{\"password\":\"Bearer aaaaaaaaaaaaaaaa\"}"}`)
	f.Add(`{"` + token + `":1,"[redacted]":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		redact := func(arguments string) (string, bool) {
			path := filepath.Join(t.TempDir(), "run.jsonl")
			c, err := cassette.New(path, &cassette.Options{Mode: cassette.Record})
			if err != nil {
				t.Fatal(err)
			}
			post(t, c.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), "/tools/a", arguments, token)
			finish(t, c)
			if strings.Contains(readFile(t, path), token) {
				t.Fatalf("the token is on the tape for %q", arguments)
			}
			tape, err := cassette.Load(path)
			if err != nil {
				t.Fatalf("%v for %q", err, arguments)
			}
			i := tape.Interactions[0]
			return string(i.Arguments), i.Arguments != nil
		}
		once, ok := redact(text)
		if !ok {
			return
		}
		if twice, _ := redact(once); twice != once {
			t.Fatalf("%s\nbecame\n%s\nand then\n%s", text, once, twice)
		}
	})
}
