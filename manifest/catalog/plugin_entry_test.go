package catalog_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

func TestAddEntryPoint(t *testing.T) {
	older := &catalog.PluginOptions{ServerVersion: "v0.1.84"}
	for _, source := range []string{
		class, strings.TrimRight(class, "\n"), class + "# the end", class + "if True:\n    pass",
		strings.ReplaceAll(class, "\n", "\r\n"), "\ufeff" + class,
		class + strings.Repeat("#", 2<<20), "class A(BaseTool): pass;",
	} {
		added, err := catalog.AddEntryPoint([]byte(source))
		if err != nil {
			t.Errorf("%v for\n%.200s", err, source)
			continue
		}
		older.MaxBytes = len(added)
		plugin, err := catalog.CheckPlugin("a.py", added, older)
		if err != nil || !plugin.EntryPoint || !strings.HasPrefix(string(added), source) {
			t.Errorf("%v, %+v for\n%.200s", err, plugin, added)
			continue
		}
		if text := string(added); strings.Contains(source, "\r\n") != strings.HasSuffix(text,
			"def tool_plugin():\r\n    return "+plugin.ClassName+"()\r\n") {
			t.Errorf("the added lines have other line ends: %q", text)
		}
	}
	for _, source := range []string{class + function, decorated} {
		if added, err := catalog.AddEntryPoint([]byte(source)); err != nil || string(added) != source {
			t.Errorf("%v; a source with an entry point was changed to\n%s", err, added)
		}
	}
	for _, source := range []string{"x = 1\n", "class A(:\n", "\xff"} {
		_, err := catalog.AddEntryPoint([]byte(source))
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != "invalid_plugin" {
			t.Errorf("%q: %v", source, err)
		}
	}
}

// A server before v0.1.85 accepts the result.
func ExampleAddEntryPoint() {
	source := "class Weather(BaseTool):\n    name = 'weather'\n"
	added, err := catalog.AddEntryPoint([]byte(source))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(strings.TrimPrefix(string(added), source))
	// Output:
	// def tool_plugin():
	//     return Weather()
}
