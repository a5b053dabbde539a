package pagecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// talker refunds the order in its first turn, and says what it knows of the session.
func talker(t *testing.T) http.Handler {
	return serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var before []dispatch.Message
		if run.Messages != nil {
			if err := json.Unmarshal(run.Messages, &before); err != nil {
				return nil, err
			}
		}
		if len(before) == 0 {
			if _, err := proxy.Call[any](ctx, run.Proxy, "refund_order", map[string]any{"order_id": "4521", "amount": 79.5, "reason": "broken"}); err != nil {
				return nil, err
			}
			if _, err := proxy.Call[any](ctx, run.Proxy, "track_parcel", map[string]any{"parcel_id": "pk_7"}); err != nil { // sets a flag
				return nil, err
			}
		}
		var said []string
		for _, m := range before {
			said = append(said, string(m.Role)+": "+m.Content.String())
		}
		return &dispatch.Response{FinalResponse: fmt.Sprintf("Turn %s of %.8s after [%s]. secret-value", run.TurnID, run.SessionID, strings.Join(said, ", "))}, nil
	})
}

// A session goes on from the page of its run: in the world as it was at the end, with the turns so far, and again with
// one id. A message that is missing keeps the form of the session.
func TestSayMore(t *testing.T) {
	t.Parallel()
	l := start(t, 10)
	path := l.dispatchTo(talker(t), map[string]string{"instruction": "Refund it.", "strict": ""})
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("more").say(), "Say more", "The session goes on in the world as it is now")
	resp, body := l.post("/dispatch", map[string]string{"more": "1", "instruction": ""})
	if form := checkPage(t, body); resp.StatusCode != http.StatusUnprocessableEntity || form.all(func(n *node) bool { return n.attr["name"] == "more" })[0].attr["value"] != "1" {
		t.Errorf("%d\n%s", resp.StatusCode, body)
	}
	for i, instruction := range []string{"Is it done?", "Sure?"} {
		resp, body := l.post("/dispatch", map[string]string{"more": fmt.Sprint(i + 1), "instruction": instruction})
		if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != fmt.Sprintf("/runs/%d", i+2) {
			t.Fatalf("%d\n%s", resp.StatusCode, body)
		}
		l.runs.wait()
	}
	first, second := l.get("/runs/2"), l.get("/runs/3")
	has(t, first.id("final").say(), "Turn 2 of session- after [user: Refund it., assistant: Turn of after []. secret-value].")
	has(t, second.id("final").say(), "Turn 3 of session- after [user: Refund it., ", ", user: Is it done?, assistant: Turn 2 of ")
	has(t, second.id("facts").say(), "Session turn 3, after #2")
	has(t, second.id("earlier").say(), "Earlier in this session 2 turns", "user Refund it.", "assistant Turn", "user Is it done?", "assistant Turn 2")
	for _, page := range []*node{first, second} {
		has(t, page.id("before").say(), `"status": "refunded"`, `"tracked:pk_7"`)
		has(t, page.id("ledger").say(), "The run changed nothing.")
	}
	if id := sessionOf(first); id == "" || sessionOf(second) != id {
		t.Errorf("the session is %q and then %q", id, sessionOf(second))
	}
	if resp, body := l.post("/dispatch", map[string]string{"more": "3", "instruction": "x", "user_turns": strings.Repeat("again\n", 47)}); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("51 turns: %d", resp.StatusCode)
	} else {
		has(t, checkPage(t, body).id("instruction-problem").say(), "at most 50 turns")
	}
	form := l.get("/dispatch?more=3")
	has(t, form.named("main")[0].say(), "Say more", "The session of run #3 goes on")
	if l.get("/runs/3").id("instruction").attr["name"] != "instruction" {
		t.Error("the page has no field")
	}
}

