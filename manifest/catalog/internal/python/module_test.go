package python_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest/catalog/internal/python"
)

// TestMalformed checks sources that no version of Python 3 accepts.
func TestMalformed(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"x = $", "line 1: '$' begins no token"}, {"x = ?", "line 1: '?' begins"}, {"x = !", "line 1: '!' begins"}, {"x = `1`", "line 1: '`' begins"},
		{"\nx = ‘x’", "line 2: '‘' begins"}, {"x = a”", "line 1: '”' begins"}, {"x = 1a", "line 1: this number"}, {"x = 08", "line 1: this number"},
		{"x = 0x", "line 1: this number"}, {"x = 0b2", "line 1: this number"}, {"x = 1__0", "line 1: this number"}, {"x = 1_", "line 1: this number"},
		{"x = 1e", "line 1: this number"}, {"x = 1e+", "line 1: this number"}, {"x = 0o8", "line 1: this number"}, {"f'{1a}'", "line 1: this number"},
		{"x = 'a\ny'", "line 1: the string"}, {"\n\n'''a\n''", "line 3: the string"}, {"x = \"", "line 1: the string"},
		{"x = r'\\'", "line 1: the string"}, {"f'a\n'", "line 1: the f-string"}, {"f'''{", "line 1: the f-string"},
		{"\rf'{x:'",
			"line 2: the f-string ends"},
		{"f'}'", "line 1: a single '}'"}, {"f'{x]}'", "line 1: this ']'"}, {"f'{'{'}", "line 1: the f-string"}, {"t'{x",
			"line 1: the f-string"},
		{"f(1,\n2", "line 1: this '('"}, {"x = [1)", "line 1: this ')'"}, {"x)", "line 1: this ')'"},
		{"{\r\n]", "line 2: this ']'"},
		{"x \\ y", "line 1: after a backslash"}, {"  \\ y", "line 1: after a backslash"},
		{"x = 1\n  y = 2", "line 2: this line is indented without need"}, {"  x = 1", "line 1: this line is indented"},
		{"if x:\ny",
			"line 2: an indented block"},
		{"if x:\n", "line 2: the file ends"}, {"if x:\n    a\n  b", "line 3: this line is indented as none"},
		{"if x:\n\ta\n        b", "line 3: tabs and spaces"},
		{"if x:\n        if y:\n\t\ta\n", "line 3: tabs and spaces"},
		{"if x:\n        if y:\n\ta\n", "line 3: an indented block"},
		{"if x:\n a\n\tb\n", "line 3: tabs and spaces"},
		{"if x:\n  a\n  if y:\n\tb\n", "line 4: tabs and spaces"},
		{"class", "line 1: a colon is missing"}, {"class A", "line 1: a colon"}, {"def f()\n  x", "line 1: a colon"},
		{"class 1: pass", "line 1: after \"class\" there must be a name"},
		{"def class(): pass", "line 1: after \"def\" there must be a name"}, {"def f: pass", "line 1: after the name"},
		{"class A.B: pass", "line 1: after the name"},
		{"else\n  x", "line 1: a colon"}, {"async def f()\n x", "line 1: a colon"}, {"x = 1:\n  y",
			"line 1: this line ends with a colon"}, {"foo():", "line 1: this line ends"},
		{strings.Repeat("(", 201), "line 1: too much"}, {strings.Repeat("f'{", 151), "line 1: too much"},
		{"if x:\n" + blocks(101), "line 102: more than 100"},
	} {
		_, err := python.Read([]byte(test.source))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q gives %v, want %q", test.source, err, test.want)
		}
	}
}

// blocks returns n nested blocks.
func blocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "if x:\n")
	}
	return b.String() + strings.Repeat(" ", n+1) + "x\n"
}

