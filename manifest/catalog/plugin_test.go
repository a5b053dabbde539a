package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest/catalog"
)

const (
	class     = "class A(BaseTool):\n    name = 'a'\n"
	function  = "def tool_plugin():\n    return A()\n"
	decorated = "from gllm_plugin.tools import tool_plugin\n@tool_plugin(version=\"1.0.0\")\nclass A(BaseTool):\n    name = 'a'\n"
)

func TestCheckPlugin(t *testing.T) {
	for _, test := range []struct {
		name, source string
		want         catalog.Plugin // without the module's name
	}{
		{"class", class, catalog.Plugin{ClassName: "A", Name: "a"}},
		{"byte order mark, CRLF", "\ufeff" + strings.ReplaceAll(class, "\n", "\r\n"),
			catalog.Plugin{ClassName: "A", Name: "a"}},
		{"function", class + function, catalog.Plugin{ClassName: "A", Name: "a", EntryPoint: true}},
		{"function alone", "from .tools import A\n" + function, catalog.Plugin{EntryPoint: true}},
		{"assigned function", class + "tool_plugin = A", catalog.Plugin{ClassName: "A", Name: "a",
			EntryPoint: true}},
		{"decorator", decorated, catalog.Plugin{ClassName: "A", Name: "a", EntryPoint: true}},
		{"decorator with a path", "import gllm_plugin.tools\n@gllm_plugin.tools.tool_plugin(\n  version='1')\n" + class,
			catalog.Plugin{ClassName: "A", Name: "a", EntryPoint: true}},
		{"renamed decorator", "from gllm_plugin.tools import (other, tool_plugin as tp,)\n@tp\n@other\n" + class,
			catalog.Plugin{ClassName: "A", Name: "a", EntryPoint: true}},
		{"decorated class without bases", "@tool_plugin(version='1')\nclass A: pass",
			catalog.Plugin{ClassName: "A", EntryPoint: true}},
		{"inside other blocks", "try:\n    import x\nexcept ImportError:\n    x = None\nelse:\n  if x:\n    " +
			strings.ReplaceAll(class, "\n ", "\n     ") + "  def tool_plugin(): return A()\n",
			catalog.Plugin{ClassName: "A", Name: "a", EntryPoint: true}},
		{"not inside functions", "def f():\n    class B(BaseTool): pass\n    def tool_plugin(): pass\n" + class,
			catalog.Plugin{ClassName: "A", Name: "a"}},
		{"methods are not functions", "class A(BaseTool):\n    def tool_plugin(self): pass\n    name = 'a'\n",
			catalog.Plugin{ClassName: "A", Name: "a"}},
		{"helpers around it", "class Args(BaseModel):\n    name: str = 'x'\nclass Mixin:\n    name='m'\n" + class +
			"class Failure(Exception): pass\nclass Later(Mixin): name='l'\n",
			catalog.Plugin{ClassName: "A", Name: "a"}},
		{"derived in two steps", "class Base(core.BaseTool): pass\nclass B(Base):\n\tname='b'\nclass Other(Thing): name='o'",
			catalog.Plugin{ClassName: "B", Name: "b"}},
		{"renamed base", "from langchain_core.tools import BaseTool as Base\nclass A(Base): pass\nclass B(Thing): name='b'",
			catalog.Plugin{ClassName: "A"}},
		{"by the base's name", "class X(Thing): name='x'\nclass G(adk.FunctionTool): pass\nclass Y(Thing): pass",
			catalog.Plugin{ClassName: "G"}},
		{"any base", "class X(Thing): pass", catalog.Plugin{ClassName: "X"}},
		{"generic", "class X[T: (int, str)](BaseTool, Generic[T], metaclass=M): name='x'",
			catalog.Plugin{ClassName: "X", Name: "x"}},
		{"computed base", "class X(*bases): pass", catalog.Plugin{ClassName: "X"}},
		{"literals",
			"class A(BaseTool):\n    'doc'\n    name: ClassVar[str] = (\n        r'a\\b' \"\"\"c\"\"\"  # comment\n        'd\\x41\\u00e4\\101\\n\\'')\n" +
				"    description: str = 'one'; description = U'two \\\n three'\n",
			catalog.Plugin{ClassName: "A", Name: "a\\bcdAäA\n'", Description: "two  three"}},
		{"no literals", "class A(BaseTool):\n    name = f'a{1}'\n    description = 'a' + b\n",
			catalog.Plugin{ClassName: "A"}},
		{"overwritten", "class A(BaseTool):\n    name = 'a'\n    name = make()\n    description = b'bytes'\n",
			catalog.Plugin{ClassName: "A"}},
		{"named character", "class A(BaseTool): name = '\\N{BULLET}'", catalog.Plugin{ClassName: "A"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := catalog.CheckPlugin(`C:\x/my tool.py`, []byte(test.source), nil)
			if err != nil {
				t.Fatal(err)
			}
			test.want.ModuleName = "my_tool"
			if *got != test.want {
				t.Errorf("the plugin is %+v, want %+v", *got, test.want)
			}
		})
	}
}

