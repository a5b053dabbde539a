package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// An entry point of the shape that "Porting without the SDK" gives, with one call.
const codeAgent = `
import json, urllib.request

def run(task_input, *, proxy_url, run_token):
    request = urllib.request.Request(proxy_url + "/tools/get_order", json.dumps({"order_id": task_input["input"]["id"]}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + run_token})
    with urllib.request.urlopen(request, timeout=60) as response:
        order = json.load(response)["response"]
    return {"final_response": task_input["user_instruction"] + " It is " + order["status"] + "."}
`

// The driver of docs/porting.md runs an entry point in Python as a program in code mode.
func TestPythonDriver(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on this machine")
	}
	page, err := os.ReadFile("../../../docs/porting.md")
	if err != nil {
		t.Fatal(err)
	}
	driver := regexp.MustCompile("(?s)\n```python\n(.*?)```").FindSubmatch(page)
	if driver == nil {
		t.Fatal("docs/porting.md has no driver in Python")
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"driver.py": driver[1], "code_agent.py": []byte(codeAgent)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := dispatchtest.Target{Command: []string{python, filepath.Join(dir, "driver.py")}}
	got := dispatchtest.Run(t, target, dispatchtest.Task{
		Instruction: "How is my order?",
		Input:       map[string]string{"id": "4521"},
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Canned(`{"status":"shipped"}`),
		}},
	})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "How is my order? It is shipped.")
	got.AssertCalled(t, "get_order", `{"order_id":"4521"}`)
}