// sessionOf returns the session_id of the first dispatch of a run.
func sessionOf(page *node) string {
	_, rest, _ := strings.Cut(page.id("raw").say(), `"session_id": "`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// An agent that remembers the session gets its id from the first turn on, and no messages.
func TestStatefulSession(t *testing.T) {
	t.Parallel()
	l := start(t, 10)
	l.dispatchTo(talker(t), map[string]string{"instruction": "Refund it.", "stateful": "yes", "user_turns": "Is it done?"})
	l.runs.wait()
	if resp, body := l.post("/dispatch", map[string]string{"more": "1", "instruction": "Sure?"}); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d\n%s", resp.StatusCode, body)
	}
	l.runs.wait()
	first, second := l.get("/runs/1"), l.get("/runs/2")
	has(t, first.id("final").say(), "Turn 2 of session- after [].")
	has(t, second.id("final").say(), "Turn 3 of session- after [].")
	if id := sessionOf(first); id == "" || sessionOf(second) != id {
		t.Errorf("the session is %q and then %q", id, sessionOf(second))
	}
	again := l.get("/dispatch?again=2")
	if _, checked := again.id("stateful").attr["checked"]; !checked {
		t.Error("the form does not have the memory of the session")
	}
	if _, open := again.id("more").attr["open"]; !open {
		t.Error("the form does not show it")
	}
	if resp, _ := l.post("/dispatch", map[string]string{"more": "1", "instruction": "Sure?", "timeout": "300"}); resp.StatusCode != http.StatusSeeOther {
		t.Fatal(resp.Status)
	}
	l.runs.wait()
	has(t, l.get("/runs/3").id("final").say(), "Turn 3 of session- after [user: Refund it.")
}

// Only the session of a run that has completed and is kept goes on. Nothing else is dispatched in its place.
func TestSessionsThatCannotGoOn(t *testing.T) {
	t.Parallel()
	l := start(t, 10)
	agent := serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if run.Instruction == "Wait." {
			<-ctx.Done()
		}
		return nil, errors.New("no")
	})
	l.dispatchTo(agent, map[string]string{"instruction": "Fail."})
	l.runs.wait()
	l.dispatchTo(agent, map[string]string{"instruction": "Wait."})
	for _, id := range []string{"1", "2", "3", "x"} {
		resp, body := l.post("/dispatch", map[string]string{"more": id, "instruction": "Go on.", "url": l.runs.get(1).task.URL})
		got, form := l.do(l.request("GET", "/dispatch?more="+id, ""))
		if resp.StatusCode != http.StatusConflict || got.StatusCode != http.StatusConflict {
			t.Errorf("run %s: %d and %d", id, resp.StatusCode, got.StatusCode)
		}
		has(t, checkPage(t, body).say(), "The session cannot go on")
		has(t, checkPage(t, form).say(), "The session cannot go on")
	}
	if got := l.ids(); got != "2 1" {
		t.Errorf("the runs are %s", got)
	}
}

// An auth value is not kept, so that the form asks for it, unless it is the one of the command line.
func TestSayMoreWithAnAuthValue(t *testing.T) {
	t.Parallel()
	l := start(t, 10)
	path := l.dispatchTo(talker(t), map[string]string{"auth_value": "Bearer secret-value"})
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("more").say(), "Say more with the auth value, which is not kept")
	hasNot(t, page.say(), "secret-value")
	form := l.get(page.id("more").named("a")[0].attr["href"])
	form.id("auth_value")
	l.agent.URL, l.agent.AuthValue = l.runs.get(1).task.URL, "Bearer secret-value"
	has(t, l.get(path).id("more").say(), "The session goes on")
}

