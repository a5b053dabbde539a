// Package actor keeps in a context who makes a tool call: the label of a sub-agent, the turn of its
// model, and the id that the model gave the call. It also checks labels.
package actor

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/observe"
)

type label string

// With returns a context with the label of a sub-agent.
func With(ctx context.Context, actor string) context.Context {
	return observe.With(ctx, label(actor))
}

// From returns the label of the context, or "" if it has none.
func From(ctx context.Context) string { return string(observe.From[label](ctx)) }

// Check returns an error if a label cannot be sent. The platform does not document its pattern, and
// answers 400 actor_id_invalid to a malformed label. Check therefore refuses only what a header or a
// JSON string does not carry unchanged.
func Check(label string) error {
	switch {
	case label == "":
		return errors.New("an actor label must not be empty")
	case !utf8.ValidString(label):
		return errors.New("an actor label must be valid UTF-8")
	case strings.ContainsFunc(label, unicode.IsControl):
		return errors.New("an actor label must not have control characters")
	case strings.Trim(label, " ") != label:
		return errors.New("an actor label must not begin or end with a space, which a header does not carry")
	}
	return nil
}