// TestWellFormed checks sources that some version of Python 3 accepts and a simpler reader might
// not.
func TestWellFormed(t *testing.T) {
	for _, source := range []string{
		"", "\n\n", "# only\n   # comments", "\f\nx = 1\n\f  \n", "x = 1 # no end", "x = \\\n  1", "x = (  # open\n\n  1)",
		"if x:\r\n  a\rb = 1", "x = '\\\r\n'\n",
		"f''", "f'{x}'", "f'{x!r:>{w}.{p}}'", "f'{{}}{x}}}'", "f'{x:{y:{z}}}'", "f\"{d['a']}\"", "f'{d['a']}'",
		"f'{f'{f'{1}'}'}'",
		"f'{x=}' f'{x = !s}'", "f'{a!=b}'",
		"f'{(lambda x: 1)}'", "f'{x:=5}'", "f'{x:%H:%M}'", "f'''{\nx # } comment\n}'''", "f'{\nx\n}'", "f'{x:\n}'",
		"f'\\N{BULLET} {x}'", "fr'\\N{x}'", "f'\\{x}'", "rf'\\'{x}'",
		"f'\\\n'", "f'''a\n'b''{x:'}'''", "f'{ {1: 2}[1] }'", "t'{x}' rt\"{y}\"", "bR'\\'' Rb'' U''", "F'{\"}\"}'",
		"f'{\"{\"}'",
		"f'{x!r}}}'",
		"x = 08.5 + .08 + 08e1 + 08j + 00 + 0_0", "x = 1e5 + 1E+5 + 1.e5 + 0xe + 0xdeade", "größe = ℘ = e\u0301", "f'{x!r} $?'", "x != 1 # $",
		"x = 1if y else 2", "0x1for x in y", "0b1and x", "0O7else", "0B1_0as x", "1 .real", "x = 1..real", "1_0.5e-3j",
		"x = ...", "a @ b", "@a.b[c](d)\nclass A: pass",
		"x: int = 3", "x = y if z else w",
		"match x:\n  case {'a': 1}:\n    pass\n  case Point(x=0) | [1, *_]: pass",
		"match = case = type = 1\nmatch(x)\ntype(x)\nmatch.case\nmatch [1], 2:\n  case _: pass",
		"type X[T] = int; type Y = X",
		"match 'a':\n case 'b': pass", "print(x, file=y)",
		"async def f():\n  async with a as b, c: await d\n  async for x in y: pass", "async = 1",
		"def f[T](a, /, b: int = 1, *, c) -> dict[str, int]: ...",
		"class A[T]: pass", "class A(): x = 1; y = 2", "if x: a; b", "lambda: (yield)", "not x", "x = not y", "return x",
		"del x",
		"x = [i for i in y if i]", "except* E: pass", "é = ñ = ℘ = ªº = x·y = 名前",
		"if x:\n\ty\n\n\n# z\n\tz", "if x:\n  if y:\n    a\nb", "if x:\n  (a,\nb)\n  c", "try:\n  a\nexcept A, B:\n  b",
		"x = 1;",
		"class A:\n  '''doc\n'''\n\n  def f(self): pass\n",
		"if x:\n  \\\n  y", "\\\nx = 1", "with (a as b, c as d): pass", "'a' 'b' f'{c}' r'd'", "x = b'a' b'b'",
		strings.Repeat("(",
			200) + strings.Repeat(")", 200), "if x:\n" + blocks(99),
	} {
		if _, err := python.Read([]byte(source)); err != nil {
			t.Errorf("%q gives %v", source, err)
		}
	}
}

func TestModule(t *testing.T) {
	const source = `
import os
from . import a
from ..b.c import (d, e as f, g,)
x = y = 1; z: int = 2
w: int
x += 1
x[0] = 1
@one
# comment
@two.three(4)
class A(B, c.D[int], e(), *f, metaclass=G, ** h):
    n = 'a'
    def method(self):
        n = 'b'
        class Inner(B): n = 'c'
    class Nested(B):
        n = 'd'
    if n:
        m = 'e'
@late
async def run(): n = 1
class Empty: pass
class Brief[T: int]: n = 'a'; m = f(B)
`
	long := "x += (" + strings.Repeat("1,", 5000) + ")" // not all tokens of this line are kept
	got, err := python.Read([]byte(strings.Replace(source, "x += 1", long, 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := &python.Module{
		Classes: []python.Class{
			{Name: "A", Bases: []string{"B", "c.D", "e", "?"}, Decorators: []string{"one", "two.three"},
				Texts: map[string]string{"n": "a", "m": "e"}},
			{Name: "Empty"},
			{Name: "Brief", Texts: map[string]string{"n": "a"}},
		},
		Functions: []python.Function{{Name: "run", Async: true, Decorators: []string{"late"}}},
		Assigned:  []string{"x", "z"},
		Imports:   []python.Import{{".", "a", "a"}, {"..b.c", "d", "d"}, {"..b.c", "e", "f"}, {"..b.c", "g", "g"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the module is\n\t%+v, want\n\t%+v", got, want)
	}
}