// The page begins with the runs of the folder, the latest first, with their numbers and pages. A file that cannot be
// read is named, and the others are there. New runs have further numbers, and a session of an earlier page goes on.
func TestRunsOfAFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var mu sync.Mutex
	var problems []string
	open := func(keep int) *local {
		o := options{keep: keep, folder: folder, problem: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, err.Error())
		}}
		if err := o.load(""); err != nil {
			t.Fatal(err)
		}
		return startWith(t, o)
	}
	l, agent := open(10), talker(t)
	l.dispatchTo(agent, map[string]string{"instruction": "First.", "auth_value": "Bearer secret-value", "timeout": "77", "input": `{"a":1}`})
	l.runs.wait()
	l.dispatchTo(agent, map[string]string{"instruction": "Second."})
	l.runs.wait()
	if resp, _ := l.post("/dispatch", map[string]string{"more": "2", "instruction": "Third."}); resp.StatusCode != http.StatusSeeOther {
		t.Fatal(resp.Status)
	}
	l.runs.wait()
	l.post("/runs/sample", nil)
	l.runs.wait()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%q %v", files, err)
	}
	testkit.OwnerOnly(t, files[0])
	for name, text := range map[string]string{"1-damaged.json": "{", "0-other.json": `{"format":"toolwire run 2"}`, "2-empty.json": `{"format":"toolwire run 1","result":{}}`,
		"1-long.json": `{"format":"toolwire run 1","result":{"error_class":"agent_5xx","calls":[` + strings.Repeat("{},", 2000) + `{}]}}`, "notes.txt": "hello",
		"9-turns.json": `{"format":"toolwire run 1","result":{"turns":[` + strings.Repeat("{},", 45) + `{}]},"page":{"form":{},"earlier":[{},{},{},{},{}]}}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "4.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder, filepath.Join(folder, "9-link.json")); err != nil {
		t.Fatal(err)
	}

	again := open(10)
	if got := again.ids(); got != "8 7 6 5" {
		t.Errorf("the runs are %s", got)
	}
	has(t, strings.Join(problems, "\n"), "9-turns.json: it has more than", "or than 50 turns", "9-link.json: it is not a regular file", "2-empty.json: it contains no dispatch", "1-long.json: it has more than 2000 requests", "1-damaged.json: invalid JSON",
		"0-other.json: its format is \"toolwire run 2\"")
	if len(problems) != 6 {
		t.Errorf("%q", problems)
	}
	has(t, again.get("/").say(), "built-in sample agent", "#8", "#7", "Third.", "#6", "Second.", "#5", "First.", "All are files in the folder "+folder)
	for _, pair := range [][2]string{{"1", "5"}, {"2", "6"}, {"3", "7"}, {"4", "8"}} {
		before, after := l.get("/runs/"+pair[0]), again.get("/runs/"+pair[1])
		for _, id := range []string{"events", "final", "now", "ledger"} {
			if was, is := before.id(id).say(), after.id(id).say(); was != is {
				t.Errorf("%s of run %s is\n%s\nand was\n%s", id, pair[0], is, was)
			}
		}
	}
	has(t, again.get("/runs/5").id("facts").say(), "77 s", "optional", "Auth header Authorization")
	has(t, again.get("/runs/7").id("earlier").say(), "user Second.", "assistant Turn")
	hasNot(t, again.get("/runs/5").say(), "secret-value")
	has(t, again.get("/dispatch?again=5").id("input").say(), `{"a":1}`)
	resp, saved := again.do(again.request("GET", "/runs/7/run.json", ""))
	if whole, err := os.ReadFile(files[2]); err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(whole, []byte(saved)) {
		t.Errorf("saved again, the file has %d bytes in place of %d: %v", len(saved), len(whole), err)
	}
	if resp, body := again.post("/dispatch", map[string]string{"more": "7", "instruction": "Fourth."}); resp.Header.Get("Location") != "/runs/11" {
		t.Errorf("%d\n%s", resp.StatusCode, body)
	}
	again.runs.wait()
	has(t, again.get("/runs/11").id("final").say(), "Turn 3 of session- after [user: Second., ", "user: Third.")

	if got := open(2).ids(); got != "9 8" {
		t.Errorf("of the runs, the last two are %s", got)
	}
	if _, err := newServer("http://127.0.0.1:1", options{keep: 1, folder: files[0]}); !errors.Is(err, os.ErrNotExist) && err == nil {
		t.Error("a file is no folder")
	}
}
