package python

import "strings"

// Module lists what a source defines at the level of the module, also within if, try, with and
// similar statements.
type Module struct {
	Classes   []Class    // in order
	Functions []Function // in their order
	Assigned  []string   // names assigned by "name = …" or "name: type = …"
	Imports   []Import   // of "from … import …"
}

// Class is a class of a module.
type Class struct {
	Name       string
	Bases      []string          // positional bases: the dotted name at the beginning of each, otherwise "?"
	Decorators []string          // dotted names, without arguments
	Texts      map[string]string // attributes whose value is a literal string
}

// Function is a function of a module.
type Function struct {
	Name       string
	Async      bool
	Decorators []string
}

// Import is one name of a from-import.
type Import struct{ Module, Name, As string }

// Read reads a source of valid UTF-8 without NUL and byte order mark. The error is an [*Error].
func Read(source []byte) (*Module, error) {
	mod := &structure{blocks: []block{{kind: moduleBlock}}}
	s := &scanner{src: source, mod: mod, start: true, indents: []indent{{}}}
	if err := s.scan(); err != nil {
		return nil, err
	}
	return &mod.Module, nil
}

// keywords are words that are always keywords. None, True and False are operands.
var keywords = map[string]bool{
	"and": true, "as": true, "assert": true, "async": true, "await": true, "break": true, "class": true, "continue": true,
	"def": true, "del": true, "elif": true, "else": true, "except": true, "finally": true, "for": true, "from": true,
	"global": true, "if": true, "import": true, "in": true, "is": true, "lambda": true, "nonlocal": true, "not": true,
	"or": true, "pass": true, "raise": true, "return": true, "try": true, "while": true, "with": true, "yield": true,
}

// compound are the keywords whose statements have a colon.
var compound = map[string]bool{
	"class": true, "def": true, "if": true, "elif": true, "else": true, "for": true, "while": true, "try": true,
	"except": true, "finally": true, "with": true,
}

// block is the owner of the lines of one indentation.
type block struct {
	kind       blockKind
	class      int      // of a classBlock
	decorators []string // of the next class or function
}

type blockKind byte

const (
	moduleBlock blockKind = iota
	classBlock
	otherBlock // a function, or a block in one
)

// structure builds a module from logical lines.
type structure struct {
	Module
	blocks []block
	next   block // opened by the last line
}

// take checks a logical line and records what it defines. colon reports whether the line ends with
// a colon and so opens a block. Of a very long line not all tokens are kept.
func (m *structure) take(s *scanner, tokens []token, colon bool) error {
	word := func(i int) string { return s.word(tokens, i) }
	now := &m.blocks[len(m.blocks)-1]
	m.next = block{kind: now.kind, class: now.class}

	begin := 0
	if word(0) == "async" && (word(1) == "def" || word(1) == "for" || word(1) == "with") {
		begin = 1
	}
	head := ""
	if tokens[begin].kind == name {
		head = word(begin)
	}
	opens := compound[head]
	if colon && !opens && head != "match" && head != "case" {
		return s.fail(tokens[0].start, "this line ends with a colon, but begins no block")
	}
	body := len(tokens)
	if opens {
		if body = m.colon(s, tokens); body == 0 && !s.cut {
			return s.fail(tokens[begin].start, "a colon is missing after %q", head)
		}
	}
	switch {
	case word(0) == "@":
		now.decorators = append(now.decorators, dotted(s, tokens[1:]))
		return nil
	case head == "class" || head == "def":
		if len(tokens) < begin+2 || tokens[begin+1].kind != name || isDigit(word(begin + 1)[0]) || keywords[word(begin+1)] {
			return s.fail(tokens[begin].start, "after %q there must be a name", head)
		}
		after := word(begin + 2)
		if after != "(" && after != "[" && (head == "def" || after != ":") {
			return s.fail(tokens[begin].start, "after the name of a %q there must be a bracket", head)
		}
		m.define(s, now, tokens, begin, head)
		if body > 0 {
			m.simple(s, m.next, tokens[min(body, len(tokens)):])
		}
	case opens:
		m.simple(s, *now, tokens[min(max(body, 1), len(tokens)):])
	default:
		m.simple(s, *now, tokens)
	}
	now.decorators = nil
	return nil
}

// colon returns the index after the colon of a compound statement, 0 if there is none.
func (m *structure) colon(s *scanner, tokens []token) int {
	for i, t := range tokens {
		if t.depth == 0 && t.kind == op && t.end == t.start+1 && s.src[t.start] == ':' {
			return i + 1
		}
	}
	return 0
}

