package pagecmd

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// node is an element of a page. Our pages are strict enough for the reader of encoding/xml.
type node struct {
	name     string
	attr     map[string]string
	children []*node
	text     string // of a text node
}

func parseHTML(t *testing.T, page string) *node {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	root := &node{}
	stack := []*node{root}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not HTML that closes its elements: %v\n%s", err, page)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				n.attr[a.Name.Local] = a.Value
			}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.children = append(top.children, &node{text: string(token)})
		}
	}
	return root
}

// all returns the elements below n for which keep says so, in order.
func (n *node) all(keep func(*node) bool) []*node {
	var found []*node
	for _, c := range n.children {
		if c.name != "" && keep(c) {
			found = append(found, c)
		}
		found = append(found, c.all(keep)...)
	}
	return found
}

func (n *node) named(name string) []*node {
	return n.all(func(c *node) bool { return c.name == name })
}

func (n *node) id(id string) *node {
	if found := n.all(func(c *node) bool { return c.attr["id"] == id }); len(found) > 0 {
		return found[0]
	}
	return &node{}
}

func (n *node) class(class string) []*node {
	return n.all(func(c *node) bool { return slices.Contains(strings.Fields(c.attr["class"]), class) })
}

// say is the text, with single blanks.
func (n *node) say() string {
	var b strings.Builder
	var walk func(*node)
	walk = func(n *node) {
		b.WriteString(n.text)
		for _, c := range n.children {
			walk(c)
		}
		if n.name != "" && n.name != "span" && n.name != "a" {
			b.WriteByte(' ')
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}

// checkPage holds a page to what all pages keep: landmarks, headings, labels, references, and
// nothing inline.
func checkPage(t *testing.T, page string) *node {
	t.Helper()
	root := parseHTML(t, page)
	if lang := root.named("html")[0].attr["lang"]; lang != "en" {
		t.Errorf("lang is %q", lang)
	}
	for _, name := range []string{"main", "header", "footer", "h1", "title"} {
		if n := len(root.named(name)); n != 1 {
			t.Errorf("the page has %d elements %s, want 1", n, name)
		}
	}
	ids := map[string]bool{}
	level := 1
	for _, n := range root.all(func(*node) bool { return true }) {
		if id := n.attr["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %q occurs twice", id)
			}
			ids[id] = true
		}
		for name := range n.attr {
			if name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s> has an inline %s", n.name, name)
			}
		}
		if len(n.name) == 2 && n.name[0] == 'h' && n.name[1] >= '1' && n.name[1] <= '6' {
			if now := int(n.name[1] - '0'); now > level+1 {
				t.Errorf("heading %q jumps from level %d to %d", n.say(), level, now)
			} else {
				level = now
			}
		}
		switch n.name {
		case "style":
			t.Error("the page has an inline style")
		case "script":
			if !strings.HasPrefix(n.attr["src"], "/static/") || n.say() != "" {
				t.Errorf("a script that is not ours: %v %q", n.attr, n.say())
			}
		case "th":
			if n.attr["scope"] == "" {
				t.Errorf("the table header %q has no scope", n.say())
			}
		case "section", "nav": // a screen reader lists the ones with a name
			if n.attr["aria-label"] == "" && n.attr["aria-labelledby"] == "" {
				t.Errorf("a <%s> has no name: %q", n.name, n.say())
			}
		case "table":
			if len(n.named("caption")) != 1 {
				t.Error("a table has no caption")
			}
		case "a", "link", "img", "form":
			for _, name := range []string{"href", "src", "action"} {
				if v := n.attr[name]; v != "" && !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "#") {
					t.Errorf("<%s %s=%q> leads elsewhere", n.name, name, v)
				}
			}
		}
	}
	for _, n := range root.all(func(*node) bool { return true }) {
		for _, name := range []string{"aria-describedby", "aria-labelledby", "for"} {
			for _, id := range strings.Fields(n.attr[name]) {
				if !ids[id] {
					t.Errorf("%s=%q names nothing", name, id)
				}
			}
		}
		if ref, ok := strings.CutPrefix(n.attr["href"], "#"); ok && !ids[ref] {
			t.Errorf("the link #%s leads nowhere", ref)
		}
		if n.name == "input" && n.attr["type"] != "hidden" || n.name == "textarea" || n.name == "select" {
			if len(root.all(func(l *node) bool { return l.name == "label" && l.attr["for"] == n.attr["id"] })) != 1 {
				t.Errorf("the field %q has no label", n.attr["id"])
			}
		}
	}
	return root
}
