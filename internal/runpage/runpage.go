// Package runpage shows runs as HTML: what happened in their order, the messages, the changes of the
// ledger. [Build] prepares a run, [Templates] has the templates that write it, and [Style] is their
// style. The pages of toolwire page and the reports of dispatch/eval are made of it.
//
// All text from outside passes [Texts], which hides secrets, bounds it and makes characters visible
// that are not. The templates are those of html/template, which escapes the rest.
package runpage

import (
	"embed"
	"fmt"
	"html/template"
	"time"
)

// Style is the style sheet of the templates, in light and dark colours. Every colour in it is a
// custom property.
//
//go:embed style.css
var Style string

//go:embed templates
var files embed.FS

// Block is the argument of the template "text": a text with a label, which may be "".
type Block struct {
	Label string
	Text
}

// Templates returns the templates, to which the caller adds its pages:
//
//	text       Block: a text
//	timeline   *Run: Items
//	changes    *Run: Changes
//	messages   *Run: Messages
//	problems   *Run: Problems
//
// The functions that they use are length, plural, add and named.
func Templates() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"length": Length,
		"plural": Plural,
		"add":    func(a, b int) int { return a + b },
		"named":  func(label string, t Text) Block { return Block{label, t} },
	}).ParseFS(files, "templates/*.html"))
}

// Plural returns a number and a noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Milliseconds returns a duration in milliseconds as a Duration.
func Milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