// A module's name can be joined into a path, an import or a command.
func TestModuleNames(t *testing.T) {
	for file, want := range map[string]string{
		"weather.py": "weather", "my-tool.py": "my_tool", "...py": "__", "..%2f.py": "___2f", "$(id).py": "__id_",
		"7days.py": "_7days",
		"a.b.py":   "a_b", "größe2.py": "größe2", "../../x.py": "x", ` ;rm.py`: "__rm", "٣.py": "_٣",
	} {
		p, err := catalog.CheckPlugin(file, []byte(class), nil)
		if err != nil || p.ModuleName != want {
			t.Errorf("%q: %+v, %v; want %q", file, p, err, want)
		}
	}
}

func TestServerVersion(t *testing.T) {
	for _, test := range []struct {
		version string
		old     bool
	}{
		{"", false}, {"v0.1.85", false}, {"0.1.85", false}, {"v0.1.84", true}, {"0.1.9", true}, {"0.1.100", false},
		{"0.2", false},
		{"0.1", true}, {"1", false}, {"0", true}, {"v0.1.85-rc.1", true}, {"0.1.85rc1", true}, {"0.1.85.dev3", true},
		{"0.1.85.post1", false}, {"0.1.85+build", false}, {"0.1.86-rc.1", false}, {"v0.1.84+85", true},
	} {
		o := &catalog.PluginOptions{ServerVersion: test.version}
		for source, refused := range map[string]bool{class: test.old, class + function: false, decorated: false} {
			_, err := catalog.CheckPlugin("a.py", []byte(source), o)
			if (err != nil) != refused {
				t.Errorf("with version %q the error is %v for\n%s", test.version, err, source)
			}
			if err != nil && !strings.Contains(err.Error(), "tool_plugin") {
				t.Errorf("the error does not say what is missing: %v", err)
			}
		}
	}
	for _, version := range []string{"v", "new", "v.1", "-1", "99999999999999999999"} {
		_, err := catalog.CheckPlugin("a.py", []byte(class), &catalog.PluginOptions{ServerVersion: version})
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != toolwire.CodeInvalidOptions || len(e.Problems) != 1 ||
			e.Problems[0].Pointer != "/ServerVersion" {
			t.Errorf("the version %q gives %v", version, err)
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	for _, test := range []struct {
		name, file, source string
		rules              string // Problem.Code, in order
		text               string
	}{
		{"name", "a.txt", class, "filename", ".py"},
		{"name in capitals", "a.PY", class, "filename", ".py"},
		{"no name", "", class, "filename", ".py"},
		{"control character", "a\n.py", class, "filename", "control"},
		{"control character and another end", "\x1b[2J", class, "filename", ".py"},
		{"only a suffix", "dir/.py", class, "filename", ".py"},
		{"not UTF-8", "a.py", class + "# \xe9", "encoding", "line 3"},
		{"a name and a text", "a", "\xff\xfec\x00", "filename encoding", "UTF-8"},
		{"NUL", "a.py", class + "\x00", "encoding", "NUL"},
		{"empty", "a.py", "", "tool_class", "BaseTool"},
		{"no class", "a.py", "def run(): pass", "tool_class", "BaseTool"},
		{"class without a base", "a.py", "class A: name = 'a'", "tool_class", "BaseTool"},
		{"classes that are not tools", "a.py",
			"class A(object): pass\nclass B(pydantic.BaseModel): pass\nclass C(Exception): pass",
			"tool_class", ""},
		{"class in a text", "a.py", "'''\n" + class + "'''", "tool_class", ""},
		{"async entry point", "a.py", "async def tool_plugin(): pass", "tool_class", ""},
		{"malformed", "a.py", class + "x = (1,\n", "syntax", `line 3: this '(' is not closed`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := catalog.CheckPlugin(test.file, []byte(test.source), nil)
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok || e.Code != "invalid_plugin" {
				t.Fatalf("the error is %v", err)
			}
			var rules []string
			for _, p := range e.Problems {
				rules = append(rules, p.Code)
				if p.Pointer != "/file" {
					t.Errorf("the problem is at %q", p.Pointer)
				}
			}
			if got := strings.Join(rules, " "); got != test.rules || !strings.Contains(err.Error(), test.text) {
				t.Errorf("the error is %v with %s, want %s with %q", err, got, test.rules, test.text)
			}
		})
	}

	_, err := catalog.CheckPlugin("a.py", []byte(class), &catalog.PluginOptions{MaxBytes: len(class) - 1})
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != toolwire.CodeRequestTooLarge {
		t.Errorf("a large file gives %v", err)
	}
}

// TestHostileFiles checks that the cost of a file is linear in its size.
func TestHostileFiles(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector empties the pools of package regexp, so each match allocates")
	}
	hostile := func(size int) map[string]string {
		fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
		return map[string]string{
			"brackets": fill("("), "f-strings": fill(`f"{`), "nested f-strings": fill(`f'''{f"{`), "formats": `f"` + fill("{x:"),
			"quotes": fill("'"), "triple quotes": fill("'''"), "backslashes": fill(`\`), "continuations": fill("\\\n"),
			"indents": "if x:\n" + fill(" "), "blocks": fill("if x:\n "), "semicolons": fill("a=1;"), "lines": fill("a=1\n"),
			"bases": "class A(" + fill("B,"), "closed bases": "class A(" + fill("B,") + "): pass", "decorators": fill("@a\n"),
			"classes": fill("class A(B):pass\n"), "attributes": "class A(B):\n" + fill(" a='b'\n"),
			"concatenation": "class A(B):\n name=(" + fill("'a'") + ")",
			"aliases":       fill("from gllm_plugin import tool_plugin as b\n"),
			"decorated": "from gllm_plugin import tool_plugin as b\n" +
				fill("@x\nclass A(B):pass\n"),
			"chain": fill("class A(A):pass\n"), "escapes": "class A(B): name='" + fill(`\x41`) + "'", "names in strings": "f'" +
				fill(`\N{`) + "'",
			"words": fill("a "), "long name": fill("a"), "numbers": fill("1_"), "carriage returns": fill("\r"),
			"form feeds": fill("\f"), "letters": fill("名"),
		}
	}
	check := func(source string) { // the result does not matter
		_, _ = catalog.CheckPlugin("a.py", []byte(source), &catalog.PluginOptions{MaxBytes: 2 * len(source)})
	}
	for name, source := range hostile(testkit.Size(128<<10, 1<<20)) {
		t.Run(name, func(t *testing.T) {
			cost.Within(t, "CheckPlugin", len(source), 72, func() { check(source) })
		})
	}
}

func FuzzCheckPlugin(f *testing.F) {
	for _, seed := range []string{class, class + function, decorated, source, `f"{x!r:>{w}}" f'''{a["b"]:{'c'}}'''`,
		"class A[T](B, m=1): name: str = r'a' 'b'\\\n'c'",
		"if x:\n\ty = '''a\n'''\n", "from gllm_plugin.tools import tool_plugin as t\n@t\nclass A: pass", "from import",
		"\\\n  x",
		"class", "def f(", "@", "1_0.e5j if x else .5"} {
		f.Add([]byte(seed), "v0.1.84")
		f.Add([]byte(seed), "")
	}
	f.Fuzz(func(t *testing.T, source []byte, version string) {
		o := &catalog.PluginOptions{ServerVersion: version, MaxBytes: 1 << 16}
		check := func(source []byte) {
			if _, err := catalog.CheckPlugin("a.py", source, &catalog.PluginOptions{MaxBytes: 1 << 20}); err != nil {
				_ = err.Error()
			}
		}
		cost.Within(t, "CheckPlugin", len(source), 200, func() { check(source) })
		cost.Linear(t, "CheckPlugin", source, cost.Lines("from gllm_plugin.tools import tool_plugin", source), check)
		p, err := catalog.CheckPlugin("a.py", source, o)
		if err != nil {
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok || p != nil || e.Code == "invalid_plugin" && len(e.Problems) == 0 || !utf8.ValidString(err.Error()) {
				t.Fatalf("the error is %#v", err)
			}
			return
		}
		if p.ClassName == "" && !p.EntryPoint || !utf8.ValidString(p.Name+p.Description) {
			t.Fatalf("the plugin is %+v", p)
		}
		// Code around a malformed source does not make it valid.
		again, err := catalog.CheckPlugin("a.py", append([]byte("# comment\n\n"), append(source, "\n\n# end"...)...), o)
		if err == nil && *again != *p {
			t.Fatalf("comments change the result: %+v, %+v", p, again)
		}
	})
}

// BenchmarkCheckPlugin checks an uploaded file of Python. The floor only searches for the text of a
// class.
func BenchmarkCheckPlugin(b *testing.B) {
	source := []byte(strings.Repeat("# A comment.\ndef helper(a: int, *, b='x') -> str:\n    return f\"{a:>{b}} {b!r}\" + '''text'''\n\n", 600) + class)
	b.Run("toolwire", func(b *testing.B) {
		b.SetBytes(int64(len(source)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := catalog.CheckPlugin("a.py", source, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(source)))
		for b.Loop() {
			if !utf8.Valid(source) || !strings.Contains(string(source), "\nclass ") {
				b.Fatal("no class")
			}
		}
	})
}
