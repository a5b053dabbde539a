package timeline

import "github.com/toolwire/toolwire/internal/text"

// Text is a text of any length. Shown is the whole of it, and JSON reports that it may be JSON. For a
// page, package runhtml replaces it by what is shown.
type Text struct {
	Key   string // unique in the page
	Shown string
	JSON  bool
	Cut   bool
	Link  string // of the whole text; "" if it is not cut, or cannot be shown whole
	Size  string // of the whole, for people
	Tall  bool   // it may need scrolling
}

// Empty reports whether the text has no content.
func (t Text) Empty() bool { return t.Shown == "" }

// Excerpt returns the beginning of the text on one line, in at most n characters.
func (t Text) Excerpt(n int) string {
	return text.Line(t.Shown, n)
}
