package runctx

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

type label string

// WithActor returns a context with the label of a sub-agent.
func WithActor(ctx context.Context, actor string) context.Context {
	return With(ctx, label(actor))
}

// Actor returns the label of the context, or "" if it has none.
func Actor(ctx context.Context) string { return string(From[label](ctx)) }

// A Thread numbers the conversations of one actor, from 1. The actor's own is 0.
type Thread int

// DoubtfulActor describes a label that can be sent, and that the platform might refuse. It returns "" if
// there is no doubt.
func DoubtfulActor(label string) string {
	printable := strings.IndexFunc(label, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if label == "" || len(label) <= 256 && printable && !strings.Contains("/"+label+"/", "//") {
		return ""
	}
	return "the actor label has characters, empty parts or a length that the platform might refuse"
}

// CheckActor returns an error if a label cannot be sent. The platform does not document its pattern, and
// answers 400 actor_id_invalid to a malformed label. CheckActor therefore refuses only what a header or a
// JSON string does not carry unchanged.
func CheckActor(label string) error {
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