// define records a class or a function, and sets the block that it opens.
func (m *structure) define(s *scanner, now *block, tokens []token, begin int, head string) {
	m.next = block{kind: otherBlock}
	if now.kind != moduleBlock {
		return
	}
	id := s.word(tokens, begin+1)
	if head == "def" {
		m.Functions = append(m.Functions, Function{Name: id, Async: begin == 1, Decorators: now.decorators})
		return
	}
	m.Classes = append(m.Classes, Class{Name: id, Bases: bases(s, tokens[begin+2:]), Decorators: now.decorators})
	m.next = block{kind: classBlock, class: len(m.Classes) - 1}
}

// bases reads the brackets after the name of a class.
func bases(s *scanner, tokens []token) []string {
	var list []string
	var base []token
	skip := true // up to the bracket; type parameters may precede it
	for _, t := range tokens {
		c := s.src[t.start]
		switch {
		case t.depth == 0 && t.kind == op && c == '(':
			skip, base = false, nil
		case skip && t.depth == 0 && t.kind == op && c == ':': // the body follows
			return nil
		case skip:
		case t.depth == 0 && t.kind == op && c == ')', t.depth == 1 && t.kind == op && c == ',':
			if !keyword(s, base) {
				if b := dotted(s, base); b != "" {
					list = append(list, b)
				} else if len(base) > 0 {
					list = append(list, "?")
				}
			}
			if base = nil; c == ')' {
				return list
			}
		case t.depth == 1:
			base = append(base, t)
		}
	}
	return list
}

// keyword reports whether an argument is "name=…" or "**…".
func keyword(s *scanner, argument []token) bool {
	return s.word(argument, 1) == "=" || s.word(argument, 0) == "*" && s.word(argument, 1) == "*"
}

// dotted reads a.b.c at the beginning of an expression. It returns "" if the expression begins
// otherwise.
func dotted(s *scanner, tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		w := s.src[t.start:t.end]
		if i%2 == 0 && t.kind != name || i%2 == 1 && string(w) != "." {
			break
		}
		b.Write(w)
	}
	return strings.TrimSuffix(b.String(), ".")
}

// simple records what simple statements, separated by semicolons, assign and import.
func (m *structure) simple(s *scanner, in block, tokens []token) {
	if in.kind == otherBlock {
		return
	}
	for len(tokens) > 0 {
		n := 0
		for n < len(tokens) && !(tokens[n].depth == 0 && tokens[n].kind == op && s.src[tokens[n].start] == ';') {
			n++
		}
		m.statement(s, in, tokens[:n])
		tokens = tokens[min(n+1, len(tokens)):]
	}
}

func (m *structure) statement(s *scanner, in block, tokens []token) {
	if len(tokens) < 3 || tokens[0].kind != name {
		return
	}
	word := func(i int) string { return s.word(tokens, i) }
	if word(0) == "from" {
		if in.kind == moduleBlock {
			m.imports(s, tokens)
		}
		return
	}
	equals := 1
	if word(1) == ":" {
		for equals < len(tokens) && !(tokens[equals].depth == 0 && word(equals) == "=") {
			equals++
		}
	}
	if equals >= len(tokens) || word(equals) != "=" {
		return
	}
	id := word(0)
	if in.kind == moduleBlock {
		m.Assigned = append(m.Assigned, id)
		return
	}
	class := &m.Classes[in.class]
	delete(class.Texts, id)
	if v, ok := literal(s, tokens[equals+1:]); ok && !s.cut {
		if class.Texts == nil {
			class.Texts = map[string]string{}
		}
		class.Texts[id] = v
	}
}

// literal joins the strings that make up a value, with or without brackets around them.
func literal(s *scanner, tokens []token) (string, bool) {
	for len(tokens) >= 2 && s.src[tokens[0].start] == '(' && s.src[tokens[len(tokens)-1].start] == ')' {
		tokens = tokens[1 : len(tokens)-1]
	}
	var b strings.Builder
	for _, t := range tokens {
		if t.kind != text {
			return "", false
		}
		v, ok := value(s.src[t.start:t.end])
		if !ok {
			return "", false
		}
		b.WriteString(v)
	}
	return b.String(), len(tokens) > 0
}

// imports records the names of a from-import.
func (m *structure) imports(s *scanner, tokens []token) {
	word := func(i int) string { return s.word(tokens, i) }
	i := 1
	for i < len(tokens) && word(i) != "import" {
		i++
	}
	if i < 2 { // malformed
		return
	}
	module := string(s.src[tokens[1].start:tokens[i-1].end])
	for i++; i < len(tokens); i++ {
		if tokens[i].kind != name {
			continue
		}
		imported := Import{Module: module, Name: word(i), As: word(i)}
		if word(i+1) == "as" {
			imported.As = word(i + 2)
			i += 2
		}
		m.Imports = append(m.Imports, imported)
	}
}
