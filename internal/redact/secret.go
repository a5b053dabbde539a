package redact

import "fmt"

// Hidden holds a value that fmt, log/slog and encoding/json do not reach, at any depth of whatever
// holds it: they print a function as an address. A method would not do, because fmt calls no
// methods of unexported fields, and a pointer would not either, because fmt follows it for a verb
// that does not fit, such as %s. Hide the field that is a secret, and not what holds such fields.
// The zero Hidden holds the zero T.
type Hidden[T any] struct{ reveal func() T }

// Hide returns a Hidden that holds v.
func Hide[T any](v T) Hidden[T] { return Hidden[T]{func() T { return v }} }

// Reveal returns the value.
func (h Hidden[T]) Reveal() T {
	if h.reveal == nil {
		var zero T
		return zero
	}
	return h.reveal()
}

// Format prints v, a copy in which secrets are replaced, as f and verb say. It is for the Format
// method of a type whose exported fields hold secrets; v is of another type, without that method.
func Format(f fmt.State, verb rune, v any) { _, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), v) }

// Field returns [Placeholder] for the value of a field that is printed, or "" if the value is "".
func Field(value string) string {
	if value == "" {
		return ""
	}
	return Placeholder
}
